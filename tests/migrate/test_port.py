"""`portadnn port`: whole programs, compiled against MIOpen's declarations; patches; what is left alone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import miopen_header
import pytest
import tree_sitter
import tree_sitter_cpp
from typer.testing import CliRunner

from portadnn import mapping
from portadnn.cli.main import app
from portadnn.migrate.port import files
from portadnn.migrate.port.following import follow

PROGRAMS = Path(__file__).parent / "port_programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.txt"))
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def ported(text, name="program.cpp", target="miopen-3"):
    """Return the result for one source."""
    return files.port({name: text.encode("latin-1")}, target, follow)


def line(text, **options):
    """Return the new text of one statement, without comments of ours."""
    result = ported(f"void f() {{\n{text}\n}}\n", **options).files[0].text.splitlines()
    return "\n".join(result[result.index("void f() {") + 1 : -1])


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    """Return a folder with MIOpen's header, made of the list of its functions, and with one of cuDNN's."""
    folder = tmp_path_factory.mktemp("include")
    for name in ("miopen", "hip"):
        (folder / name).mkdir()
    (folder / "miopen" / "miopen.h").write_text(miopen_header.header())
    (folder / "miopen" / "version.h").write_text("#define MIOPEN_VERSION_MAJOR 3\n")
    (folder / "hip" / "hip_runtime_api.h").write_text(miopen_header.HIP)
    (folder / "cudnn.h").write_text(miopen_header.cudnn(mapping.table()))
    return folder


def compiled(path, stubs):
    """Compile without writing anything, and return what the compiler says."""
    c = path.suffix == ".c"
    command = ["gcc" if c else "g++", "-std=c99" if c else "-std=c++17", "-Wall", "-Wno-unused-variable"]
    command += ["-DWITH_LRN", "-fsyntax-only", f"-I{stubs}", "-x", "c" if c else "c++", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


# Programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_programs_compile_before_and_after(name, stubs, tmp_path):
    source = tmp_path / name
    source.write_bytes((PROGRAMS / f"{name}.txt").read_bytes())
    assert compiled(source, stubs) == ""
    result = CliRunner().invoke(app, ["port", "--in-place", str(source)])
    assert result.exit_code == 0, result.output
    text = source.read_text()
    assert compiled(source, stubs) == ""
    assert not PARSER.parse(text.encode()).root_node.has_error
    left = re.findall(r"\bcudnn[A-Z]\w+|\bCUDNN_[A-Z]\w+", re.sub(r'"[^"\n]*"|//.*|/\*.*?\*/', "", text))
    assert set(left) <= {"CUDNN_MAJOR"}


@pytest.mark.parametrize("name", NAMES)
def test_porting_twice_changes_nothing_more(name):
    once = ported((PROGRAMS / f"{name}.txt").read_text(), name).files[0]
    twice = ported(once.text, name).files[0]
    assert once.changed
    assert twice.text == once.text
    assert not twice.changed


def test_calls_have_the_arguments_of_miopens_header():
    """Each call of the programs, in order of the declared types."""
    checked = set()
    for name in NAMES:
        text = ported((PROGRAMS / f"{name}.txt").read_text(), name).files[0].text
        for function, given in calls_of(text):
            if function in miopen_header.functions():
                checked.add(function)
                assert len(given) == len(miopen_header.functions()[function]), (function, given)
    assert len(checked) >= 60


def calls_of(text):
    """Yield functions and their arguments as tree-sitter sees them."""
    nodes = [PARSER.parse(text.encode()).root_node]
    while nodes:
        node = nodes.pop()
        nodes += node.children
        if node.type == "call_expression":
            arguments = node.child_by_field_name("arguments").named_children
            given = [child.text.decode() for child in arguments if child.type != "comment"]
            yield node.child_by_field_name("function").text.decode(), given


# Single calls -----------------------------------------------------------------------------------------------------

CALLS = [line.split(" => ") for line in (Path(__file__).parent / "ported_calls.txt").read_text().splitlines()[1:]]
# Those that the program around them decides on, or that need a file of ours.
ELSEWHERE = re.compile(
    r"cudnn(Convolution(Forward|Backward\w+|Bias\w+)|PoolingForward|PoolingBackward|LRNCross\w+|BatchNorm\w+"
    r"|SetOpTensor\w+)\(|cudnnAddTensor\(h, alpha"
)


@pytest.mark.parametrize(("call", "wanted"), [pair for pair in CALLS if not ELSEWHERE.match(pair[0])])
def test_calls_are_rewritten(call, wanted):
    found = line(f"const float one = 1, zero = 0;\n{call};").splitlines()[-1]
    zero = "&portadnn_zero" if "AddTensor" in call else "&zero"
    assert found.replace("(void *)", "") == wanted.replace("&zero", zero) + ";"


def test_convolutions_with_a_search_of_their_own_are_miopens():
    search = "cudnnFindConvolutionForwardAlgorithmEx(h, x, xp, w, wp, c, y, yp, 1, &n, &perf, ws, size);\n"
    call = "cudnnConvolutionForward(h, &one, x, xp, w, wp, c, algo, ws, size, traits<T>::zero, y, yp);"
    assert line(search + call).endswith(
        "miopenConvolutionForward(h, &one, x, xp, w, wp, c, algo, traits<T>::zero, y, yp, ws, size);"
    )
    assert line(call).endswith(
        "portadnn_convolution_forward(h, &one, x, xp, w, wp, c, traits<T>::zero, y, yp, ws, size);"
    )


def test_pooling_keeps_a_workspace_where_there_is_a_backward_pass():
    call = "cudnnPoolingForward(h, p, &one, x, xp, &zero, y, yp);"
    back = "cudnnPoolingBackward(h, p, &one, y, yp, dy, dyp, x, xp, &zero, dx, dxp);"
    assert line(call) == "miopenPoolingForward(h, p, &one, x, xp, &zero, y, yp, false, NULL, 0);"
    assert line(call + "\n" + back) == call.replace(
        "cudnnPoolingForward", "portadnn_pooling_forward"
    ) + "\n" + back.replace("cudnnPoolingBackward", "portadnn_pooling_backward")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CHECK(cudnnSetConvolutionMathType(c, CUDNN_TENSOR_OP_MATH));\nx = 1;", "x = 1;"),
        ("if (a) cudnnSetConvolutionMathType(c, m);", "if (a) miopenStatusSuccess;"),
        ("status = cudnnSetConvolutionMathType(c, m);", "status = miopenStatusSuccess;"),
        ("a = 1; cudnnSetConvolutionMathType(c, m); b = 2;", "a = 1;  b = 2;"),
        ("CHECK(cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_MAX, t, n));", "op = miopenTensorOpMax;"),
        (
            "s = cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_MAX, t, n);",
            "s = (op = miopenTensorOpMax, miopenStatusSuccess);",
        ),
        (
            "cudnnConvolutionFwdAlgoPerf_t p[2], *q;\nuse(p[1].algo, q->algo);",
            "miopenConvAlgoPerf_t p[2], *q;\nuse(p[1].fwd_algo, q->fwd_algo);",
        ),
        (
            "cudnnDataType_t t = half ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;",
            "miopenDataType_t t = half ? miopenHalf : miopenFloat;",
        ),
        ("auto f = &cudnnDestroyTensorDescriptor;", "auto f = &miopenDestroyTensorDescriptor;"),
        ('CHECK(cudnnCreate(&h), "cudnnCreate");', 'CHECK(miopenCreate(&h), "cudnnCreate");'),
        (
            "cudnnSetTensor4dDescriptor(f<a, b>(x), CUDNN_TENSOR_NCHW, t, 1, 2, 3, 4);",
            "miopenSet4dTensorDescriptor(f<a, b>(x), t, 1, 2, 3, 4);",
        ),
    ],
)
def test_statements(before, after):
    assert line(before) == after


def test_comments_stay_with_their_arguments():
    before = """cudnnSetTensor4dDescriptor(x,
        CUDNN_TENSOR_NCHW,  // the format
        CUDNN_DATA_FLOAT,   // the type
        n /* images */, c,  // and channels
        h, w);  // done"""
    after = """miopenSet4dTensorDescriptor(x,
        miopenFloat,   // the type
        n /* images */, c,  // and channels
        h, w);  // done"""
    assert line(before) == after


def test_a_comment_at_a_lines_end_does_not_swallow_an_argument():
    before = "cudnnSoftmaxForward(h,\n    algo,  // accurate\n    mode, &a, x, xp, &b, y, yp);"
    text = line(before)
    assert calls_of(text).__next__()[1] == ["h", "&a", "x", "xp", "&b", "y", "yp", "algo", "mode"]


# What is not touched ----------------------------------------------------------------------------------------------

NEAR = [
    'puts("cudnnCreate(&h)"); /* cudnnCreate(&h) CUDNN_DATA_FLOAT */ // cudnnStatus_t',
    "cudnn_create(&h); my_cudnnCreate(&h); cudnnCreateX(&h); int cudnnLike_t = CUDNN_DATA_FLOATS;",
    "table.cudnnCreate(&h); table->cudnnDestroy(h);",
    'auto s = R"(cudnnCreate(&h); CUDNN_DATA_FLOAT)";',
    "namespace cudnn { int type; } cudnn::type = 1;",
    "#ifdef CUDNN\nint x;\n#endif",
]


@pytest.mark.parametrize("text", NEAR)
def test_near_misses_stay(text):
    result = ported(text + "\n").files[0]
    assert result.text == text + "\n"
    assert not result.marked


def test_a_sum_into_memory_that_is_not_set_reads_nothing_of_it():
    call = "cudnnAddTensor(h, {alpha}, b, bp, {beta}, y, yp);"
    told = {
        ("&one", "&one"): "miopenConvolutionForwardBias(h, &one, b, bp, &portadnn_zero, y, yp);",
        ("&one", "&zero"): "portadnn_add_tensor(h, &one, b, bp, &zero, y, yp);",
        ("alpha", "beta"): "portadnn_add_tensor(h, alpha, b, bp, beta, y, yp);",
        ("&one", "&two"): "miopenOpTensor(h, miopenTensorOpAdd, &two, y, yp, &one, b, bp, &portadnn_zero, y, yp);",
    }
    for (alpha, beta), wanted in told.items():
        text = "const float one = 1, zero = 0, two = 2;\n" + call.format(alpha=alpha, beta=beta)
        assert line(text).splitlines()[-1] == wanted


def test_structures_and_the_least_epsilon():
    text = "struct cudnnTensorStruct;\nstd::unique_ptr<cudnnConvolutionStruct> c;\ndouble e = CUDNN_BN_MIN_EPSILON;\n"
    assert ported(text).files[0].text == (
        "struct miopenTensorDescriptor;\nstd::unique_ptr<miopenConvolutionDescriptor> c;\ndouble e = 1e-5;\n"
    )
    guarded = "#ifndef CUDNN_BN_MIN_EPSILON\n#define CUDNN_BN_MIN_EPSILON 0\n#endif\ndouble e = CUDNN_BN_MIN_EPSILON;\n"
    assert ported(guarded).files[0].text == guarded
    asked = "#if defined(CUDNN_BN_MIN_EPSILON)\n#define LEAST CUDNN_BN_MIN_EPSILON\n#endif\n"
    assert ported(asked).files[0].text == asked.replace("LEAST CUDNN_BN_MIN_EPSILON", "LEAST 1e-5")


def test_texts_of_statuses_that_the_program_has_itself():
    """As old programs have them: cuDNN had no such function before version 5, and MIOpen has other statuses."""
    text = """inline const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_MAPPING_ERROR:
      return "CUDNN_STATUS_MAPPING_ERROR";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
  }
  return "unknown";
}
"""
    result = ported(text).files[0]
    assert not result.marked
    assert result.text.splitlines()[1:-2] == [
        "  switch (status) {",
        "    case miopenStatusSuccess:",
        '      return "CUDNN_STATUS_SUCCESS";',
        '    case miopenStatusNotImplemented: return "CUDNN_STATUS_NOT_SUPPORTED";',
        "  }",
    ]


def test_functions_of_the_program_are_its_own_where_they_are_seen():
    texts = {
        "a/own.hpp": "inline const char* cudnnGetErrorString(cudnnStatus_t s) { return text(s); }\n",
        "a/layer.hpp": '#include "a/own.hpp"\n',
        "a/layer.cpp": "#include <a/layer.hpp>\nvoid f(cudnnStatus_t s) { log(cudnnGetErrorString(s)); }\n",
        "b/other.cpp": "#include <cudnn.h>\nvoid f(cudnnStatus_t s) { log(cudnnGetErrorString(s)); }\n",
    }
    result = files.port({name: text.encode() for name, text in texts.items()}, "miopen-3", follow)
    told = {file.source.name: re.findall(r"\w+GetErrorString", file.text) for file in result.files}
    assert told["a/own.hpp"] == told["a/layer.cpp"] == ["cudnnGetErrorString"]
    assert told["b/other.cpp"] == ["miopenGetErrorString"]


@pytest.mark.parametrize("form", ["p = &{};", "{}();", "{}(a);", "{}(a, b, c...);", "if ({}(,)) return;"])
@pytest.mark.parametrize("target", ["miopen-1", "miopen-3", "cudnn-9"])
def test_functions_without_their_arguments_stay_to_be_seen(form, target):
    """A table of functions, or a text that is no program: each name is still there, changed or not."""
    names = [name for name in mapping.table().functions if name.startswith("cudnn")]
    texts = [f"void f{i}() {{ {form.format(name)} }}" for i, name in enumerate(names)]
    after = ported("\n".join(texts), target=target).files[0].text
    assert [i for i in range(len(names)) if f"void f{i}() {{" not in after] == []
    assert len(names) > 300


OPERATION = """void choose(cudnnOpTensorDescriptor_t op, bool product) {
  cudnnSetOpTensorDescriptor(op, product ? CUDNN_OP_TENSOR_MUL : CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, nan);
}
void other() { cudnnOpTensorDescriptor_t op; cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_MIN, t, nan); }
"""


def test_operations_that_helpers_set():
    text = ported(OPERATION).files[0].text
    assert "void choose(miopenTensorOp_t &op, bool product) {" in text
    assert "  op = (product ? miopenTensorOpMul : miopenTensorOpAdd);" in text
    assert "miopenTensorOp_t op; op = miopenTensorOpMin; }" in text
    for marked in (
        ported(OPERATION, "a.c"),
        ported("void choose(cudnnOpTensorDescriptor_t op, bool product);" + OPERATION),
    ):
        assert "PD-A15" in marked.files[0].text
        assert "miopenTensorOp_t op; op = miopenTensorOpMin; }" in marked.files[0].text


def test_functions_that_the_program_defines_itself_stay():
    text = "inline const char* cudnnGetErrorString(int status) { return 0; }\nvoid f() { cudnnGetErrorString(1); }\n"
    assert ported(text).files[0].text == text


def test_bytes_stay_but_for_what_is_new():
    raw = b"\xef\xbb\xbf// caf\xc3\xa9 \xff\x80\r\n\tcudnnCreate(&h);\t \r\n\x0cint x;\x85\nint y;"
    result = files.port({"a.cpp": raw}, "miopen-3", follow).files[0]
    assert result.text.encode("latin-1") == raw.replace(b"cudnnCreate", b"miopenCreate")


def test_line_ends_are_kept():
    raw = b"void f()\r\n{\r\n    cudnnIm2Col(h, x, xp, w, c, b);\r\n}\r\n"
    text = files.port({"a.cpp": raw}, "miopen-3", follow).files[0].text
    assert text.count("\r\n") == text.count("\n") == 5


# What is marked ---------------------------------------------------------------------------------------------------

MARKED = [
    ("cudnnSpatialTfSamplerForward(h, s, &one, x, xp, g, &zero, y, yp);", "PD-V49"),
    ("cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_FLOAT, 1, 2, 3, 4);", "PD-"),
    ("cudnnSetConvolution2dDescriptor(c, 0, 0, 1, 1, 1, 1, CUDNN_CONVOLUTION, t);", "PD-V01"),
    ("cudnnActivationBackward(h, a, &one, y, yp, dy, dyp, x, xp, &one, dx, dxp);", "PD-V04"),
    ("cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_SWISH, n, 1);", "PD-V13"),
    ("cudnnFindConvolutionForwardAlgorithm(h, x, w, c, y, 1, &n, p);", "PD-S05"),
    ("cudnnGetConvolutionForwardAlgorithm_v7(h, x, w, c, y, 1, &n, p);", "PD-S04"),
    ("cudnnGetRNNLinLayerMatrixParams(h, r, l, x, wd, w, id, d, &p);", "PD-A22"),
    ("cudnnBackendFinalize(d);", "PD-V58"),
    ("cudnnCreate(&h, 1);", "no version"),
    ("dynload::cudnnCreate(&h);", "another name"),
    ("if (s == CUDNN_STATUS_NOT_SUPPORTED) retry();", "PD-A25"),
    ("algo = CUDNN_CONVOLUTION_FWD_ALGO_FFT;", "PD-S14"),
    ("cudnnConvolutionFwdAlgoPerf_t p; if (p.status) skip();", "PD-S12"),
]


@pytest.mark.parametrize(("text", "rule"), MARKED)
def test_what_is_not_certain_stays_with_a_comment(text, rule):
    first, second = line("    " + text).split("\n")
    assert re.fullmatch(r"    /\* portadnn: .*\*/", first)
    assert rule in first
    stays = text.replace("cudnnConvolutionFwdAlgoPerf_t", "miopenConvAlgoPerf_t")
    assert second == "    " + stays
    assert line(f"{first}\n{second}") == f"{first}\n{second}"  # marked once


def test_a_call_around_one_that_stays_stays():
    text = "check(cudnnSetStream(h, cudnnIm2Col(h,\n    x, p, w, c, b)));"
    found = line(text)
    assert found.endswith(text)
    assert found.count("/* portadnn: ") == 2


def test_what_is_wrong_all_the_same_is_told_above_the_new_call():
    found = line(
        """cudnnConvolutionDescriptor_t c;
    cudnnCreateConvolutionDescriptor(&c);
    cudnnSetConvolutionGroupCount(c, 2);
    cudnnSetConvolution2dDescriptor(c, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);"""
    ).splitlines()
    assert found[-2].startswith("    /* portadnn: PD-S16: cudnnSetConvolution2dDescriptor: ")
    assert found[-1] == "    miopenInitConvolutionDescriptor(c, miopenConvolution, 0, 0, 1, 1, 1, 1);"


def test_comments_do_not_break_macros_and_branches():
    text = """#define SAMPLE(x) \\
    do { \\
        cudnnIm2Col(h, x, p, w, c, b); \\
    } while (0)
#if CUDNN_VERSION >= 7000
int x;
#endif
"""
    lines = ported(text).files[0].text.splitlines()
    assert [number for number, found in enumerate(lines) if found.startswith("/* portadnn")] == [0, 5]
    assert lines[1:5] == text.splitlines()[:4]


def test_the_versions_macros_are_told_of_once_a_file():
    text = "#if CUDNN_MAJOR > 6\nint x;\n#endif\n#if CUDNN_MAJOR > 7\nint y;\n#endif\n"
    once = ported(text).files[0].text
    assert once.count("portadnn: CUDNN_MAJOR") == 1
    assert ported(once).files[0].text == once
    both = "int a = CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;\nint b = CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;\n"
    assert ported(both).files[0].text.count("PD-V42") == 2


def test_several_callers_that_differ():
    """The general form where the mode depends on the caller; ours where the format does."""
    text = """
void set(cudnnActivationDescriptor_t a, cudnnActivationMode_t m)
{
    cudnnSetActivationDescriptor(a, m, CUDNN_PROPAGATE_NAN, 0);
}
void all(cudnnActivationDescriptor_t a) { set(a, CUDNN_ACTIVATION_TANH); set(a, CUDNN_ACTIVATION_RELU); }
void one(cudnnActivationDescriptor_t a)
{
    cudnnActivationMode_t m = CUDNN_ACTIVATION_TANH;
    cudnnSetActivationDescriptor(a, m, CUDNN_PROPAGATE_NAN, 0);
}
void describe(cudnnTensorDescriptor_t x, cudnnTensorFormat_t f)
{
    cudnnSetTensor4dDescriptor(x, f, CUDNN_DATA_FLOAT, 1, 2, 3, 4);
}
void both(cudnnTensorDescriptor_t x) { describe(x, CUDNN_TENSOR_NCHW); describe(x, CUDNN_TENSOR_NHWC); }
"""
    found = ported(text).files[0].text
    assert "miopenSetActivationDescriptor(a, m, m == miopenActivationTANH ? 1.0 : 0, 1.0, 1.0)" in found
    assert "miopenSetActivationDescriptor(a, m, 1.0, 1.0, 1.0)" in found
    assert "    portadnn_set_4d_tensor(x, f, miopenFloat, 1, 2, 3, 4);" in found
    found = ported(text, target="miopen-1").files[0].text
    assert re.search(r"PD-A08: cudnnSetTensor4dDescriptor: .*\n    cudnnSetTensor4dDescriptor\(x, f, CUDNN", found)


def test_casts_where_older_miopen_takes_pointers_to_memory_that_can_be_written():
    text = "cudnnBatchNormalizationForwardInference(h, mode, &one, &zero, x, xp, y, yp, d, s + 1, b, m, v, e);"
    assert "(h, mode, (void *)&one, (void *)&zero, x, xp, y, yp, d, (void *)(s + 1), (void *)b, " in line(text)


# The file of ours -------------------------------------------------------------------------------------------------


def test_the_header_does_not_depend_on_cudnns_version():
    text = """#include <stdio.h>
#if CUDNN_VERSION >= 7000
void f() { cudnnConvolutionForward(h, &one, x, xp, w, wp, c, a, ws, size, &zero, y, yp); }
#else
void f() { cudnnConvolutionForward(h, &one, x, xp, w, wp, c, 0, ws, size, &zero, y, yp); }
#endif
"""
    assert (
        ported(text).files[0].text.startswith('#include <stdio.h>\n#include "portadnn_miopen.h"\n/* portadnn: CUDNN_V')
    )


def test_the_header_is_included_where_it_is_needed():
    text = """#ifndef NET_H
#define NET_H
#include <stdio.h>
#ifdef USE_GPU
extern "C" {
#include "inner.h"
}
#endif
void f() {
#if defined(USE_GPU) && !defined(OLD)
#else
    cudnnConvolutionForward(h, &one, x, xp, w, wp, c, a, ws, size, &zero, y, yp);
#endif
}
#endif
"""
    found = ported(text).files[0].text
    wanted = """#include <stdio.h>
#if defined(USE_GPU) && !defined(OLD)
#else
#include "portadnn_miopen.h"
#endif
#ifdef USE_GPU
"""
    assert wanted in found
    assert found.count("portadnn_miopen.h") == 1


def test_miopen_1():
    lrn = "cudnnSetLRNDescriptor(l, 5, a, b, k);"
    assert line(lrn, target="miopen-1") == "miopenSetLRNDescriptor(l, miopenLRNCrossChannel, 5, a, b, k);"
    assert "came after MIOpen 1" in line("cudnnCreateDropoutDescriptor(&d);", target="miopen-1")
    softmax = "cudnnSoftmaxForward(h, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x, xp, &zero, y, yp);"
    assert line(softmax, target="miopen-1") == "miopenSoftmaxForward(h, &one, x, xp, &zero, y, yp);"
    assert "PD-A07" in line(softmax.replace("ACCURATE", "LOG"), target="miopen-1")


# To cuDNN 9 -------------------------------------------------------------------------------------------------------

NEWER = [
    (
        "cudnnSetFilter4dDescriptor_v4(w, t, CUDNN_TENSOR_NCHW, 1, 2, 3, 3);",
        "cudnnSetFilter4dDescriptor(w, t, CUDNN_TENSOR_NCHW, 1, 2, 3, 3);",
    ),
    (
        "cudnnSetConvolution2dDescriptor(c, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION);",
        "cudnnSetConvolution2dDescriptor(c, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);",
    ),
    (
        "cudnnGetConvolutionForwardAlgorithm(h, x, w, c, y, CUDNN_CONVOLUTION_FWD_SPECIFY_WORKSPACE_LIMIT, n, &a);",
        "portadnn_get_convolution_forward_algorithm(h, x, w, c, y, n, &a);",
    ),
    (
        "cudnnGetConvolutionBackwardDataAlgorithm(h, w, y, c, x, CUDNN_CONVOLUTION_BWD_DATA_NO_WORKSPACE, n, &a);",
        "portadnn_get_convolution_backward_data_algorithm(h, w, y, c, x, 0, &a);",
    ),
    ("cudnnSoftmaxForward(h, a, m, &one, x, p, &zero, y, q);", None),
    ("cudnnConvolutionForward(h, &one, x, p, w, q, c, a, s, n, &zero, y, r);", None),
]


@pytest.mark.parametrize(("before", "after"), NEWER)
def test_calls_that_cudnn_9_has_otherwise(before, after):
    assert line(before, target="cudnn-9") == (after or before)


def test_what_cudnn_9_lacks_is_told_with_what_to_write():
    found = line("cudnnGetRNNParamsSize(h, r, x, &n, t);", target="cudnn-9")
    assert found.startswith("/* portadnn: PD-F01: cudnnGetRNNParamsSize: ")
    assert "cudnnGetRNNWeightSpaceSize(h, r, &n);" in found
    chosen = "cudnnGetConvolutionForwardAlgorithm(h, x, w, c, y, preference, n, &a);"
    assert "depends on the preference" in line(chosen, target="cudnn-9")


def test_branches_for_older_versions_stay():
    text = """#include <cudnn.h>
void f(cudnnHandle_t h) {
#if CUDNN_MAJOR < 8
  cudnnGetConvolutionForwardAlgorithm(h, x, w, c, y, CUDNN_CONVOLUTION_FWD_PREFER_FASTEST, 0, &a);
#else
  cudnnGetConvolutionForwardAlgorithm_v7(h, x, w, c, y, 1, &n, &perf);
#endif
}
"""
    assert ported(text, target="cudnn-9").files[0].text == text


def test_numbers_that_python_does_not_read_are_left():
    number = "9" * 5000
    assert line(f"cudnnSetStream(h, {number});") == f"miopenSetStream(h, {number});"
