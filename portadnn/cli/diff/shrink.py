"""``portadnn diff shrink``, ``bisect`` and ``reproduce``: what to do about a case that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..._io.files import write_whole
from ..._io.text import clean
from ...errors import BadParam, DnnError
from .time import finite

if TYPE_CHECKING:
    from ...diff import Case, CaseResult

USAGE = 2

Targets = Annotated[
    list[str], typer.Option("--targets", "-t", help="Where to run: opencl, cuda:1, opencl-cpu, opencl:0/gpu.")
]
CaseLine = Annotated[str, typer.Argument(metavar="CASE", help="A problem line; behind ; what else there is to say.")]
Program = Annotated[
    Path | None, typer.Option("--output", "-o", help="File for a program of a few lines that shows the failure.")
]
Isolate = Annotated[
    bool, typer.Option("--isolate/--no-isolate", help="Run cases in a process of their own, which may crash.")
]
Timeout = Annotated[float, typer.Option(min=0.1, callback=finite, help="Seconds that a case may take on a target.")]


@contextmanager
def told() -> Iterator[None]:
    """Tell mistakes of the command line in one line."""
    try:
        yield
    except BrokenPipeError:  # whoever read has enough
        raise
    except (DnnError, OSError) as error:
        typer.secho(f"portadnn: {clean(str(error))}", fg=typer.colors.RED, err=True)
        raise typer.Exit(USAGE) from None
    except MemoryError as error:
        typer.secho(f"portadnn: there is not enough memory: {error}", fg=typer.colors.RED, err=True)
        raise typer.Exit(USAGE) from None


def words_of(targets: list[str]) -> tuple[str, ...]:
    """Return targets, given one by one or with commas between them."""
    words = tuple(word.strip() for value in targets for word in value.split(",") if word.strip())
    if len(set(words)) < len(words) or not words:
        raise BadParam(argument="targets", expected="different ones", got=", ".join(words))
    return words


@dataclass
class _Open:
    """Targets that are open somewhere.

    Attributes
    ----------
    examine : callable
        Runs a case on them.
    facts : dict of str to dict
        Of each target.
    """

    examine: Callable[[Case], CaseResult]
    facts: dict[str, dict[str, Any]]

    def program(self, case: Case, target: str) -> str:
        """Return the program that shows how a case fails."""
        from ...diff.reproduce import program

        return program(case, target, result=self.examine(case), facts=self.facts.get(target))


@contextmanager
def _opened(targets: list[str], isolated: bool, timeout: float) -> Iterator[_Open]:
    """Open targets, in a process of their own or in this one."""
    words = words_of(targets)
    with ExitStack() as stack:
        if isolated:
            from ...diff.campaign import LocalRunner, Setup, quiet_environment

            environment = quiet_environment(stack.enter_context(TemporaryDirectory(prefix="portadnn-")))
            runner = LocalRunner(Setup(words), timeout=timeout, environment=environment)
            stack.callback(runner.close)
            yield _Open(runner.examine, runner.open())
        else:
            from ...diff import Target, examine
            from ...diff.results import facts_of

            handles = {word: stack.enter_context(Target.parse(word).open()) for word in words}
            facts = {word: facts_of(handle) for word, handle in handles.items()}
            yield _Open(lambda case: examine(case, handles), facts)


def shrink(
    case: CaseLine,
    targets: Targets,
    budget: Annotated[int, typer.Option(min=10, help="Cases to run at most.")] = 600,
    output: Program = None,
    isolate: Isolate = True,
    timeout: Timeout = 60.0,
) -> None:
    """Find the smallest case that fails in the same way as this one.

    Exits with 1 where the case fails, with 0 where it does not, and with 2 for what is no case.
    """
    from ...diff import Case
    from ...diff.shrink.shrink import shrink as find_smallest

    with told(), _opened(targets, isolate, timeout) as opened:
        found = find_smallest(Case.parse(case), opened.examine, budget=budget)
        if found is None:
            typer.echo("It does not fail.")
            return
        typer.echo(str(found))
        typer.echo(f"{found.tried} cases were run" + (f"; computed by {found.engine}" if found.engine else ""))
        if output is not None:
            write_whole(output, opened.program(found.smallest, found.failure.target).encode())
    raise typer.Exit(1)


def reproduce(
    case: CaseLine, targets: Targets, output: Program = None, isolate: Isolate = True, timeout: Timeout = 60.0
) -> None:
    """Print a program of a few lines that shows how a case fails.

    Exits with 1 where the case fails, with 0 where it does not, and with 2 for what is no case.
    """
    from ...diff import Case

    with told(), _opened(targets, isolate, timeout) as opened:
        parsed = Case.parse(case)
        result = opened.examine(parsed)
        if not result.blamed:
            typer.echo(f"It does not fail: {result.verdict.value} {result.reason}".rstrip())
            return
        text = opened.program(parsed, result.blamed[0])
        if output is None:
            typer.echo(text, nl=False)
        else:
            write_whole(output, text.encode())
    raise typer.Exit(1)


def bisect(
    what: Annotated[str, typer.Argument(metavar="CASE|RECORDING", help="A case, or a file of portadnn record.")],
    targets: Targets,
    seed: Annotated[int, typer.Option(min=0, help="Of the data of a recording's calls.")] = 0,
    isolate: Isolate = True,
    timeout: Timeout = 60.0,
) -> None:
    """Say which engines fail a case; or which call of a recording is the first that two targets disagree on.

    Exits with 1 where something is wrong, with 0 where nothing is, and with 2 for what is neither case nor recording.
    """
    with told():
        if Path(what).is_file():
            wrong = _bisect_calls(Path(what), targets, seed)
        else:
            wrong = _bisect_engines(what, targets, isolate, timeout)
    raise typer.Exit(1 if wrong else 0)


def _bisect_engines(line: str, targets: list[str], isolate: bool, timeout: float) -> bool:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from ...diff import Case, Target, Verdict
    from ...diff.bisect import by_engine

    case = Case.parse(line)
    table = Table("target", "engine", "algorithm", "verdict", "", box=SIMPLE, pad_edge=False)
    bad = False
    for word in words_of(targets):
        with _opened([word], isolate, timeout) as opened, Target.parse(word).open() as handle:
            for row in by_engine(case, word, handle, examine=opened.examine):
                failed = row.verdict in (Verdict.FAILED, Verdict.ERROR)
                bad = bad or failed
                name = f"{row.engine} (chosen)" if row.chosen else row.engine
                cells = (word, name, row.algo, row.verdict.value, row.reason)
                table.add_row(*map(escape, cells), style="red" if failed else None)
    Console().print(table)
    return bad


def _bisect_calls(path: Path, targets: list[str], seed: int) -> bool:
    from ...diff import Target
    from ...diff.bisect import first_divergence
    from ...recording import read

    words = words_of(targets)
    if len(words) != 2:
        raise BadParam(argument="targets", expected="two targets for a recording", got=", ".join(words))
    one, other = (Target.parse(word) for word in words)
    found = first_divergence(read(path), one, other, seed=seed)
    if found is None:
        typer.echo(f"{one} and {other} agree on every call.")
        return False
    typer.echo(clean(str(found.divergence)))
    if found.case:
        typer.echo(f"  it shows alone, as the case: {found.case}")
    else:
        typer.echo("  it shows with these calls alone:")
        for event in found.needed:
            typer.echo(clean(f"  {event.number}: {event.site[0]}:{event.site[1]}: {event.function}"))
    return True


def mount(app: typer.Typer) -> None:
    """Add the commands to those of ``portadnn diff``."""
    for command in (shrink, bisect, reproduce):
        app.command()(command)
