"""How much of each call was known, in every report."""

import json

import pytest

from portadnn import migrate
from portadnn.migrate.reports import FORMATS, write

TEXT = """
void known(cudnnHandle_t h, void* p) {
  cudnnTensorDescriptor_t d;
  cudnnCreateTensorDescriptor(&d);
  cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, 3, 4);
  float one = 1, zero = 0;
  cudnnSoftmaxForward(h, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, d, p, &zero, d, p);
}
void partly(cudnnHandle_t h, cudnnTensorDescriptor_t d, const float* a, void* p) {
  cudnnSoftmaxForward(h, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, a, d, p, a, d, p);
}
"""


def test_calls_are_counted_by_how_much_of_them_is_known():
    report = migrate.check_text(TEXT)
    assert report.coverage.counts == {"fully": 3, "partly": 1, "by name": 0}
    assert [(call.place.line, call.known) for call in report.calls if call.known != "fully"] == [(10, "partly")]


def test_a_call_behind_a_branch_that_is_never_taken_is_judged():
    report = migrate.check_text("void f(cudnnHandle_t h) { bool on = false; if (on) { cudnnDestroy(h); } }")
    assert report.coverage.by_name == 0
    assert len(report.calls) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_every_report_says_so(form):
    written = write(migrate.check_text(TEXT), form)
    if form in ("json", "sarif"):
        facts = json.loads(written)
        facts = facts if form == "json" else facts["runs"][0]["properties"]
        assert facts["coverage"] == {"fully": 3, "partly": 1, "by_name": 0}
    else:
        assert "3 judged fully, 1 partly, 0 by name only" in written


def test_a_program_of_which_nothing_was_followed_may_have_been_missed():
    report = migrate.check_text("int table[] = { cudnnGetErrorString(0) + };")
    assert report.calls
    assert "by name only" in report.missing or report.coverage.fully or report.coverage.partly
