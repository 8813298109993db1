"""What two answers to the same program say of each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import vendor

from portadnn.problem import parse_line
from portadnn.tolerance import tolerance

from .sides import Answer, Output

CODES = {np.dtype(np.float16): "f16", np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
KINDS = ("equal", "deliberate", "ours accepts", "cuDNN accepts", "wrong")
# What a program says of itself: which outcomes are deliberate, and words of docs/deviations.md that say why.
DELIBERATE: dict[str, tuple[tuple[str, ...], str]] = {
    "odd label": (("wrong", "ours accepts"), "does not fit cost 0, a label with the blank in it has wrong gradients"),
    "probabilities": (("wrong",), "with normalization NONE the gradients of a label's classes are with respect to"),
    "conversion": (("ours accepts",), "`cudnnTransformTensor` to and from INT8x32"),
    "other bytes": (("ours accepts", "cuDNN accepts"), "Beyond cuDNN: INT8x32 to FLOAT"),
    "beta of folds": (("cuDNN accepts",), "a beta other than 0 where `cudnnTransformTensorEx` folds"),
    "no b": (("ours accepts",), "demands a b of SQRT and NOT"),
    "empty sequence": (("wrong", "ours accepts"), "The final states of a sequence of length 0"),
    "columns of bytes": (("ours accepts",), "`cudnnIm2Col` of INT8"),
    "other indices": (("wrong", "ours accepts"), "indices of 8, 16 and 64 bits with 32 bits each"),
    "no gradient to NaN": (("wrong",), "gives no gradient to NaN and -inf"),
    "BFLOAT16": (("ours accepts",), "It refuses BFLOAT16 as a convolution's compute type"),
    "groups": (("cuDNN accepts",), "tells output sizes where groups do not divide the filters"),
    "reordered": (("ours accepts",), "`cudnnReorderFilterAndBias` reports EXECUTION_FAILED at times"),
    "several heads": (("wrong",), "with several heads, a projection of outputs and none of values"),
    "fresh descriptor": (("cuDNN accepts", "wrong"), "a descriptor that was not set in a query"),
    "dropout beyond": (("cuDNN accepts",), "it takes a dropout outside of 0 to 1"),
    "identity": (("ours accepts",), "refuses IDENTITY in `cudnnActivationForward`"),
    "filters of 32": (("wrong",), "an eighth of the channels of a filter of INT8x32"),
    "inference of more": (("ours accepts",), "`cudnnNormalizationForwardInference` with an activation"),
    "two dims": (("cuDNN accepts",), "tensors of 2 dims"),
    "below 0": (("cuDNN accepts",), "paddings and strides below 0"),
    "of 0": (("ours accepts",), "and dims and strides of 0"),
    "window of padding": (("wrong",), "a window of padding alone gives 0"),
    "softmax of nothing": (("wrong",), "Nothing but -inf has a softmax of 0"),
    "swish of 0": (("wrong",), "SWISH's gradient of numbers beyond 1e29 is 0"),
    "no times NaN": (("wrong",), "take 0 times NaN for 0"),
    "one to one with beams": (("ours accepts",), "CUDNN_ATTN_QUERYMAP_ONE_TO_ONE with a beam size above 1"),
    "nothing reduced": (("ours accepts",), "refuses to reduce no dimension"),
    "filters of vectors": (("ours accepts",), "`cudnnTransformFilter` to INT8x4 and INT8x32"),
    "unpacked without padding": (("ours accepts",), "unpacked layouts without CUDNN_RNN_PADDED_IO_ENABLED"),
    "no sequence of all steps": (
        ("ours accepts",),
        "packed ones whose longest sequence is shorter",
    ),
    "fused operator": (("ours accepts",), "and run on every device"),
    "no callback": (("wrong",), "a mask of 0 is told as CUDNN_SEV_ERROR_EN"),
    "window without keys": (("wrong",), "a query whose window has no key gets weights of 0"),
}


UNDEFINED = "What follows a wrong argument that both take is not compared"
REFUSES = "refused by the first call that is given them"  # wrong arguments


@dataclass
class Verdict:
    """How two answers compare.

    Attributes
    ----------
    kind : str
        One of KINDS.
    detail : str
        What differs, and by how much.
    """

    kind: str
    detail: str = ""


def limits(want: Output) -> np.ndarray:
    """Return how far numbers may be apart: the project's tolerance of a sum of that length, for another's library."""
    code, values = CODES[want.values.dtype], want.values.astype(np.float64)
    math = " math=tensor_op_allow_conversion" if want.tf32 and code == "f32" else ""
    length = max(want.length, 1)
    problem, _ = parse_line(f"convolution_forward x={code}:1x{length}x1x1 w={code}:1x{length}x1x1{math}")
    largest = np.max(np.abs(values), initial=0.0, where=np.isfinite(values))
    terms = np.full(values.shape, want.terms or largest)
    found = tolerance(problem, values, terms)
    return vendor.widened(found + (np.finfo(want.values.dtype).eps * terms if want.between else 0))


def off(got: Output, want: Output) -> str:
    """Return how an output is off; nothing where it is right."""
    a, b = got.values, want.values
    if a.shape != b.shape:
        return f"{a.shape} for {b.shape}"
    if not np.issubdtype(b.dtype, np.floating) or b.dtype not in CODES or not b.size:
        wrong = a != b
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = ~(np.abs(a.astype(np.float64) - b) <= limits(want))
        wrong &= ~((np.isnan(a) & np.isnan(b)) | (a == b))
    if not wrong.any():
        return ""
    place = tuple(int(i[0]) for i in np.nonzero(wrong))
    return f"{a[place]} for {b[place]} at {place}, {int(wrong.sum())} of {wrong.size}"


def _verdict(ours: Answer, theirs: Answer) -> Verdict:
    if ours.written:
        return Verdict("wrong", f"portadnn wrote {', '.join(ours.written)}")
    if "SUCCESS" in (ours.status, theirs.status) and ours.status != theirs.status:
        kind = "ours accepts" if ours.status == "SUCCESS" else "cuDNN accepts"
        return Verdict(kind, f"{ours.calls[-1]} for {theirs.calls[-1]}: {ours.message}{theirs.message}")
    if ours.calls != theirs.calls:
        if len(ours.calls) != len(theirs.calls):
            kind = "cuDNN accepts" if len(ours.calls) < len(theirs.calls) else "ours accepts"
            return Verdict(kind, f"{ours.calls[-1]} for {theirs.calls[-1]}: {ours.message}; {theirs.message}")
        return Verdict("wrong", f"{ours.calls[-1]} for {theirs.calls[-1]}: {ours.message}")
    for name, want in theirs.outputs.items():
        text = off(ours.outputs[name], want) if name in ours.outputs else "missing"
        if text:
            return Verdict("wrong", f"{name}: {text}")
    return Verdict("equal")


def refused(ours: Answer) -> str:
    """Return which wrong argument portadnn refused; nothing where it did not."""
    wrong = next((tag for tag in ours.tags if tag.startswith("wrong ")), "")
    return wrong if ours.status != "SUCCESS" and not ours.written else ""


def verdict(ours: Answer, theirs: Answer) -> Verdict:
    """Return how portadnn's answer compares with cuDNN's."""
    found = _verdict(ours, theirs)
    if refused(ours) and found.kind != "equal":
        return Verdict("deliberate", f"{REFUSES}: {refused(ours)}: {found.detail}")
    if found.kind == "wrong" and not ours.written and any(tag.startswith("wrong ") for tag in ours.tags):
        return Verdict("deliberate", f"{UNDEFINED}: {found.detail}")
    for tag in ours.tags:
        kinds, words = DELIBERATE.get(tag, ((), ""))
        if found.kind in kinds and not ours.written:
            return Verdict("deliberate", f"{words}: {found.detail}")
    return found
