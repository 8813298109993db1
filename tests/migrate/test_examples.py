"""Programs that once were passed over or accused without reason, as people write them: each line with what is told.

Macros that take calls apart are in test_macro_expansion, graphs in test_frontend_graphs, copies of headers in
test_copies, logs in test_log_problems, what no call was understood of in test_cli_check.
"""

from __future__ import annotations

import re

import pytest

from portadnn.migrate import Config, check_text

BIAS = "cudnnHandle_t h, cudnnTensorDescriptor_t b, const float *bias, cudnnTensorDescriptor_t y, float *out"
NETWORK = "cudnnHandle_t h, cudnnTensorDescriptor_t d, float *x"
EXAMPLES = {
    "a scalar that a function gives": f"""
const float *kOne() {{ static const float one = 1.0f; return &one; }}
void add({BIAS}) {{
  cudnnAddTensor(h, kOne(), b, bias, kOne(), y, out);  // V07
}}""",
    "a constant of a class": f"""
struct Consts {{ static const float One; }};
const float Consts::One = 1;
void add({BIAS}) {{
  cudnnAddTensor(h, &Consts::One, b, bias, &Consts::One, y, out);  // V07
}}""",
    "a constant of a template": f"""
template <typename T> struct Scalar {{ static T one; }};
template <typename T> T Scalar<T>::one = T(1);
void add({BIAS}) {{
  cudnnAddTensor(h, &Scalar<float>::one, b, bias, &Scalar<float>::one, y, out);  // V07
}}""",
    "a scalar by its type": f"""
const void *oneOf(cudnnDataType_t t) {{
  static const float f = 1.f;
  static const double d = 1.0;
  return t == CUDNN_DATA_DOUBLE ? (const void *)&d : (const void *)&f;
}}
void add({BIAS}) {{
  cudnnAddTensor(h, oneOf(CUDNN_DATA_FLOAT), b, bias, oneOf(CUDNN_DATA_FLOAT), y, out);  // V07
}}""",
    "a mode out of more than three": """
cudnnActivationMode_t mode(int kind) {
  switch (kind) {
    case 0: return CUDNN_ACTIVATION_SIGMOID;
    case 1: return CUDNN_ACTIVATION_RELU;
    case 2: return CUDNN_ACTIVATION_TANH;
    case 3: return CUDNN_ACTIVATION_IDENTITY;
    default: throw kind;
  }
}
void set(cudnnActivationDescriptor_t a, int kind) {
  cudnnSetActivationDescriptor(a, mode(kind), CUDNN_NOT_PROPAGATE_NAN, 0.0);  // V10
}""",
    "pooling as methods, with owners in members": """
struct Deleter { void operator()(cudnnPoolingStruct *p) const { cudnnDestroyPoolingDescriptor(p); } };
std::unique_ptr<cudnnPoolingStruct, Deleter> make() {
  cudnnPoolingDescriptor_t p;
  cudnnCreatePoolingDescriptor(&p);
  cudnnSetPooling2dDescriptor(p, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 2, 2, 0, 0, 2, 2);
  return std::unique_ptr<cudnnPoolingStruct, Deleter>(p);
}
class Pool {
  std::unique_ptr<cudnnPoolingStruct, Deleter> pool_ = make();
  cudnnTensorDescriptor_t x_, y_;
 public:
  void forward(cudnnHandle_t h, const float *x, float *y) {
    float one = 1, zero = 0;
    cudnnPoolingForward(h, pool_.get(), &one, x_, x, &zero, y_, y);
  }
  void backward(cudnnHandle_t h, const float *x, float *y, const float *dy, float *dx) {
    float one = 1, zero = 0;
    cudnnPoolingBackward(h, pool_.get(), &one, y_, y, y_, dy, x_, x, &zero, x_, dx);  // S17
  }
};""",
    "a descriptor of a factory, shared": """
std::shared_ptr<cudnnTensorStruct> make() {
  cudnnTensorDescriptor_t t;
  cudnnCreateTensorDescriptor(&t);
  cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_DOUBLE, 1, 3, 8, 8);
  return std::shared_ptr<cudnnTensorStruct>(t, [](cudnnTensorStruct *p) { cudnnDestroyTensorDescriptor(p); });
}
void run(cudnnHandle_t h, cudnnActivationDescriptor_t a, const double *x, double *y) {
  auto t = make();
  double one = 1, zero = 0;
  cudnnActivationForward(h, a, &one, t.get(), x, &zero, t.get(), y);  // V06
}""",
    "a wrapper that converts, in two layouts": """
struct Tensor {
  cudnnTensorDescriptor_t d;
  Tensor() { cudnnCreateTensorDescriptor(&d); }
  ~Tensor() { cudnnDestroyTensorDescriptor(d); }
  operator cudnnTensorDescriptor_t() const { return d; }
};
struct Filter {
  cudnnFilterDescriptor_t d;
  Filter() { cudnnCreateFilterDescriptor(&d); }
  ~Filter() { cudnnDestroyFilterDescriptor(d); }
};
void run(cudnnHandle_t h, cudnnConvolutionDescriptor_t c, cudnnConvolutionFwdAlgo_t algo, float *x, float *w,
         float *y) {
  Tensor in, out;
  Filter filter;
  cudnnSetTensor4dDescriptor(in, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 1, 8, 8, 8);  // A08
  cudnnSetTensor4dDescriptor(out, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 1, 8, 8, 8);  // A08
  cudnnSetFilter4dDescriptor(filter.d, CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 8, 8, 3, 3);
  float one = 1, zero = 0;
  cudnnConvolutionForward(h, &one, in, x, filter.d, w, c, algo, nullptr, 0, &zero, out, y);  // V39
}""",
    "no alarm for what a rewrite answers": f"""
void run({NETWORK}, cudnnActivationDescriptor_t a) {{
  float one = 1, zero = 0;
  cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_IDENTITY, CUDNN_NOT_PROPAGATE_NAN, 0.0);
  cudnnActivationForward(h, a, &one, d, x, &zero, d, x);
  cudnnSoftmaxForward(h, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_CHANNEL, &one, d, x, &zero, d, x);
}}""",
    "a wrapper library without an order": """
hipdnnStatus_t hipdnnPoolingBackward(
    cudnnHandle_t h, cudnnPoolingDescriptor_t p, const void *alpha, cudnnTensorDescriptor_t y, const void *out,
    cudnnTensorDescriptor_t dy, const void *dout, cudnnTensorDescriptor_t x, const void *in, const void *beta,
    cudnnTensorDescriptor_t dx, void *din) {
  return convert(cudnnPoolingBackward(h, p, alpha, y, out, dy, dout, x, in, beta, dx, din));
}""",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_told_of_each_line(name: str) -> None:
    text = "#include <cudnn.h>\n#include <memory>" + EXAMPLES[name]
    wanted = {
        (number, rule)
        for number, line in enumerate(text.split("\n"), 1)
        if (mark := re.search(r"// ([A-Z]\d\d)$", line))
        for rule in [mark[1]]
    }
    found = {(f.place.line, f.rule) for f in check_text(text, "a.cpp", Config(ignore=("S01", "S09", "S14"))).alarms}
    assert found == wanted


def test_a_rule_once_for_each_place_of_a_line() -> None:
    text = f"""
#define MODE(kind) ((kind) ? CUDNN_ACTIVATION_TANH : CUDNN_ACTIVATION_SIGMOID)
void set(cudnnActivationDescriptor_t a, cudnnActivationDescriptor_t b, int kind) {{
  cudnnSetActivationDescriptor(a, MODE(kind), CUDNN_NOT_PROPAGATE_NAN, 0.0);
  cudnnSetActivationDescriptor(a, MODE(kind), CUDNN_NOT_PROPAGATE_NAN, 0.0);
}}
void all({NETWORK}) {{
  cudnnActivationDescriptor_t a, b;
  for (int kind = 0; kind < 2; ++kind) set(a, b, kind);
  set(a, b, 1);
}}"""
    places = [(f.place.line, f.place.column, f.rule) for f in check_text(text, "a.cpp").alarms]
    assert len(places) == len(set(places)) == 2
