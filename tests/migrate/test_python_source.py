"""Python that calls cuDNN by the names of C becomes a program with C's calls."""

from __future__ import annotations

from textwrap import dedent

import pytest
from following import Seen, follow_units

from portadnn.migrate.python import source as python_source


def follow(text: str) -> list[Seen]:
    return follow_units([python_source.read(dedent(text).encode(), "program.py")])


def test_a_result_is_what_c_writes_through_a_pointer() -> None:
    seen = follow(
        """
        import portadnn.cudnn as cudnn
        x = cudnn.cudnnCreateTensorDescriptor()
        cudnn.cudnnSetTensor4dDescriptor(x, cudnn.CUDNN_TENSOR_NHWC, cudnn.CUDNN_DATA_HALF, 2, 3, h=4, w=5)
        kind, n, c, h, w, *strides = cudnn.cudnnGetTensor4dDescriptor(x)
        """
    )
    created, set_, got = seen
    assert [argument.text for argument in created.event.arguments] == ["x"]
    assert set_.thing("tensorDesc").created == created.event.number
    assert [set_.constant(name) for name in ("format", "dataType", "n", "w")] == [
        "CUDNN_TENSOR_NHWC", "CUDNN_DATA_HALF", 2, 5]  # fmt: skip
    assert got.field("tensorDesc.strideA") == got.thing("tensorDesc").fields["strideA"]
    assert got.constant("tensorDesc.strideA") == [60, 1, 15, 3]
    assert {one.event.status for one in seen} == {"checked"}


def test_results_lead_to_later_calls() -> None:
    seen = follow(
        """
        from portadnn.cudnn import *
        def choose(handle, x, w, conv, y):
            perfs = cudnnFindConvolutionForwardAlgorithm(handle, x, w, conv, y, 3)
            size = cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, conv, y, perfs[0].algo)
            cudnnConvolutionForward(handle, 1.0, x, a, w, b, conv, perfs[0].algo, workspace, size, 0.0, y, c)
        """
    )
    find, query, forward = seen
    assert query.value("algo").origins == (find.event.number,)
    assert forward.value("algo").origins == (find.event.number,)
    assert forward.value("workSpaceSizeInBytes").origins == (query.event.number,)
    assert (forward.constant("alpha"), forward.constant("beta")) == (1.0, 0.0)
    assert forward.event.arguments[0].text == "handle"


def test_methods_keep_their_objects() -> None:
    seen = follow(
        """
        import libcudnn
        FORMAT = 'CUDNN_TENSOR_NCHW'
        class Layer:
            def __init__(self, channels):
                self.channels = channels
                self.x = libcudnn.cudnnCreateTensorDescriptor()
            def reshape(self, n):
                libcudnn.cudnnSetTensor4dDescriptor(
                    self.x, libcudnn.cudnnTensorFormat['CUDNN_TENSOR_NCHW'],
                    libcudnn.cudnnDataType['CUDNN_DATA_FLOAT'], n, self.channels, 1, 1)
            def __del__(self):
                libcudnn.cudnnDestroyTensorDescriptor(self.x)

        def main():
            layer = Layer(7)
            for batch in range(2):
                layer.reshape(batch + 1)

        if __name__ == "__main__":
            main()
        """
    )
    sets = [one for one in seen if one.event.function == "cudnnSetTensor4dDescriptor"]
    assert [one.constant("n") for one in sets][:2] == [1, 2]
    assert {one.constant("c") for one in sets[:2]} == {7}
    assert {one.constant("format") for one in sets} == {"CUDNN_TENSOR_NCHW"}
    assert sets[0].event.within == "Layer::reshape"
    assert [place.line for place in sets[0].event.through] == [21, 18]
    assert "cudnnDestroyTensorDescriptor" in {one.event.function for one in seen}


def test_ctypes() -> None:
    create, set_ = follow(
        """
        import ctypes
        lib = ctypes.CDLL("libcudnn.so")
        x = ctypes.c_void_p()
        lib.cudnnCreateTensorDescriptor(ctypes.byref(x))
        status = lib.cudnnSetTensor4dDescriptor(x, 1, 0, ctypes.c_int(8), 3, 2, 2)
        """
    )
    assert create.event.status == "ignored"
    assert set_.thing("tensorDesc").created == create.event.number
    assert [set_.constant(name) for name in ("format", "dataType", "n")] == [1, 0, 8]


def test_places_and_suppressions() -> None:
    text = "import cudnn\n\nä = 'ö'; cudnn.cudnnDestroy(ä)  # portadnn: ignore[S25]\n"
    unit = python_source.read(text.encode(), "a.py")
    assert unit.suppressions == {3: frozenset({"S25"})}
    ((name, span, written),) = unit.mentions
    assert (name, span.line, span.column, written) == ("cudnnDestroy", 3, 10, "cudnn.cudnnDestroy(ä)")
    assert text.encode()[span.start : span.end].decode() == written


@pytest.mark.parametrize(
    "text",
    [
        b"def f(:\n",
        b"\x00\xff\xfe",
        b"x = " + b"(" * 5000,
        b"x = " + b"-" * 100_000 + b"1",
        b"'\xff'",
        b"cudnnCreate(" + b"+".join(b"a" for _ in range(30_000)) + b")",
        b"if a:\n" + b"".join(b" " * i + b"if a:\n" for i in range(1, 99)) + b" " * 99 + b"cudnnCreate()",
        b"match cudnnCreate():\n  case 1:\n    cudnnDestroy(a)\n  case _:\n    pass\n",
    ],
    ids=["syntax", "binary", "brackets", "signs", "encoding", "long", "deep", "match"],
)
def test_odd_sources(text: bytes) -> None:
    text += b"" if b"cudnn" in text else b" # cudnnCreate()"
    unit = python_source.read(text, "odd.py")
    assert bool(unit.skipped) != bool(unit.functions)
    if not unit.skipped:
        assert {one.event.function for one in follow_units([unit])} == {name for name, _, _ in unit.mentions} != set()
