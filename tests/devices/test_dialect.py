"""Every macro and vector operation of the kernel dialect, run on OpenCL and compiled by NVRTC."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16, finfo
from test_nvrtc import compile_ptx, quick_options, require_nvrtc
from where import open_handle

from portadnn_backends import kernel_text

PROBE = (Path(__file__).parent / "dialect_probe.cl").read_text(encoding="utf-8")
TYPES = {"FLOAT": np.float32, "DOUBLE": np.float64, "HALF": np.float16, "BFLOAT16": bfloat16}
TOLERANCES = {np.float32: 2e-6, np.float64: 1e-14, np.float16: 1e-3, bfloat16: 8e-3}
WIDTHS = (1, 2, 4, 8, 16)
# PoCL 3.0 aborts in programs of many kernels with vectors of more than 32 bytes on processors with AVX2
RUN = [(d, w) for d in TYPES for w in WIDTHS if w * (8 if d == "DOUBLE" else 4) <= 32]
ALIGNED = [(d, w) for d, w in RUN if 1 < w <= 16 // np.dtype(TYPES[d]).itemsize]  # whose loads and stores differ
BATCH = 8  # probes of one program
N = 128  # elements: two work-groups of four work-items at the greatest width


def vector(expression):
    """Return a probe that stores a vector computed from a and b."""
    return f"vreal v = {expression}; VSTORE(out, i, v);"


def lanes(expression):
    """Return a probe that stores scalars computed from p and q, one lane after the other."""
    return (
        "vreal va = a, vb = b; UNROLL for (int j = 0; j < VW; ++j) "
        f"{{ const real p = LANE(va, j), q = LANE(vb, j); STORE(out, i + j, {expression}); }}"
    )


# what the kernel says, and the same in NumPy: x in [0.1, 2], y of both signs, s = 0.75
VECTORS = {
    "copy": ("a", lambda x, y, s: x),
    "splat": ("VSPLAT(s)", lambda x, y, s: np.full_like(x, s)),
    "arithmetic": ("(a + b) * a - b / a", lambda x, y, s: (x + y) * x - y / x),
    "scalar right": ("((a + s) * s - (real)1) / (real)2", lambda x, y, s: ((x + s) * s - 1) / 2),
    "scalar left": ("s * (s + a) - (s - b)", lambda x, y, s: s * (s + x) - (s - y)),
    "scalar over": ("(real)1 / a", lambda x, y, s: 1 / x),
    "negate": ("-b", lambda x, y, s: -y),
    "fma": ("fma(a, b, VSPLAT(s))", lambda x, y, s: x * y + s),
    "exp": ("exp(b)", lambda x, y, s: np.exp(y)),
    "expm1": ("expm1(b)", lambda x, y, s: np.expm1(y)),
    "log": ("log(a)", lambda x, y, s: np.log(x)),
    "tanh": ("tanh(b)", lambda x, y, s: np.tanh(y)),
    "sqrt": ("sqrt(a)", lambda x, y, s: np.sqrt(x)),
    "fabs": ("fabs(b)", lambda x, y, s: np.abs(y)),
    "fmax": ("fmax(a, b)", lambda x, y, s: np.maximum(x, y)),
    "fmin": ("fmin(a, b)", lambda x, y, s: np.minimum(x, y)),
    "less": ("PICK(a < b, a, b * s)", lambda x, y, s: np.where(x < y, x, y * s)),
    "less or equal": ("PICK(a <= s, a, b)", lambda x, y, s: np.where(x <= s, x, y)),
    "greater": ("PICK(b > (real)0, a, -a)", lambda x, y, s: np.where(y > 0, x, -x)),
    "greater or equal": ("PICK(a >= b, a, b)", lambda x, y, s: np.where(x >= y, x, y)),
    "equal": ("PICK(a == b, a, VSPLAT(0))", lambda x, y, s: np.where(x == y, x, 0)),
    "not equal": ("PICK(a != b, a, VSPLAT(0))", lambda x, y, s: np.where(x != y, x, 0)),
    "infinity": ("PICK(b > (real)0, VSPLAT(INFINITY_OF(real)), a)", lambda x, y, s: np.where(y > 0, np.inf, x)),
    "nan": ("PICK(b > (real)0, VSPLAT(NAN_OF(real)), a)", lambda x, y, s: np.where(y > 0, np.nan, x)),
}
STATEMENTS = {
    "lane": (lanes("p - q"), lambda x, y, s: x - y),
    "pick": (lanes("PICK(p > q, p, q)"), lambda x, y, s: np.maximum(x, y)),
    "lowest": (lanes("LOWEST_STORED"), lambda x, y, s: np.full_like(x, finfo(x.dtype).min)),
    "local memory": (
        "UNROLL for (int j = 0; j < VW; ++j) STORE(out, i + j, read(shared, (3 - LID(0)) * VW + j));",
        lambda x, y, s: x.reshape(-1, 4, x.size // 8)[:, ::-1].reshape(-1),
    ),
    "blend": ("VBLEND(out, i, s, a, s);", lambda x, y, s: s * x + s),  # out holds ones before
    "blend without prior": ("VBLEND(out, i, s, a, (real)0);", lambda x, y, s: s * x),
    "scalar blend": (
        "UNROLL for (int j = 0; j < VW; ++j) BLEND(out, i + j, s, LOAD(x, i + j), s);",
        lambda x, y, s: s * x + s,
    ),
}
PROBES = {name: (vector(text), numpy) for name, (text, numpy) in VECTORS.items()} | STATEMENTS
MEMORY = ("copy", "lane", "blend", "blend without prior", "scalar blend")  # what alignment has a part in


def assemble(dialect, monkeypatch, defines):
    """Return the probe's source, put together as kernel files are."""
    read = kernel_text.read
    monkeypatch.setattr(kernel_text, "read", lambda file: PROBE if file == "shared/probe.cl" else read(file))
    kernel_text._expand.cache_clear()
    try:
        return kernel_text.assemble("shared/probe.cl", dialect, defines)
    finally:
        kernel_text._expand.cache_clear()


def all_probes(dialect, dtype, width, aligned, monkeypatch, names=tuple(PROBES)):
    """Return one source with a kernel for each of some probes, by number."""
    defines = {f"DTYPE_{dtype}": 1, "VW": width, **({"VECTOR_ALIGNED": 1} if aligned else {})}
    text = assemble(dialect, monkeypatch, {**defines, "PROBE": "HERE"})
    head, kernel = text.replace("#define PROBE HERE\n", "").split("KERNEL WG_SIZE(4, 1, 1) probe")
    kernels = [
        f"KERNEL WG_SIZE(4, 1, 1) probe{i}" + kernel.replace("PROBE\n", PROBES[name][0] + "\n")
        for i, name in enumerate(names)
    ]
    return head + "\n".join(kernels)


@pytest.fixture(scope="module")
def opencl():
    """Handles, by whether the compiler optimises: for one of the types."""
    with open_handle("opencl", optimised=True) as optimised, open_handle("opencl") as other:
        yield {True: optimised, False: other}


BETWEEN = [(d, w) for d, w in RUN if d != "FLOAT" and 1 < w < max(v for e, v in RUN if e == d)]
CASES = [
    pytest.param(*case, aligned, marks=[pytest.mark.long] * (case in BETWEEN))
    for aligned, table in ((False, RUN), (True, ALIGNED))
    for case in table
]


@pytest.mark.parametrize(("dtype", "width", "aligned"), CASES)
def test_opencl(dtype, width, aligned, opencl, monkeypatch):
    """Each operation gives NumPy's result; unaligned addresses are off by one element, aligned ones by 16 bytes."""
    import pyopencl as cl

    queue, store = opencl[dtype == "FLOAT"].get_stream(), TYPES[dtype]
    real = np.float64 if dtype == "DOUBLE" else np.float32
    skip = 16 // np.dtype(store).itemsize if aligned else 1
    groups, s = N // (4 * width), real(0.75)
    random = np.random.default_rng(2)
    x = random.uniform(0.1, 2, N).astype(store)
    y = (random.uniform(0.1, 2, N) * random.choice([-1, 1], N)).astype(store)
    y[::7] = x[::7]
    pad = np.zeros(skip, store)
    device_x, device_y = (cl.array.to_device(queue, np.concatenate([pad, v])) for v in (x, y))
    names = MEMORY if aligned else tuple(PROBES)
    for i, name in enumerate(names):
        if i % BATCH == 0:
            source = all_probes("opencl", dtype, width, aligned, monkeypatch, names[i : i + BATCH])
            program = opencl[dtype == "FLOAT"].device.compiler.build(source)
        numpy = PROBES[name][1]
        out = cl.array.to_device(queue, np.concatenate([pad, np.ones(N, store), np.full(16, 7, store)]))
        kernel = cl.Kernel(program, f"probe{i % BATCH}")
        offset = np.int64(skip)
        tensors = [v for array in (device_x, device_y, out) for v in (array.data, offset)]
        kernel(queue, (4 * groups,), (4,), *tensors, s, np.uint32(N))
        got = out.get()
        with np.errstate(all="ignore"):
            want = _expected(name, numpy, x, y, s, real, width, store)
        tolerance = TOLERANCES[store]
        got_numbers, want_numbers = got[skip : skip + N].astype(np.float64), want.astype(np.float64)
        np.testing.assert_allclose(got_numbers, want_numbers, rtol=tolerance, atol=tolerance, err_msg=name)
        assert (got[:skip] == 0).all() and (got[skip + N :] == 7).all(), f"{name} wrote elsewhere"


def _expected(name, numpy, x, y, s, real, width, store):
    if name == "lowest":
        return np.full(N, finfo(store).min)
    if name == "local memory":
        return x.reshape(-1, 4, width)[:, ::-1].reshape(-1)
    return numpy(x.astype(real), y.astype(real), s).astype(store)


@pytest.mark.xdist_group("nvrtc")
@pytest.mark.parametrize("dtype", TYPES)
def test_nvrtc(dtype, monkeypatch):
    """CUDA has the same operations under the same names."""
    require_nvrtc()
    for width in WIDTHS:
        for aligned in (False, True):
            names = MEMORY if aligned else tuple(PROBES)
            compile_ptx(all_probes("cuda", dtype, width, aligned, monkeypatch, names), "sm_80", quick_options())


def test_functions_are_the_dialects():
    """Its words for functions say more than OpenCL C's: that vectors of 64 bytes stay whole."""
    for folder in ("shared", "opencl"):
        for file in Path(str(files(f"portadnn_backends.kernels_{folder}"))).rglob("*"):
            if file.suffix in (".h", ".cl") and file.name not in ("dialect.h", "builtins.h"):
                text = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
                assert not re.search(r"__kernel|\b(static|inline|noinline)\b", text), file.name


def test_every_name_of_the_dialect_is_probed():
    """All headers define the same names, and the probe or a kernel uses each."""
    names = {}
    for dialect in ("cuda", "hip", "opencl"):
        text = kernel_text.read(f"{dialect}/dialect.h")
        text += kernel_text.read(f"{'opencl' if dialect == 'opencl' else 'cuda'}/common/vector.h")
        defined = re.findall(r"^#define (\w+)", text, re.M) + re.findall(r"^DEVICE [\w ]+?\**(\w+)\(", text, re.M)
        defined += re.findall(r"^typedef .*?(\w+);", text, re.M)
        names[dialect] = {n for n in defined if not n.lower().startswith("pd_") and n != "uint"}
    used = (
        "".join(map(kernel_text.read, kernel_text.kernel_files())) + PROBE + kernel_text.read("shared/common/types.h")
    )
    used += "".join(statement for statement, _ in PROBES.values())
    both = names["opencl"] & names["cuda"]
    untested = {name for name in both if not re.search(rf"\b{name}\b", used)}
    assert untested <= {"TENSOR_RESTRICT", "BIND_RESTRICT"}, "add these to the probe"
    assert not {n for n in names["opencl"] ^ names["cuda"] if n.isupper()}
    assert names["cuda"] ^ names["hip"] == {"__shfl_xor_sync"}


ATTENTION = "scores have six kinds of operands, each there or not; one text for rows and one for keys"
OF_TARGETS = "each target and type has an instruction of its own"
OF_TYPES = "what a type, a width and a processor have of their own"
FUSED = "one main loop for convolutions with packed or direct filters, split sums, prologues and epilogues"
SIZES = "a transform of each length has its own steps"
STEPS = "kernels of several operations or steps in a text: to be split"
OPTIMISERS = "Adam, AMSGrad, AdamW and the transformers' one differ by a line each"
MOST_CONDITIONALS = 6  # of a text; docs/kernels.md has what stands in their place
EXCEPTIONS = {  # texts with more, how many, and why
    "cuda/attention/backward_mma.cu": (14, ATTENTION),
    "cuda/attention/backward_wgmma.cu": (12, ATTENTION),
    "cuda/attention/few_mma.cu": (8, ATTENTION),
    "cuda/conv/mma.cu": (24, FUSED),
    "opencl/attention/backward_cpu.cl": (11, ATTENTION),
    "opencl/common/vector.h": (13, OF_TYPES),
    "opencl/conv/cpu.cl": (16, FUSED),
    "opencl/conv/cpu_store.h": (8, FUSED),
    "opencl/gemm/gemm_cpu.cl": (8, FUSED),
    "opencl/grid/sample_cpu.cl": (16, STEPS),
    "opencl/pool/planes_cpu.cl": (18, STEPS),
    "opencl/tensor/dropout_cpu.cl": (16, STEPS),
    "opencl/tensor/reduce_tensor_cpu.cl": (11, STEPS),
    "shared/attention/attention.h": (30, ATTENTION),
    "shared/attention/backward.cl": (8, ATTENTION),
    "shared/attention/multi_head.cl": (17, STEPS),
    "shared/attention/rows.cl": (7, ATTENTION),
    "shared/common/mma_builtins.h": (10, OF_TARGETS),
    "shared/conv/direct.cl": (9, FUSED),
    "shared/conv/gemm.cl": (22, FUSED),
    "shared/conv/load_image.h": (13, FUSED),
    "shared/conv/store.h": (8, FUSED),
    "shared/conv/sums.h": (8, FUSED),
    "shared/fft/fft.h": (15, SIZES),
    "shared/fft/tiles.cl": (9, SIZES),
    "shared/fusion/fused_numbers.h": (15, OF_TYPES),
    "shared/items/adam.cl": (11, OPTIMISERS),
    "shared/pool/pooling.cl": (15, STEPS),
    "shared/pool/tiles.cl": (13, STEPS),
    "shared/rnn/backward_arguments.h": (8, STEPS),
    "shared/rnn/backward_unit.h": (9, STEPS),
    "shared/rnn/cell.h": (11, STEPS),
    "shared/rnn/forward_unit.h": (7, STEPS),
    "shared/softmax/ctc_loss.cl": (21, STEPS),
    "shared/tensor/bias_gradient.cl": (16, STEPS),
    "shared/tensor/dropout.cl": (15, STEPS),
    "shared/tensor/reduce_tensor.cl": (13, STEPS),
    "shared/tensor/resample.cl": (19, STEPS),
    "shared/winograd/convolve.cl": (10, FUSED),
}


def texts():
    """Return every kernel text by its path below the kernel folders."""
    roots = {folder: Path(str(files(f"portadnn_backends.kernels_{folder}"))) for folder in kernel_text.FOLDERS}
    return {
        f"{folder}/{file.relative_to(root).as_posix()}": file.read_text(encoding="utf-8")
        for folder, root in roots.items()
        for file in root.rglob("*")
        if file.suffix in (".cl", ".cu", ".h")
    }


def test_texts_have_few_conditionals():
    """What differs between kernels is in parameter lists and names from the host, or in another file."""
    found = {
        name: len(re.findall(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b", text, re.M)) for name, text in texts().items()
    }
    most = {name: EXCEPTIONS.get(name, (MOST_CONDITIONALS, ""))[0] for name in found}
    assert not {name: count for name, count in found.items() if count > most[name]}, "split these"
    assert all(reason for _, reason in EXCEPTIONS.values())
    assert not {name for name in EXCEPTIONS if found.get(name, 0) <= MOST_CONDITIONALS}, "no exceptions any more"


def test_folders_are_small():
    """A prefix of file names is a folder that nobody made."""
    folders = {}
    for name in texts():
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    assert not {folder: len(names) for folder, names in folders.items() if len(names) > 25}


def test_every_macro_is_documented():
    """The table of the dialect names all that its headers define."""
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")
    table = page[page.index("## The dialect") : page.index("## What the host says")]
    known = set(re.findall(r"\w+", " ".join(re.findall(r"^\| (`.*?) \|", table, re.M))))
    headers = ["shared/common/types.h"]
    for name in ("dialect.h", *(f"common/{name}.h" for name in ("vector", "counters", "lanes", "atomic"))):
        headers += [f"cuda/{name}", f"opencl/{name}"]
    headers += ["hip/dialect.h", "hip/common/atomic.h"]
    defined = set()
    for header in headers:
        text = re.sub(r"__attribute__\(\(\w+\)\)", "", kernel_text.read(header))
        defined |= set(re.findall(r"^ *#define (\w+)", text, re.M) + re.findall(r"^typedef [^;]*?(\w+);", text, re.M))
        defined |= set(re.findall(r"^DEVICE [\w ]+?\**(\w+)\(", text, re.M))
    own = {name for name in defined if name.lower().startswith("pd_")} - {"PD_CAT", "PD_CUDA", "PD_HIP", "PD_OPENCL"}
    storage = {
        "__shfl_xor_sync",
        "f16_t",
        "bf16_t",
        "f16_load",
        "f16_store",
        "f16_to_float",
        "f16_from_float",
    }  # of others, LOAD and STORE
    opencl = {"uint", "as_float", "as_uint", "fabs", "fma", "fmax", "fmin"}  # OpenCL C's own names
    listed = {name for name in known if re.fullmatch(r"[A-Z][A-Z_]+", name)}
    assert not listed - defined - {"PARAMETER_LIST", "BIND_PARAMETERS", "VECTOR_ALIGNED"}, "these are gone"
    missing = defined - own - storage - opencl - known
    assert not missing, f"add {sorted(missing)} to the table"


def test_every_kernel_waits_first():
    """A launch may begin before the last one has ended (backends/cuda/launch.py): nothing is done before the wait."""
    import re

    for file in kernel_text.kernel_files():
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", kernel_text.read(file), flags=re.S)
        for kernel in re.finditer(r"^(?:KERNEL|extern \"C\" __global__)\b.*?^}", text, re.M | re.S):
            if file.startswith("opencl/"):
                continue
            # each variant of its parameters begins on a line of its own, or behind KERNEL
            heads = re.findall(r"^(?:(?:KERNEL|extern) .*\n *|KERNEL .*|)\b[a-z]\w+\([^;{]*\{\n(.*)", kernel[0], re.M)
            assert heads, f"{file}: {kernel[0][:200]}"
            assert {head.strip() for head in heads} == {"GRID_WAIT();"}, f"{file}: {kernel[0][:200]}"
