"""What goes to CuPy where it sees a GPU, with a CuPy that notes what it is asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from portadnn import cudnn as c_names
from portadnn.cupy_compat import descriptors, memory, objects


class _Array:
    """An array of that CuPy: what was asked for, at an address."""

    def __init__(self, shape: Any, dtype: Any, data: Any) -> None:
        self.shape, self.dtype, self.data = shape, dtype, data


def _cupy(device: int, is_hip: bool) -> Any:
    runtime = SimpleNamespace(getDevice=lambda: device, is_hip=is_hip)
    pointer = SimpleNamespace(ptr=4096, mem=SimpleNamespace(size=512))
    of_device = SimpleNamespace(compute_capability="90")
    cuda = SimpleNamespace(runtime=runtime, alloc=lambda size: pointer, Device=lambda: of_device)
    return SimpleNamespace(cuda=cuda, ndarray=_Array)


@pytest.fixture(params=[False, True], ids=["cuda", "hip"])
def cupy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = _cupy(3, request.param)
    for module in (memory, objects, descriptors):
        monkeypatch.setattr(module, "gpu_library", lambda: made)
    return made


def test_addresses_stay_integers(cupy: Any) -> None:
    assert memory.at(4096) == 4096
    assert memory.at(0) is None


def test_memory_is_cupys(cupy: Any) -> None:
    pointer = memory.alloc(512)
    assert pointer is cupy.cuda.alloc(512)
    found = memory.as_bytes(pointer)
    assert (found.shape, found.dtype, found.data) == ((512,), np.uint8, pointer)
    assert (memory.as_number(pointer), memory.address(found)) == (4096, 4096)


def test_handles_are_opened_on_the_current_device(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_names, "cudnnCreate", lambda **asked: asked)
    assert objects.open_handle() == {"backend": "hip" if cupy.cuda.runtime.is_hip else "cuda", "device": 3}


def test_tensor_cores_are_nvidias_for_halves(cupy: Any) -> None:
    available = descriptors.is_tensor_core_available
    assert (available(np.dtype("e")), available(np.dtype("f"))) == (not cupy.cuda.runtime.is_hip, False)
    cupy.cuda.Device().compute_capability = "60"
    assert not available(np.dtype("e"))
