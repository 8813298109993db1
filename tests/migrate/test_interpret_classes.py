"""Objects: constructors, methods in a program's order, members, smart pointers, helper functions."""

from __future__ import annotations

from following import call, calls, follow

TENSOR = """
#include <cudnn.h>
class Tensor {
 public:
  Tensor(int n, int c) : n_(n) {
    cudnnCreateTensorDescriptor(&desc_);
    cudnnSetTensor4dDescriptor(desc_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n_, c, 1, 1);
  }
  ~Tensor() { cudnnDestroyTensorDescriptor(desc_); }
  cudnnTensorDescriptor_t get() const { return desc_; }
  operator cudnnTensorDescriptor_t() const { return desc_; }
 private:
  int n_ = 1;
  cudnnTensorDescriptor_t desc_;
};
"""
SOFTMAX = "cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, &alpha, {0}, x, &beta, {1}, y);"
LAYER = """
#include <cudnn.h>
class Layer {
 public:
  void backward(float* dx) { cudnnConvolutionBackwardBias(handle_, &one, dy_, d, &zero, db_, dx); }
  void forward(float* y) { cudnnAddTensor(handle_, &one, b_, b, &zero, y_, y); }
  void Setup(int n) {
    cudnnSetTensor4dDescriptor(y_, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, n, 2, 3, 4);
    helper();
  }
  Layer(cudnnHandle_t handle);
  ~Layer() { cudnnDestroyTensorDescriptor(y_); }
 private:
  void helper() { cudnnCreateTensorDescriptor(&b_); }
  cudnnHandle_t handle_;
  cudnnTensorDescriptor_t y_, b_, dy_, db_;
};
"""
CONSTRUCTOR = "Layer::Layer(cudnnHandle_t handle) : handle_(handle) { cudnnCreateTensorDescriptor(&y_); }\n"


def user(body: str) -> str:
    return TENSOR_USER.replace("BODY", body)


def functions(*sources: str) -> list[str]:
    return [seen.event.function.removeprefix("cudnn") for seen in follow(*sources)]


def test_objects_keep_what_their_constructors_set() -> None:
    for written in ("t.get()", "t"):
        use = SOFTMAX.format(written, "u.get()")
        seen = call("cudnnSoftmaxForward", TENSOR, user(f"Tensor t(5, 6); Tensor u(7, 8); {use}"))
        assert [seen.constant(name) for name in ("xDesc.n", "xDesc.c", "yDesc.n")] == [5, 6, 7]
        assert seen.constant("alpha") == 1.0


TENSOR_USER = """
class Tensor;
const float alpha = 1, beta = 0;
void use(cudnnHandle_t handle, float* x, float* y) { BODY }
"""


def test_pointers_to_objects() -> None:
    for body in (
        "Tensor* t = new Tensor(5, 6); USE delete t;",
        "auto t = std::make_unique<Tensor>(5, 6); USE",
        "std::shared_ptr<Tensor> t(new Tensor(5, 6)); USE",
        "Tensor u(5, 6); Tensor* t = &u; USE",
    ):
        use = SOFTMAX.format("t->get()", "(*t).get()")
        seen = call("cudnnSoftmaxForward", TENSOR, user(body.replace("USE", use)))
        assert [seen.constant(name) for name in ("xDesc.n", "yDesc.c")] == [5, 6], body
        assert seen.thing("xDesc") == seen.thing("yDesc")


def test_destructors_run_where_objects_end() -> None:
    assert functions(TENSOR, user("Tensor t(1, 2); " + SOFTMAX.format("t", "t"))) == [
        "CreateTensorDescriptor", "SetTensor4dDescriptor", "SoftmaxForward", "DestroyTensorDescriptor"]  # fmt: skip
    made = "Tensor make() { Tensor t(1, 2); return t; }\n"
    kept = functions(TENSOR + made, user("auto t = make(); " + SOFTMAX.format("t.get()", "t.get()")))
    assert (
        kept.index("SoftmaxForward") < kept.index("DestroyTensorDescriptor")
        if "DestroyTensorDescriptor" in kept
        else True
    )


def test_methods_are_followed_in_the_order_of_a_programs_use() -> None:
    assert functions(LAYER, CONSTRUCTOR) == [
        "CreateTensorDescriptor", "SetTensor4dDescriptor", "CreateTensorDescriptor", "AddTensor",
        "ConvolutionBackwardBias", "DestroyTensorDescriptor"]  # fmt: skip


def test_what_a_constructor_did_is_certain_and_what_a_method_did_is_not() -> None:
    seen = call("cudnnAddTensor", LAYER, CONSTRUCTOR)
    assert seen.constant("cDesc.format") == "CUDNN_TENSOR_NHWC"
    assert list(seen.earlier("cudnnCreateTensorDescriptor").values()) == [True, False]
    assert list(seen.earlier("cudnnSetTensor4dDescriptor").values()) == [False]
    assert (seen.event.within, seen.event.thread) == ("Layer::forward", "Layer::forward")


def test_an_object_of_the_program_decides_the_order_itself() -> None:
    main = (
        "int main() { cudnnHandle_t h; cudnnCreate(&h); Layer layer(h); layer.forward(y); layer.Setup(1); return 0; }\n"
    )
    assert functions(LAYER, CONSTRUCTOR, main)[:5] == [
        "Create", "CreateTensorDescriptor", "AddTensor", "SetTensor4dDescriptor", "CreateTensorDescriptor"]  # fmt: skip
    create, _ = calls("cudnnCreateTensorDescriptor", LAYER, CONSTRUCTOR, main)[:2]
    assert create.event.thread == "main"


def test_members_that_are_objects_have_their_own_state() -> None:
    source = """
    class Net {
      Tensor in_, out_;
      cudnnHandle_t handle_;
     public:
      Net() : in_(1, 2), out_(3, 4) {}
      void run(float* x, float* y) { float alpha = 1, beta = 0; cudnnHandle_t handle = handle_; SOFTMAX }
    };
    """
    seen = call("cudnnSoftmaxForward", TENSOR + source.replace("SOFTMAX", SOFTMAX.format("in_", "out_.get()")))
    assert [seen.constant(name) for name in ("xDesc.n", "xDesc.c", "yDesc.n", "yDesc.c")] == [1, 2, 3, 4]
    assert seen.thing("handle").id == "this->handle_"


def test_bases_come_first_and_their_members_are_the_objects() -> None:
    source = """
    #include <cudnn.h>
    struct Base { cudnnTensorDescriptor_t x; Base(int n) { cudnnCreateTensorDescriptor(&x); size = n; } int size; };
    struct Derived : public Base {
      Derived() : Base(12) {}
      void setup() { cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, size, 1, 1, 1); }
    };
    """
    seen = call("cudnnSetTensor4dDescriptor", source)
    assert seen.constant("n") == 12
    assert seen.thing("tensorDesc").created is not None


def test_a_descriptor_made_when_first_needed_is_one() -> None:
    source = """
    #include <cudnn.h>
    class Lazy {
      cudnnTensorDescriptor_t desc_ = nullptr;
     public:
      cudnnTensorDescriptor_t desc() { if (desc_ == nullptr) { cudnnCreateTensorDescriptor(&desc_); } return desc_; }
    };
    void run(Lazy& lazy) { cudnnSetTensor4dDescriptor(lazy.desc(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, 1);
      cudnnDestroyTensorDescriptor(lazy.desc()); }
    """
    set_, destroy = call("cudnnSetTensor4dDescriptor", source), call("cudnnDestroyTensorDescriptor", source)
    assert set_.thing("tensorDesc").id == destroy.thing("tensorDesc").id
    assert destroy.thing("tensorDesc").set_by == (set_.event.number,)


def test_helpers_get_the_callers_variables() -> None:
    source = """
    #include <cudnn.h>
    #define CHECK(x) if ((x) != CUDNN_STATUS_SUCCESS) exit(1)
    static void set(cudnnTensorDescriptor_t d, int n, cudnnDataType_t type = CUDNN_DATA_HALF) {
      CHECK(cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW, type, n, 1, 1, 1));
    }
    void make(cudnnTensorDescriptor_t* d) { CHECK(cudnnCreateTensorDescriptor(d)); set(*d, 33); }
    void program() { cudnnTensorDescriptor_t d; make(&d); size_t bytes; cudnnGetTensorSizeInBytes(d, &bytes); }
    """
    set_, ask = call("cudnnSetTensor4dDescriptor", source), call("cudnnGetTensorSizeInBytes", source)
    assert [set_.constant(name) for name in ("n", "dataType")] == [33, "CUDNN_DATA_HALF"]
    assert [place.line for place in set_.event.through] == [8, 7]
    assert (set_.event.within, set_.event.status) == ("set", "checked")
    assert ask.constant("tensorDesc.n") == 33
    assert list(ask.earlier("cudnnSetTensor4dDescriptor").values()) == [True]


def test_a_files_functions_share_its_variables() -> None:
    source = """
    #include <cudnn.h>
    static cudnnTensorDescriptor_t x;
    void forward() { size_t bytes; cudnnGetTensorSizeInBytes(x, &bytes); }
    void init() { cudnnCreateTensorDescriptor(&x);
      cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, 1, 1, 1); }
    """
    seen = call("cudnnGetTensorSizeInBytes", source)
    assert seen.constant("tensorDesc.n") == 4
    assert list(seen.earlier("cudnnSetTensor4dDescriptor").values()) == [False]


def test_functions_share_the_struct_they_work_on() -> None:
    source = """
    #include <cudnn.h>
    typedef struct layer { cudnnTensorDescriptor_t x; int n; } layer;
    void forward(layer l) { size_t bytes; cudnnGetTensorSizeInBytes(l.x, &bytes); }
    layer make(int n) { layer l = {0}; l.n = 3 * n; cudnnCreateTensorDescriptor(&l.x); return l; }
    void resize(layer* l) { cudnnSetTensor4dDescriptor(l->x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 6, 1, 1, 1); }
    """
    seen = call("cudnnGetTensorSizeInBytes", source)
    assert seen.constant("tensorDesc.n") == 6
    assert seen.thing("tensorDesc").created == 1


def test_unrelated_functions_share_nothing() -> None:
    source = """
    #include <cudnn.h>
    void one() { cudnnTensorDescriptor_t x; cudnnCreateTensorDescriptor(&x); }
    void two() { cudnnTensorDescriptor_t x; cudnnDestroyTensorDescriptor(x); }
    """
    seen = call("cudnnDestroyTensorDescriptor", source)
    assert seen.thing("tensorDesc").created is None
    assert seen.earlier("cudnnCreateTensorDescriptor") == {}


def test_methods_that_two_files_define_are_followed_one_file_after_the_other() -> None:
    header = "class L { void setup(); void forward(); cudnnTensorDescriptor_t x_; };\n#include <cudnn.h>\n"
    setup = "void L::setup() { cudnnCreateTensorDescriptor(&x_); }\n"
    one = "void L::forward() { cudnnGetTensorSizeInBytes(x_, &a); }\n"
    two = "void L::forward() { cudnnDestroyTensorDescriptor(x_); }\n"
    seen = follow(header, setup, one, two)
    assert [one_.event.function for one_ in seen] == [
        "cudnnCreateTensorDescriptor", "cudnnGetTensorSizeInBytes",
        "cudnnCreateTensorDescriptor", "cudnnDestroyTensorDescriptor"]  # fmt: skip
    assert seen[3].earlier("cudnnGetTensorSizeInBytes") == {}
    assert seen[3].thing("tensorDesc").created == 3


def test_a_bases_method_calls_what_the_class_defines() -> None:
    source = """
    #include <cudnn.h>
    struct Base {
      cudnnTensorDescriptor_t x;
      virtual void fill(int n) = 0;
      void setup() { cudnnCreateTensorDescriptor(&x); fill(7); }
    };
    struct Derived : Base {
      void fill(int n) override { cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, 1, 1, 1); }
    };
    int main() { Derived d; d.setup(); return 0; }
    """
    seen = call("cudnnSetTensor4dDescriptor", source)
    assert seen.constant("n") == 7
    assert seen.event.within == "Derived::fill"
    assert seen.thing("tensorDesc").created is not None


def test_operators_of_wrappers() -> None:
    source = """
    #include <cudnn.h>
    template <class T> struct Held { T value{}; T* address() { return &value; } T operator*() const { return value; } };
    struct Handle { cudnnHandle_t h; Handle() { cudnnCreate(&h); } cudnnHandle_t operator()() { return h; } };
    struct Stack {
      Held<cudnnTensorDescriptor_t> x;
      Stack() { cudnnCreateTensorDescriptor(x.address()); set(*x); }
      static void set(cudnnTensorDescriptor_t d) { cudnnSetTensor4dDescriptor(d, A, B, 5, 1, 1, 1); }
    };
    int main() { Handle handle; Stack stack; %s return 0; }
    """.replace("%s", SOFTMAX.format("*stack.x", "stack.x").replace("(handle", "(handle()"))
    seen = call("cudnnSoftmaxForward", source)
    assert (seen.constant("xDesc.n"), seen.constant("yDesc.n")) == (5, 5)
    assert seen.thing("handle").created is not None
