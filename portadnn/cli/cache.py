"""``portadnn cache``: what portadnn keeps on disk, and how to remove it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .._io import disk_cache, kernel_archive
from ..errors import DnnError

USAGE = 2  # exit code
_KERNEL = kernel_archive.NAME
_EXACT = re.compile(r"[0-9a-f]{64}\.npz")

app = typer.Typer(help="Show or remove what portadnn keeps on disk.", no_args_is_help=True, add_completion=False)


@dataclass(frozen=True)
class Cache:
    """A folder of entries.

    Attributes
    ----------
    name : str
        What is kept there.
    folder : Path
        Where.
    pattern : re.Pattern
        The names of entries; nothing else is removed.
    limit : int
        Bytes.
    """

    name: str
    folder: Path
    pattern: re.Pattern[str]
    limit: int

    def entries(self) -> list[disk_cache.Entry]:
        """Return the entries."""
        found = disk_cache.entries(self.folder, "")
        return [entry for entry in found if self.pattern.fullmatch(entry.path.name)]

    def fault(self) -> str | None:
        """Return why the folder is not used; None where it is, or may be made."""
        try:
            if self.folder.is_dir() and not os.access(self.folder, os.R_OK | os.W_OK | os.X_OK):
                return "it cannot be written"
            return disk_cache.refusal(self.folder) if self.folder.is_dir() else self._obstacle()
        except OSError as error:
            return f"it cannot be read ({error.strerror or error})"

    def _obstacle(self) -> str | None:
        """Return what is in the way of a folder that does not exist."""
        above = next(path for path in (self.folder, *self.folder.absolute().parents) if path.exists())
        if not above.is_dir():
            return f"{above} is no folder"
        return None if os.access(above, os.W_OK | os.X_OK) else f"{above} cannot be written"


def caches() -> list[Cache]:
    """Return every cache that this environment uses."""
    from ..diff.campaign.cache import LARGEST, default_folder
    from ..diff.campaign.process import KERNELS

    limit = disk_cache.size_limit()
    kernels = disk_cache.kernel_folder()
    found = [] if kernels is None else [Cache("kernels", kernels, _KERNEL, limit)]
    for variable, name in (("POCL_CACHE_DIR", "kernels by PoCL"), (KERNELS, "kernels of portadnn diff")):
        text = os.environ.get(variable)
        if text and Path(text) not in [cache.folder for cache in found]:
            found.append(Cache(name, Path(text), _KERNEL, limit))
    exact = default_folder()
    if exact is not None:
        found.append(Cache("exact results", exact, _EXACT, LARGEST))
    return found


def find_database() -> Path | None:
    """Return the file of the find database, if one is named and there."""
    text = os.environ.get("PORTADNN_FIND_DB")
    return Path(text) if text and Path(text).is_file() else None


def collect() -> dict[str, Any]:
    """Return everything that ``portadnn cache info`` prints."""
    rows = []
    for cache in caches():
        entries = cache.entries()
        rows.append(
            {
                "name": cache.name,
                "folder": str(cache.folder),
                "entries": len(entries),
                "bytes": sum(entry.size for entry in entries),
                "limit": cache.limit,
                "fault": cache.fault(),
            }
        )
    database = find_database()
    return {
        "caches": rows,
        "find_db": None if database is None else {"file": str(database), "bytes": database.stat().st_size},
    }


def size_text(count: int) -> str:
    """Return a number of bytes for people: 1.5 MiB."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def _fail(error: Exception) -> typer.Exit:
    typer.secho(f"portadnn: {error}", fg=typer.colors.RED, err=True)
    return typer.Exit(USAGE)


@app.command()
def info(as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False) -> None:
    """List the caches: their folders, how many entries they have, and how large they are."""
    try:
        facts = collect()
    except (DnnError, OSError) as error:
        raise _fail(error) from None
    if as_json:
        typer.echo(json.dumps(facts, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table()
    for heading in ("cache", "entries", "size", "limit"):
        table.add_column(heading, justify="left" if heading == "cache" else "right")
    table.add_column("folder", overflow="fold")
    for row in facts["caches"]:
        sizes = size_text(row["bytes"]), size_text(row["limit"])
        table.add_row(row["name"], str(row["entries"]), *sizes, row["folder"], end_section=True)
    console.print(table)

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    for row in facts["caches"]:
        if row["fault"]:
            say(f"{row['folder']} is not used: {row['fault']}")
    if not any(row["name"].startswith("kernels") for row in facts["caches"]):
        say("Compiled kernels are not kept on disk.")
    if facts["find_db"] is not None:
        say(f"find database: {facts['find_db']['file']}, {size_text(facts['find_db']['bytes'])}")


@app.command()
def clear(
    find_db: Annotated[bool, typer.Option("--find-db", help="Also remove the find database.")] = False,
) -> None:
    """Remove all entries; programs that are running go on, and compile again what they need."""
    try:
        found, database = caches(), find_database()
    except (DnnError, OSError) as error:
        raise _fail(error) from None
    faults = []
    for cache in found:
        fault = cache.fault()
        if fault is not None and cache.folder.is_dir():
            faults.append(f"{cache.folder}: {fault}")
            continue
        count, size, left = _remove(cache)
        typer.echo(f"{cache.name}: {count} entries, {size_text(size)} removed from {cache.folder}")
        if left:
            faults.append(f"{cache.folder}: {left} entries cannot be removed")
    if database is not None and find_db:
        try:
            database.unlink(missing_ok=True)
            typer.echo(f"find database: {database} removed")
        except OSError as error:
            faults.append(f"{database}: {error.strerror}")
    elif database is not None:
        typer.echo(f"find database: {database} stays; --find-db removes it")
    if faults:
        raise _fail(DnnError("; ".join(faults)))


def _kernels() -> Path:
    folder = disk_cache.kernel_folder()
    if folder is None:
        raise DnnError("compiled kernels are not kept on disk: PORTADNN_CACHE_DIR is empty")
    return folder


@app.command("export")
def export_kernels(
    file: Annotated[Path, typer.Argument(help="Archive to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write all compiled kernels into one file, for machines with the same devices and drivers."""
    try:
        if file.exists() and not force:
            raise FileExistsError(f"{file} is there; --force replaces it")
        moved = kernel_archive.export(_kernels(), file)
    except (DnnError, OSError) as error:
        raise _fail(error) from None
    typer.echo(f"{moved.entries} entries, {size_text(moved.nbytes)} written to {file}")
    if moved.left_out:
        typer.echo(f"{moved.left_out} damaged entries left out")


@app.command("import")
def import_kernels(
    file: Annotated[Path, typer.Argument(help="What `portadnn cache export` wrote.")],
) -> None:
    """Add the compiled kernels of another machine of the same kind, after checking all of them.

    They are machine code that programs will run: import only what you trust. Those of other devices or drivers
    are never used.
    """
    try:
        moved = kernel_archive.import_(file, _kernels())
    except (DnnError, OSError) as error:
        raise _fail(error) from None
    typer.echo(f"{moved.entries} entries, {size_text(moved.nbytes)} added; {moved.left_out} were there already")


def _remove(cache: Cache) -> tuple[int, int, int]:
    """Return how many entries and bytes were removed, and how many entries could not be."""
    count = size = left = 0
    for entry in cache.entries():
        try:
            entry.path.unlink()
        except FileNotFoundError:  # another process removed it
            continue
        except OSError:
            left += 1
            continue
        count, size = count + 1, size + entry.size
    disk_cache.remove_unfinished(cache.folder)
    disk_cache.sweep(cache.folder / disk_cache.RUNNING)
    return count, size, left
