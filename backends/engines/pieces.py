"""Work that the work-groups of a launch share out in pieces: the host side of ``kernels_shared/common/pieces.h``."""

from __future__ import annotations

from ..base import DeviceInfo

PIECE_COUNTERS = 40  # of a launch, from its first counter on
LAUNCH = 2.9e-6  # seconds from one launch to the next on a GPU
LONG = 100e-6  # seconds of a launch from which the host does not mind another one
_PRICE = 2e-6  # what a launch after the first is charged beside its time: it keeps the host 5 to 7 us from other work


def shares_pieces(info: DeviceInfo) -> bool:
    """Tell whether work-groups can wait for what others of the launch write.

    NVIDIA GPUs from Volta on (sm_70) have the instructions, and promise that every work-item that began goes on.
    """
    return "grid_fence" in info.features


def price(launches: int, seconds: float) -> float:
    """Return the seconds that a call is charged for its launches beside those that it takes on the device."""
    return (launches - 1) * _PRICE if seconds < LONG else 0.0
