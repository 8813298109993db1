"""What OpenCL's compilers are told."""

from types import SimpleNamespace

import pytest

from portadnn_backends.opencl.devices import build_options, opencl

pytest.importorskip("pyopencl")


CASES = [("gpu", True, True), ("gpu", False, False), ("cpu", True, False)]


@pytest.mark.parametrize(("kind", "rounds", "exact"), CASES)
def test_gpus_round_quotients_correctly_where_they_can(kind, rounds, exact):
    configuration = opencl().device_fp_config.ROUND_TO_NEAREST
    if rounds:
        configuration |= opencl().device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    options = build_options(SimpleNamespace(single_fp_config=configuration), SimpleNamespace(kind=kind))
    assert ("-cl-fp32-correctly-rounded-divide-sqrt" in options) is exact
    assert options.startswith("-cl-std=CL1.2")
