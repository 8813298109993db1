"""The kernel by which ranks exchange statistics, compiled by NVRTC for each kind of GPU."""

import pytest
from test_nvrtc import EACH, compile_recorded, recorder_of

from portadnn import DataType
from portadnn_backends.peers import ExchangeSize, KernelExchange


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("arch", EACH)
def test_compiles_for_cuda(arch):
    recorder = recorder_of(arch)
    for dtype, ranks in ((DataType.FLOAT, 2), (DataType.DOUBLE, 3)):
        KernelExchange(recorder, ExchangeSize(ranks, 70, 12, dtype))._launch(1)
    compile_recorded(recorder)
