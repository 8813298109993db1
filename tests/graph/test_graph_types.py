"""Types of the Graph API: values, storage and rounding."""

from __future__ import annotations

import numpy as np
import pytest

from portadnn.enums import DataType
from portadnn.graph import data_type
from portadnn.graph.errors import InvalidValue
from portadnn.graph.memory import fp8

ml_dtypes = pytest.importorskip("ml_dtypes")
FORMATS = {fp8.E4M3: ml_dtypes.float8_e4m3fn, fp8.E5M2: ml_dtypes.float8_e5m2}


@pytest.mark.parametrize(("form", "dtype"), FORMATS.items(), ids=lambda v: getattr(v, "name", None))
def test_every_byte_of_fp8(form, dtype):
    every = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(form.decoded(every), every.view(dtype).astype(np.float64))
    numbers = np.isfinite(form.decoded(every))
    np.testing.assert_array_equal(form.encoded(form.decoded(every))[numbers], every[numbers])


@pytest.mark.parametrize(("form", "dtype"), FORMATS.items(), ids=lambda v: getattr(v, "name", None))
def test_rounding_to_fp8(form, dtype):
    """All halves, and what lies around the middle of neighbours, as ml_dtypes rounds float32."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = np.sort(np.unique(form.table[np.isfinite(form.table)]))
    middle = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
    around = [np.nextafter(middle, np.float32(end)) for end in (np.inf, -np.inf)]
    values = np.concatenate([halves, middle, *around, np.float32([1e38, 2.0**-40])])
    with np.errstate(all="ignore"):
        want = values.astype(dtype).view(np.uint8)
    got = form.encoded(values, saturate=False)
    nan = np.isnan(form.decoded(want))
    np.testing.assert_array_equal(got[~nan], want[~nan])
    assert np.isnan(form.decoded(got[nan])).all()
    values = values[np.isfinite(values)]
    clipped = np.clip(values, -form.largest, form.largest).astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(form.decoded(form.encoded(values)), clipped)
    assert form.decoded(form.encoded([np.inf, -np.inf])).tolist() == [form.largest, -form.largest]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_rounding_to_fp8_is_done_once(form):
    """By way of float32 the last bit of float64 would be lost, and with it the side of the middle."""
    middle = (form.table[0x39] + form.table[0x3A]) / 2
    near = [np.nextafter(middle, 0), middle, np.nextafter(middle, 9)]
    assert form.encoded(near).tolist() == [0x39, 0x3A, 0x3A]


@pytest.mark.parametrize(
    ("kind", "values", "want"),
    [
        (data_type.INT8, [0.5, 1.5, -0.5, 2.5, 300, -300, np.nan, -127.5], [0, 2, 0, 2, 127, -128, 0, -128]),
        (data_type.UINT8, [-1, 255.5, 254.5, 3.49], [0, 255, 254, 3]),
        (data_type.INT32, [2.0**40, -(2.0**40), 7], [2**31 - 1, -(2**31), 7]),
        (data_type.INT64, [2.0**80, -(2.0**80), 2.0**62], [2**63 - 1, -(2**63), 2**62]),
        (data_type.BOOLEAN, [0, 0.25, -3, np.nan], [0, 1, 1, 1]),
        (data_type.HALF, [65519.9, 1e9, 2049], [65504, np.inf, 2048]),
    ],
)
def test_rounding_saturates(kind, values, want):
    np.testing.assert_array_equal(kind.rounded(values), want)
    assert kind.stored(values).dtype == kind.storage
    assert kind.stored(values).itemsize == kind.itemsize


def test_int64_keeps_all_digits():
    number = np.array([2**62 + 1])
    assert data_type.INT64.rounded(number).tolist() == [2**62 + 1]


def test_other_names_of_types():
    assert data_type.parse(np.float16) is data_type.parse("float16") is data_type.parse(DataType.HALF) is data_type.HALF
    assert data_type.parse(np.dtype("int64")) is data_type.INT64
    torch = pytest.importorskip("torch")
    assert data_type.parse(torch.float8_e4m3fn) is data_type.FP8_E4M3
    assert data_type.parse(torch.bool) is data_type.BOOLEAN
    with pytest.raises(InvalidValue, match="PG-NODE-004"):
        data_type.parse(np.complex64)


def test_values_of_enumerations():
    """The numbers of cudnn-frontend 1.32's compiled module, which leaves 13 out."""
    names = (
        "NOT_SET FLOAT DOUBLE HALF INT8 INT32 INT8x4 UINT8 UINT8x4 INT8x32 BFLOAT16 INT64 BOOLEAN - FP8_E4M3 FP8_E5M2 "
        "FAST_FLOAT_FOR_FP8 FP8_E8M0 FP8_E5M3 FP4_E2M1 INT4"
    )
    wanted = {name: number for number, name in enumerate(names.split()) if name != "-"}
    assert wanted == {m.name: int(m) for m in data_type}
