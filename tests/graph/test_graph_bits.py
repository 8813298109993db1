"""BOOLEAN tensors with a bit for each element in memory."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import D, given, new, numbers

import portadnn.graph as cudnn
from portadnn.registry import get_backend


@pytest.fixture(params=["reference", "opencl", "cuda"])
def handle(request):
    reason = get_backend(request.param).why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    number = cudnn.create_handle(request.param)
    yield number
    cudnn.destroy_handle(number)


def on_device(handle, array):
    """Return an array of the device's own library."""
    from portadnn.graph.api.handles import handle_of

    return handle_of(handle).device.asarray(array)


def in_order(dims, strides, mask):
    """Return the bytes of a mask's bits, counted from the lowest, one element at a time."""
    content = np.zeros(-(-mask.size // 8), np.uint8)
    for index in np.ndindex(*dims):
        place = sum(i * step for i, step in zip(index, strides, strict=True))
        content[place // 8] |= int(mask[index]) << place % 8
    return content


CASES = {"rows": ((3, 5), (5, 1)), "columns": ((3, 5), (1, 3)), "channels last": ((2, 6, 2, 2), (24, 1, 12, 6))}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("native", [False, True], ids=["host", "device"])
def test_masks_are_written_and_read(handle, name, native):
    dims, strides = CASES[name]
    values = numbers(dims, 3).astype(np.float32)
    g = new(handle)
    x = given(g, dims)
    mask = g.cmp_gt(x, 0.0).set_output(True).set_data_type(D.BOOLEAN).set_dim(list(dims)).set_stride(list(strides))
    g.build()
    bits = np.full(-(-values.size // 8), 0xFF, np.uint8)
    memory = on_device(handle, bits) if native else bits
    for _ in range(3):  # a call that comes again copies again
        g.execute({x: values, mask: memory})
        found = memory.get() if native and hasattr(memory, "get") else np.asarray(memory)
        wanted = in_order(dims, strides, values > 0)
        np.testing.assert_array_equal(found[:-1], wanted[:-1])
        assert found[-1] & (0xFF >> 8 * len(wanted) - values.size) == wanted[-1]
        values *= -1
    assert [note.id for note in g.explain().notes] == ["PG-PACK-014"]

    g = new(handle)
    x, mask = given(g, dims), g.tensor(list(dims), list(strides), D.BOOLEAN)
    y = g.mul(x, mask).set_output(True)
    g.build()
    content = in_order(dims, strides, values > 0)
    memory = on_device(handle, content.view(np.int8) if name == "rows" else content) if native else content
    out = np.empty(dims, np.float32)
    for _ in range(3):
        g.execute({x: values, mask: memory, y: out})
        np.testing.assert_array_equal(out, np.where(values > 0, values, 0))
        values += 1
        if native:
            break
        content[...] = in_order(dims, strides, values > 0)


def test_other_sizes_are_bytes_or_too_short():
    g = new("reference")
    x = given(g, (4, 8))
    mask = g.cmp_gt(x, 0.0).set_output(True).set_data_type(D.BOOLEAN)
    g.build()
    values = numbers((4, 8), 1).astype(np.float32)
    for count in (3, 5, 31):
        with pytest.raises(cudnn.InvalidVariantPack, match="PG-PACK-004"):
            g.execute({x: values, mask: np.zeros(count, np.uint8)})
    out = np.zeros(32, np.uint8)
    g.execute({x: values, mask: out})
    np.testing.assert_array_equal(out, (values > 0).ravel())
    bits = np.zeros(4, np.uint8)
    bits.flags.writeable = False
    with pytest.raises(cudnn.InvalidVariantPack, match="PG-PACK-007"):
        g.execute({x: values, mask: bits})
