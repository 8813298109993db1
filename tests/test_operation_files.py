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
    "prelu",
    "rope",
    "soft_margin_loss",
)
WORDS = {"ctc_loss": ("ctc",), "getitem": ("getitem",), "multi_head_attn": ("multi head",)}


@pytest.mark.parametrize("family", NEWER)
def test_newer_operations_are_named_in_few_files(family):
    files = operation_files.by_family()[family] | set(operation_files.naming(*WORDS.get(family, ("no name",))))
    assert len(files) <= MOST, sorted(files)


def test_names_are_found_in_every_spelling():
    assert "portadnn/ops/records/ctc_loss.py" in operation_files.naming("ctc loss")
    assert "portadnn/ops/gates.py" in operation_files.by_family()["prelu"]  # PReLUBackward, prelu_backward
    assert "portadnn/ops/attention/" in operation_files.by_family()["multi_head_attn"]
    assert "backends/capabilities/cudnn.toml" in operation_files.by_family()["multi_head_attn"]  # multi_head_attn_*
    assert "portadnn/ops/softmax.py" not in operation_files.by_family()["activation"]
