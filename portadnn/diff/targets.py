"""Targets: where to run, as a word such as ``cuda``, ``opencl:1``, ``opencl:pocl``, ``opencl-cpu``, ``cuda:0/gpu``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import BadParam, NotSupported, shown
from ..handle import Handle
from ..registry import backend_names, get_backend

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo

_WORD = re.compile(
    r"(?P<backend>\w+)(?:-(?P<kind>cpu|gpu)|:(?P<device>\d+)|:(?P<platform>[a-zA-Z]+))?(?:/(?P<schedule>cpu|gpu))?"
)
SCHEDULE = "PORTADNN_SCHEDULE"
LARGE_GPU = (132, 32)  # multiprocessors, and threads that run in step


@dataclass(frozen=True)
class Target:
    """A backend's device.

    Attributes
    ----------
    backend : str
        Name of an installed backend.
    device : int
        Its number, as ``portadnn info`` lists it.
    schedule : str
        ``"cpu"`` or ``"gpu"`` for kernels of that shape whatever the device is; "" for the device's own.
    word : str
        How the user named it, which is how reports name it.
    """

    backend: str
    device: int = 0
    schedule: str = ""
    word: str = ""

    def __str__(self) -> str:
        plain = self.backend + (f":{self.device}" if self.device else "")
        return self.word or plain + (f"/{self.schedule}" if self.schedule else "")

    @classmethod
    def parse(cls, word: str) -> Target:
        """Read a target's word.

        ``-cpu`` and ``-gpu`` take the backend's first device of that kind, ``:intel`` the first one whose platform or
        version has that word.

        Raises
        ------
        BadParam
            It is no such word, or there is no such backend or device.
        NotSupported
            The backend does not work on this machine.
        """
        match = _WORD.fullmatch(word)
        if match is None or match["backend"] not in backend_names():
            known = ", ".join(backend_names())
            raise BadParam(
                argument="target",
                expected=f"{known}; with :1 or :pocl (device), -cpu, -gpu or /cpu behind it",
                got=shown(word),
            )
        name = match["backend"]
        backend = get_backend(name)
        reason = backend.why_unavailable()
        if reason is not None:
            hint = f"; try: {backend.install}" if backend.install else ""
            raise NotSupported(f"backend {name} is not available: {reason}{hint}")
        index = int(match["device"] or 0)
        if match["kind"]:
            kinds = [info.kind for info in backend.devices()]
            if match["kind"] not in kinds:
                raise BadParam(argument="target", expected=f"a backend with a {match['kind']} device", got=shown(word))
            index = kinds.index(match["kind"])
        if match["platform"]:
            index = _of_platform(backend.devices(), match["platform"])
        return cls(name, index, match["schedule"] or "", word)

    def open(self, **options: Any) -> Handle:
        """Open a handle; `options` are those of :class:`portadnn.Handle`.

        A CPU that runs GPU-shaped kernels stands for a large GPU, whose choices it makes.
        """
        with _schedule(self.schedule):
            handle = Handle(self.backend, self.device, **{"profile": "", **options})
        if self.schedule == "gpu" and handle.info.kind == "cpu":
            device: Any = handle.device
            device.info = replace(handle.info, compute_units=LARGE_GPU[0], simd_width=LARGE_GPU[1])
            if hasattr(device, "compiler"):
                device.compiler.options += " -cl-opt-disable"  # what a CPU's optimiser makes of them proves nothing
        return handle


def _of_platform(devices: Sequence[DeviceInfo], word: str) -> int:
    """Return the number of the first device whose platform or version has a word."""
    texts = [f"{info.platform} {info.version}" for info in devices]
    found = [number for number, text in enumerate(texts) if word.lower() in re.findall("[a-z]{2,}", text.lower())]
    if not found:
        raise BadParam(argument="target", expected=f"a word of one of {'; '.join(dict.fromkeys(texts))}", got=word)
    return found[0]


@contextmanager
def _schedule(wanted: str) -> Iterator[None]:
    """Set the variable that decides which kernels a handle takes, for as long as one is opened."""
    before = os.environ.pop(SCHEDULE, None)
    try:
        if wanted:
            os.environ[SCHEDULE] = wanted
        yield
    finally:
        os.environ.pop(SCHEDULE, None)
        if before is not None:
            os.environ[SCHEDULE] = before
