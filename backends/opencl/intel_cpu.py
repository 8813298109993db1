"""Intel's OpenCL for CPUs as pip brings it.

Loaders do not find it, because its .icd file names a folder of the machine that built it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

RUNTIME, COMPILER, THREADS = "intel-opencl-rt", "intel-cmplr-lib-rt", "tbb"  # distributions
PLATFORM = "Intel(R) OpenCL"
_LIBRARY = "libintelocl.so"
_NEEDED = (  # what that library needs of the other two, which it looks for in its own folder only
    (COMPILER, ("libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so")),
    (THREADS, ("libtbb.so.12",)),
)
_VENDORS = "OCL_ICD_VENDORS"
_INSTALL = 'pip install "portadnn[intel]"'


def _file(package: str, name: str) -> Path | None:
    """Return where a distribution has a file of that name; None where one of them is not here.

    Raises
    ------
    PackageNotFoundError
        The distribution is not installed.
    """
    paths = (Path(str(file.locate())) for file in distribution(package).files or () if file.name == name)
    return next((path.resolve() for path in paths if path.exists()), None)


def library() -> tuple[Path | None, str]:
    """Return the runtime's library, and why it cannot be used, or ""; None and "" where it is not installed."""
    try:
        found = _file(RUNTIME, _LIBRARY)
    except PackageNotFoundError:
        return None, ""
    if found is None:
        return None, f"{RUNTIME} has no {_LIBRARY}; try: {_INSTALL}"
    for package, names in _NEEDED:
        for name in names:
            try:
                path = _file(package, name)
            except PackageNotFoundError:
                return None, f"{package} is missing; try: {_INSTALL}"
            if path is None:
                return None, f"{package} has no {name}; try: {_INSTALL}"
            try:
                ctypes.CDLL(str(path))  # found by its name from then on; RTLD_LOCAL leaves other libraries' sin alone
            except OSError as error:
                return None, f"{name} cannot be loaded: {error}"
    return found, ""


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """While OpenCL starts, have its loader find Intel's runtime beside all others.

    The environment is as before afterwards. Does nothing where ``OCL_ICD_VENDORS`` says already what is to be found.
    """
    found, _ = (None, "") if os.environ.get(_VENDORS) else library()
    if found is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="portadnn-") as folder:
        for path in _others():
            shutil.copyfile(path, f"{folder}/{path.name}")
        Path(folder, "portadnn-intel-cpu.icd").write_text(f"{found}\n", encoding="utf-8")
        os.environ[_VENDORS] = folder
        try:
            yield
        finally:
            del os.environ[_VENDORS]


def _others() -> Iterator[Path]:
    """Yield the .icd files that the loader would read, without those that lead nowhere or to the same library."""
    conda = Path(sys.prefix, "conda-meta").is_dir()  # whose loader reads its own folder
    for folder in (Path("/etc"), *([Path(sys.prefix, "etc")] if conda else [])):
        for path in sorted((folder / "OpenCL/vendors").glob("*.icd")):
            with contextlib.suppress(OSError):
                named = Path(path.read_text(encoding="utf-8", errors="replace").strip())
                if named.name != _LIBRARY and (named.exists() or not named.is_absolute()):
                    yield path


def is_ours(platform: Any) -> bool:
    """Tell whether a platform is Intel's for CPUs, which is there to compare with: others come before it."""
    return bool(platform.name.strip() == PLATFORM)


def remark(platforms: Iterator[str]) -> str:
    """Return why an installed runtime is not among the platforms of these names, or ""."""
    found, reason = library()
    if reason:
        return f"Intel's OpenCL for CPUs cannot be used: {reason}"
    if found is None or any(name.strip() == PLATFORM for name in platforms):
        return ""
    why = f"{_VENDORS} is set" if os.environ.get(_VENDORS) else "OpenCL was started before portadnn"
    return f"Intel's OpenCL for CPUs is installed but not found: {why}"
