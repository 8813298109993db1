"""Trees of C++ sources and logs of cuDNN, of any size, for timing `portadnn check`; the same seed gives the same bytes.

The mix is that of a large program which uses cuDNN in a corner: one file of twelve names it; the others are classes,
templates and tables without it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

LINES = 500  # of a file, about
SHARE = 12  # one file of so many names cuDNN
FOLDERS = 40  # files of a folder

_WORDS = (
    *("buffer", "queue", "matrix", "vector", "index", "state", "config", "options", "layer", "shape", "stride"),
    *("value", "count", "offset", "width", "height", "batch", "channel", "weight", "gradient", "cache", "entry"),
)

_HEADER = """#pragma once
#include <cstdio>
#include <cstdlib>
#include <cudnn.h>

#define CHECK_CUDNN(call)                                                        \\
  do {                                                                           \\
    cudnnStatus_t status_ = (call);                                              \\
    if (status_ != CUDNN_STATUS_SUCCESS) {                                       \\
      std::fprintf(stderr, "%s:%d: %s\\n", __FILE__, __LINE__,                    \\
                   cudnnGetErrorString(status_));                                \\
      std::exit(1);                                                              \\
    }                                                                            \\
  } while (0)

template <typename T> struct DataType;
template <> struct DataType<float> { static const cudnnDataType_t type = CUDNN_DATA_FLOAT; };
template <> struct DataType<double> { static const cudnnDataType_t type = CUDNN_DATA_DOUBLE; };

inline void setTensor(cudnnTensorDescriptor_t desc, int n, int c, int h, int w) {
  CHECK_CUDNN(cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, h, w));
}
"""

_CONVOLUTION = """
class Convolution{n} {{
 public:
  Convolution{n}(cudnnHandle_t handle, int batch, int channels, int size) : handle_(handle), batch_(batch) {{
    CHECK_CUDNN(cudnnCreateTensorDescriptor(&x_));
    CHECK_CUDNN(cudnnCreateTensorDescriptor(&y_));
    CHECK_CUDNN(cudnnCreateFilterDescriptor(&w_));
    CHECK_CUDNN(cudnnCreateConvolutionDescriptor(&conv_));
    setTensor(x_, batch, channels, size, size);
    setTensor(y_, batch, {filters}, size, size);
    CHECK_CUDNN(cudnnSetFilter4dDescriptor(w_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, {filters}, channels, 3, 3));
    CHECK_CUDNN(cudnnSetConvolution2dDescriptor(conv_, {pad}, {pad}, 1, 1, 1, 1, CUDNN_{mode}, CUDNN_DATA_FLOAT));
#if CUDNN_VERSION >= 8000
    int returned = 0;
    cudnnConvolutionFwdAlgoPerf_t perf;
    CHECK_CUDNN(cudnnGetConvolutionForwardAlgorithm_v7(handle_, x_, w_, conv_, y_, 1, &returned, &perf));
    algo_ = perf.algo;
#else
    CHECK_CUDNN(cudnnGetConvolutionForwardAlgorithm(handle_, x_, w_, conv_, y_,
                                                    CUDNN_CONVOLUTION_FWD_PREFER_FASTEST, 0, &algo_));
#endif
    CHECK_CUDNN(cudnnGetConvolutionForwardWorkspaceSize(handle_, x_, w_, conv_, y_, algo_, &size_));
    cudaMalloc(&workspace_, size_);
  }}

  void forward(const float* x, const float* w, const float* bias, float* y) {{
    const float one = 1.0f, zero = {beta};
    CHECK_CUDNN(cudnnConvolutionForward(handle_, &one, x_, x, w_, w, conv_, algo_, workspace_, size_, &zero, y_, y));
    if (bias != nullptr) {{
      CHECK_CUDNN(cudnnAddTensor(handle_, &one, y_, bias, &one, y_, y));
    }}
  }}

  ~Convolution{n}() {{
    cudaFree(workspace_);
    cudnnDestroyTensorDescriptor(x_);
    cudnnDestroyTensorDescriptor(y_);
    cudnnDestroyFilterDescriptor(w_);
    cudnnDestroyConvolutionDescriptor(conv_);
  }}

 private:
  cudnnHandle_t handle_;
  cudnnTensorDescriptor_t x_, y_;
  cudnnFilterDescriptor_t w_;
  cudnnConvolutionDescriptor_t conv_;
  cudnnConvolutionFwdAlgo_t algo_;
  void* workspace_ = nullptr;
  size_t size_ = 0;
  int batch_;
}};
"""

_POOLING = """
void pool{n}(cudnnHandle_t handle, cudnnTensorDescriptor_t x, const float* data,
             cudnnTensorDescriptor_t y, float* out) {{
  cudnnPoolingDescriptor_t pooling;
  CHECK_CUDNN(cudnnCreatePoolingDescriptor(&pooling));
  CHECK_CUDNN(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_{pooling}, CUDNN_NOT_PROPAGATE_NAN,
                                          {window}, {window}, 0, 0, {window}, {window}));
  for (int step = 0; step < {steps}; ++step) {{
    const float alpha = 1.0f, beta = 0.0f;
    CHECK_CUDNN(cudnnPoolingForward(handle, pooling, &alpha, x, data, &beta, y, out + step));
  }}
  CHECK_CUDNN(cudnnDestroyPoolingDescriptor(pooling));
}}

void activate{n}(cudnnHandle_t handle, cudnnTensorDescriptor_t x, float* data, bool hyperbolic) {{
  cudnnActivationDescriptor_t activation;
  CHECK_CUDNN(cudnnCreateActivationDescriptor(&activation));
  if (hyperbolic) {{
    CHECK_CUDNN(cudnnSetActivationDescriptor(activation, CUDNN_ACTIVATION_TANH, CUDNN_PROPAGATE_NAN, 0.0));
  }} else {{
    CHECK_CUDNN(cudnnSetActivationDescriptor(activation, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0.0));
  }}
  const float alpha = 1.0f, beta = 0.0f;
  CHECK_CUDNN(cudnnActivationForward(handle, activation, &alpha, x, data, &beta, x, data));
  CHECK_CUDNN(cudnnDestroyActivationDescriptor(activation));
}}
"""

_PLAIN = """
template <typename {T}>
class {name} {{
 public:
  explicit {name}(std::size_t {a}, {T} {b} = {T}{{}}) : {a}_({a}), {b}_({b}) {{}}

  // Returns the {a} after {b}, or nothing where there is none.
  {T} {c}({T} {b}, const std::vector<{T}>& {d}) const {{
    {T} result = {b};
    for (std::size_t i = 0; i < {d}.size(); ++i) {{
      if ({d}[i] > {b}_ && i % {k} != 0) {{
        result += {d}[i] * static_cast<{T}>({a}_ - i);
      }} else {{
        result = std::max(result, {d}[i]);
      }}
    }}
    return result;
  }}

  void reset() {{
    {a}_ = 0;
    {b}_ = {T}{{}};
  }}

 private:
  std::size_t {a}_;
  {T} {b}_;
}};
"""

_FUNCTION = """
static int {name}(int {a}, int {b}, const int* {c}) {{
  switch ({a} % 4) {{
    case 0:
      return {c}[{b}] + {k};
    case 1:
      {b} += {c}[0];
      break;
    default:
      while ({b} > {k}) {{
        {b} -= {a} + 1;
      }}
  }}
  return {b};
}}
"""


def _plain(random_: random.Random, number: int) -> str:
    a, b, c, d = random_.sample(_WORDS, 4)
    name = f"{a.title()}{b.title()}{number}"
    form = _PLAIN if random_.random() < 0.5 else _FUNCTION
    return form.format(T="Value", name=name, a=a, b=b, c=c, d=d, k=random_.randint(2, 99))


def _named(random_: random.Random, number: int) -> str:
    if random_.random() < 0.4:
        return _CONVOLUTION.format(
            n=number,
            filters=random_.choice((16, 32, 64)),
            pad=random_.choice((0, 1)),
            mode=random_.choice(("CROSS_CORRELATION", "CONVOLUTION")),
            beta=random_.choice(("0.0f", "1.0f")),
        )
    return _POOLING.format(
        n=number,
        pooling=random_.choice(("MAX", "AVERAGE_COUNT_INCLUDE_PADDING")),
        window=random_.choice((2, 3)),
        steps=random_.randint(2, 9),
    )


def source(number: int, seed: int = 1) -> str:
    """Return a source file of about :data:`LINES` lines."""
    random_ = random.Random(f"{seed}:{number}")
    named = number % SHARE == 0
    parts = ['#include "common.h"\n'] if named else ["#include <algorithm>\n#include <vector>\n"]
    lines, block = 2, 0
    while lines < LINES:
        block += 1
        own = number * 1000 + block
        parts.append(_named(random_, own) if named and block % 3 == 0 else _plain(random_, own))
        lines += parts[-1].count("\n")
    return "".join(parts)


def write_tree(folder: Path, lines: int, seed: int = 1) -> int:
    """Write a tree of about so many lines, and return how many it has."""
    folder.mkdir(parents=True)
    (folder / "common.h").write_text(_HEADER)
    written, number = _HEADER.count("\n"), 0
    while written < lines:
        place = folder / f"part{number // FOLDERS}"
        place.mkdir(exist_ok=True)
        text = source(number, seed)
        (place / f"file{number}.{'cu' if number % SHARE == 0 else 'cpp'}").write_text(text)
        written += text.count("\n")
        number += 1
    return written


# Logs -----------------------------------------------------------------------------------------------------------

_END = """i! Time: 2026-01-01T00:00:{second:02d}.{micro:06d} (0d+0h+0m+{second}s since start)
i! Process=100; Thread=100; GPU=0; Handle=0x55d0c0de0000; StreamId=(nil) (defaultStream).


"""


def _tensor(name: str, dims: tuple[int, ...]) -> str:
    strides = [1]
    for size in reversed(dims[1:]):
        strides.insert(0, strides[0] * size)
    return f"""i!     {name}: type=cudnnTensorDescriptor_t:
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);
i!         nbDims: type=int; val={len(dims)};
i!         dimA: type=int; val=[{",".join(map(str, dims))}];
i!         strideA: type=int; val=[{",".join(map(str, strides))}];
"""


def _call(name: str, body: str, number: int) -> str:
    end = _END.format(second=number // 1000 % 60, micro=number % 1000000)
    return f"\nI! CuDNN (v8905) function {name}() called:\n{body}{end}"


def _scalar(name: str, value: str) -> str:
    return f"i!     {name}: type=CUDNN_DATA_FLOAT; val={value};\n"


def _step(random_: random.Random, number: int) -> Iterator[str]:
    """Yield the calls of one layer of one step of training, as cuDNN 8 logs them."""
    n, c, h = random_.choice((16, 32)), random_.choice((8, 16, 64)), random_.choice((14, 28, 56))
    x = _tensor("xDesc", (n, c, h, h))
    y = _tensor("yDesc", (n, c, h, h))
    pointer = f"location=dev; addr=0x7f{random_.getrandbits(40):010x};"
    handle = "i!     handle: type=cudnnHandle_t; streamId=(nil) (defaultStream);\n"
    mode = random_.choice(("CUDNN_ACTIVATION_RELU (1)", "CUDNN_ACTIVATION_TANH (2)"))
    yield _call("cudnnCreateTensorDescriptor", "", number)
    activation = (
        "i!     activationDesc: type=cudnnActivationDescriptor_t:\n"
        f"i!         mode: type=cudnnActivationMode_t; val={mode};\n"
        "i!         reluNanOpt: type=cudnnNanPropagation_t; val=CUDNN_NOT_PROPAGATE_NAN (0);\n"
        "i!         coef: type=double; val=0.000000;\n"
    )
    data = f"i!     xData: {pointer}\ni!     yData: {pointer}\n"
    scalars = _scalar("alpha", "1.000000") + _scalar("beta", "0.000000")
    yield _call("cudnnActivationForward", handle + activation + scalars + x + y + data, number + 1)
    pooling = (
        "i!     poolingDesc: type=cudnnPoolingDescriptor_t:\n"
        "i!         mode: type=cudnnPoolingMode_t; val=CUDNN_POOLING_MAX (0);\n"
        "i!         maxpoolingNanOpt: type=cudnnNanPropagation_t; val=CUDNN_PROPAGATE_NAN (1);\n"
        "i!         nbDims: type=int; val=2;\n"
        "i!         windowDimA: type=int; val=[2,2];\n"
        "i!         paddingA: type=int; val=[0,0];\n"
        "i!         strideA: type=int; val=[2,2];\n"
    )
    yield _call("cudnnPoolingForward", handle + pooling + scalars + x + y + data, number + 2)


def write_log(path: Path, size: int, seed: int = 1) -> int:
    """Write a log of about so many bytes, and return how many it has."""
    random_ = random.Random(seed)
    written = number = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while written < size:
            for text in _step(random_, number):
                written += file.write(text)
                number += 1
    return written
