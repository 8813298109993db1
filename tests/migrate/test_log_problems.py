"""What logs tell of single problems: commands of MIOpen's driver, and descriptors that are logged inside of calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from portadnn.migrate import check

CONVOLUTION = """\
I! CuDNN (v7605) function cudnnConvolutionForward() called:
i!     convDesc: type=cudnnConvolutionDescriptor_t:
i!         mode: type=cudnnConvolutionMode_t; val={mode};
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);
i!         arrayLength: type=int; val=2;
i!         padA: type=int; val=[1,1];
i!         strideA: type=int; val=[1,1];
i!         dilationA: type=int; val=[1,1];
i!         groupCount: type=int; val=1;
i! Process=1; Thread=1; GPU=NULL; Handle=NULL; StreamId=NULL.
"""
SET = """\
I! CuDNN (v7605) function cudnnSetConvolution2dDescriptor() called:
i!     convDesc: location=host; addr=0x7f0000000001;
i!     mode: type=cudnnConvolutionMode_t; val=CUDNN_CONVOLUTION (0);
i! Process=1; Thread=1; GPU=NULL; Handle=NULL; StreamId=NULL.
"""
SHAPE = "-n 16 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1"


def rules(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "calls.log").write_text(text)
    return [finding.rule for finding in check([tmp_path / "calls.log"]).alarms]


@pytest.mark.parametrize(
    ("mode", "told"), [("CUDNN_CONVOLUTION (0)", 1), ("CUDNN_CROSS_CORRELATION (1)", 0), ("CUDNN_CONVOLUTION", 1)]
)
def test_a_flipped_filter_inside_a_logged_descriptor(tmp_path: Path, mode: str, told: int) -> None:
    assert rules(tmp_path, CONVOLUTION.format(mode=mode)).count("V01") == told


def test_a_flipped_filter_is_told_once_where_it_is_set(tmp_path: Path) -> None:
    assert rules(tmp_path, SET).count("V01") == 1


@pytest.mark.parametrize("prefix", ["", "MIOpen(HIP): Command [LogCmdConvolution] ./bin/"])
@pytest.mark.parametrize(
    "command", [f"conv {SHAPE} -F 1 -t 1", f"convfp16 {SHAPE}", "pool -n 8 -c 3 -H 8 -W 8", "lrn -n 8 -c 3 -F 2"]
)
def test_the_driver_calls_what_a_problem_needs_itself(tmp_path: Path, prefix: str, command: str) -> None:
    (tmp_path / "calls.log").write_text(f"{prefix}MIOpenDriver {command}\n")
    report = check([tmp_path / "calls.log"])
    assert report.ported
    assert not [f.rule for f in report.alarms if f.rule.startswith("S")]
