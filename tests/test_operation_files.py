"""How many files of the library an operation touches: what came last is to touch 8 at most, and does not grow again."""

import operation_files
import pytest

MOST = 8
NEWER = (
    "adam",
    "cat",
    "ctc_loss",
    "getitem",
    "glu",
    "kthvalue",
    "multi_head_attn",
    "multi_margin_loss",
    "normalization",
    "prelu",
    "rope",
    "soft_margin_loss",
)
WORDS = {"ctc_loss": ("ctc",), "getitem": ("getitem",), "multi_head_attn": ("multi head",)}


@pytest.mark.parametrize("family", NEWER)
def test_newer_operations_are_named_in_few_files(family):
    files = operation_files.by_family()[family] | set(operation_files.naming(*WORDS.get(family, ("no name",))))
    assert len(files) <= MOST, sorted(files)


def test_newer_modes_are_named_in_few_files():
    """SQRT and NOT of op_tensor came with cuDNN 6 and 7."""
    files = operation_files.by_family()["op_tensor"].intersection(operation_files.naming("sqrt"))
    assert len(files) <= MOST, sorted(files)


def test_names_are_found_in_every_spelling():
    assert "portadnn/ops/records/ctc_loss.py" in operation_files.naming("ctc loss")
    assert "portadnn/ops/gates.py" in operation_files.by_family()["prelu"]  # PReLUBackward, prelu_backward
    assert "portadnn/ops/attention/" in operation_files.by_family()["multi_head_attn"]
    assert "backends/capabilities/cudnn.toml" in operation_files.by_family()["multi_head_attn"]  # multi_head_attn_*
    assert "portadnn/enums.py" in operation_files.by_family()["softmax"]  # SoftmaxMode
    assert "portadnn/ops/softmax.py" not in operation_files.by_family()["activation"]


def test_functions_in_c_are_what_they_stand_for():
    """cuDNN 8 calls batch normalization, with an activation and more, plainly normalization."""
    files = operation_files.by_family()
    assert "portadnn/miopen/normalization.py" in files["normalization"]  # miopenT5LayerNormForward
    assert "portadnn/cudnn/normalization.py" in operation_files.naming("cudnn normalization forward training")
    assert "portadnn/cudnn/normalization.py" in files["batch_normalization"] - files["normalization"]
