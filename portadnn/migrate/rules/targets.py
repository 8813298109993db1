"""Where a program can go, and the versions that stand behind the names."""

from __future__ import annotations

from dataclasses import dataclass

from ..versions import numbers


@dataclass(frozen=True)
class Target:
    """A judge: the library's name in messages, and the versions that it stands for."""

    name: str
    title: str
    first: str
    last: str

    def has(self, since: str | None, until: str | None) -> bool:
        """Tell whether some of its versions are `since` or later and before `until`."""
        return (since is None or numbers(self.last) >= numbers(since)) and (
            until is None or numbers(self.first) < numbers(until)
        )


TARGETS = {
    target.name: target
    for target in (
        Target("miopen-1", "MIOpen 1", "1.0", "1.8"),
        Target("miopen-3", "MIOpen 3.6", "3.5", "3.6"),
        Target("hipdnn", "hipDNN", "1.0", "1.0"),
        Target("cudnn-9", "cuDNN 9", "9.0", "9"),
        Target("portadnn-opencl", "portadnn on OpenCL", "0", "0"),
        Target("portadnn-cuda", "portadnn on CUDA", "0", "0"),
    )
}
DEFAULT = ("miopen-1", "miopen-3")
