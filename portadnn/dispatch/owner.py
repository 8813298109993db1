"""What bound calls and captured steps need of the handle that keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from portadnn_backends.base import Device

    from .scratch import ScratchPool


class Owner(Protocol):
    """A handle, as the modules see it that it is made of.

    Attributes
    ----------
    lock : RLock
        Held while calls are made in full and while launches are enqueued.
    scratches : ScratchPool
    """

    lock: Any
    scratches: ScratchPool
    _device: Device | None

    @property
    def device(self) -> Device:
        """The opened device; NotInitialized once there is none."""

    def settle(self) -> None:
        """Wait for what the device has under way."""

    def lose(self) -> Any:
        """Give up device and caches in a forked child."""
