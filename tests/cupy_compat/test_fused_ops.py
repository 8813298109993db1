"""Fused operations by CuPy's names, of arrays and of addresses, against their definition in NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from portadnn.cupy_compat import cudnn
from portadnn.cupy_compat import libcudnn as lib

N, H, C, K = 2, 5, 8, 16


def _arrays() -> dict[str, Any]:
    draws = np.random.default_rng(7)
    x, w = draws.integers(-2, 3, (N, H, H, C)), draws.integers(-2, 3, (K, 3, 3, C))
    scale, bias = draws.integers(1, 3, (1, C, 1, 1)), draws.integers(-1, 2, (1, C, 1, 1))
    return {name: np.ascontiguousarray(a, np.float16) for name, a in zip("xwsb", (x, w, scale, bias), strict=True)}


def _wanted(a: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the images, the sums and the sums of squares: integers, so that they are exact."""
    x = np.maximum(a["x"].astype(float) * a["s"].reshape(C) + a["b"].reshape(C), 0)
    around = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = sum(around[:, r : r + H, s : s + H] @ a["w"][:, r, s].astype(float).T for r in range(3) for s in range(3))
    return y, y.sum((0, 1, 2)), (y * y).sum((0, 1, 2))


def _descriptors(a: dict[str, Any], y: Any, total: Any) -> list[tuple[int, Any]]:
    nhwc = lib.CUDNN_TENSOR_NHWC
    return [
        (lib.CUDNN_PARAM_XDESC, cudnn.create_tensor_descriptor(a["x"], format=nhwc)),
        (lib.CUDNN_PARAM_BN_MODE, lib.CUDNN_BATCHNORM_SPATIAL_PERSISTENT),
        (lib.CUDNN_PARAM_BN_EQSCALEBIAS_DESC, cudnn.create_tensor_descriptor(a["s"])),
        (lib.CUDNN_PARAM_ACTIVATION_DESC, cudnn.create_activation_descriptor(lib.CUDNN_ACTIVATION_RELU)),
        (
            lib.CUDNN_PARAM_CONV_DESC,
            cudnn.create_convolution_descriptor((1, 1), (1, 1), np.float16, use_tensor_core=True),
        ),
        (lib.CUDNN_PARAM_WDESC, cudnn.create_filter_descriptor(a["w"], format=nhwc)),
        (lib.CUDNN_PARAM_YDESC, cudnn.create_tensor_descriptor(y, format=nhwc)),
        (lib.CUDNN_PARAM_YSTATS_DESC, cudnn.create_tensor_descriptor(total)),
    ]


POINTERS = ("XDATA", "BN_EQSCALE", "BN_EQBIAS", "WDATA", "YDATA", "YSUM", "YSQSUM")
OPS = lib.CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS


@pytest.mark.parametrize("by_address", [False, True])
def test_a_convolution_between_norms(by_address: bool) -> None:
    a = _arrays()
    y, sums, squares = np.empty((N, H, H, K), np.float16), *(np.empty((1, K, 1, 1), np.float32) for _ in range(2))
    constant = _descriptors(a, y, sums)
    constant += [(getattr(lib, f"CUDNN_PARAM_{p}_PLACEHOLDER"), lib.CUDNN_PTR_16B_ALIGNED) for p in POINTERS]
    given = dict(zip(POINTERS, (a["x"], a["s"], a["b"], a["w"], y, sums, squares), strict=True))
    plan = cudnn.create_fused_ops_plan(OPS)
    const_pack = cudnn.create_fused_ops_const_param_pack(OPS, [] if by_address else constant)
    var_pack = cudnn.create_fused_ops_variant_param_pack(OPS, [])
    for label, value in constant if by_address else []:
        number = ctypes.c_int(value if isinstance(value, int) else 0)
        place = ctypes.addressof(number) if isinstance(value, int) else value.value
        lib.setFusedOpsConstParamPackAttribute(const_pack.value, label, place)
    work = np.empty(max(cudnn.make_fused_ops_plan(plan, const_pack), 1), np.int8)
    for name, array in {**given, "WORKSPACE": work}.items():
        label = getattr(lib, f"CUDNN_PTR_{name}")
        if by_address:
            lib.setFusedOpsVariantParamPackAttribute(var_pack.value, label, array.ctypes.data)
        else:
            cudnn.set_fused_ops_variant_param_pack_attribute(var_pack, label, array)
        assert cudnn.get_fused_ops_variant_param_pack_attribute(var_pack.value, label) == array.ctypes.data
    size = lib.CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES
    cudnn.set_fused_ops_variant_param_pack_attribute(var_pack, size, work.size)
    assert cudnn.get_fused_ops_variant_param_pack_attribute(var_pack.value, size) == work.size
    cudnn.fused_ops_execute(plan, var_pack)
    for found, wanted in zip((y, sums.ravel(), squares.ravel()), _wanted(a), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_constant_attributes_are_read_back() -> None:
    a = _arrays()
    x = cudnn.create_tensor_descriptor(a["x"], format=lib.CUDNN_TENSOR_NHWC)
    pack = cudnn.create_fused_ops_const_param_pack(OPS, [(lib.CUDNN_PARAM_XDESC, x), (lib.CUDNN_PARAM_BN_MODE, 1)])
    number, is_null = cudnn.get_fused_ops_const_param_pack_attribute(pack, lib.CUDNN_PARAM_XDESC)
    assert (lib.getTensor4dDescriptor(number)[1:5], is_null) == ((N, C, H, H), 0)
    assert cudnn.get_fused_ops_const_param_pack_attribute(pack, lib.CUDNN_PARAM_BN_MODE) == (1, 0)
    assert cudnn.get_fused_ops_const_param_pack_attribute(pack, lib.CUDNN_PARAM_WDESC) == (0, 1)
    desc, number = lib.createTensorDescriptor(), ctypes.c_int()
    assert lib.getFusedOpsConstParamPackAttribute(pack.value, lib.CUDNN_PARAM_XDESC, desc) == 0
    assert lib.getTensor4dDescriptor(desc) == lib.getTensor4dDescriptor(x.value)
    assert lib.getFusedOpsConstParamPackAttribute(pack.value, lib.CUDNN_PARAM_BN_MODE, ctypes.addressof(number)) == 0
    assert number.value == 1


def test_a_wrong_label_is_refused() -> None:
    pack = cudnn.create_fused_ops_const_param_pack(OPS, [])
    with pytest.raises(lib.CuDNNError, match="paramLabel") as caught:
        cudnn.set_fused_ops_const_param_pack_attribute(pack, lib.CUDNN_PARAM_DXDATA_PLACEHOLDER, 2)
    assert caught.value.status == 3
