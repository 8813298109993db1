"""These tests compute with NumPy's definitions, unless they name another backend."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from portadnn.cupy_compat import cudnn, descriptors, memory, objects


@pytest.fixture(autouse=True, scope="module")
def definitions() -> Iterator[None]:
    """Have handles compute on the CPU by the definitions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PORTADNN_BACKEND", "reference")
        for module in (memory, objects, descriptors):
            patch.setattr(module, "gpu_library", lambda: None)
        cudnn.reset_handles()
        yield
        cudnn.reset_handles()
