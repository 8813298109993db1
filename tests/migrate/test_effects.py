"""What calls do to descriptors and to the variables whose addresses they get."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from following import Seen, follow

from portadnn import mapping
from portadnn.migrate.events import Argument, Event, Place
from portadnn.migrate.model import effects
from portadnn.migrate.model.fields import completed
from portadnn.migrate.model.kinds import destroyer_of, kind_of
from portadnn.migrate.model.state import Deed, State, Thing
from portadnn.migrate.values import UNKNOWN, Value, items, known, pointer, thing

FUNCTIONS = mapping.table().functions


def event(function: str, *arguments: Value, number: int = 1) -> Event:
    given = tuple(Argument(f"a{i}", value) for i, value in enumerate(arguments))
    return Event(number, function, given, Place("a.cu", number))


class World:
    """A state, and calls made in it."""

    def __init__(self, *things: Thing) -> None:
        self.state = State(things={one.id: one for one in things})
        self.journal: dict[int, Deed] = {}

    def call(self, function: str, *arguments: Value | object) -> Value:
        values = [one if isinstance(one, Value) else known(one) for one in arguments]
        made = event(function, *values, number=len(self.journal) + 1)
        return effects.apply(made, self.state, self.journal, self.state.variables.__setitem__)

    def create(self, function: str, path: str) -> Value:
        self.call(function, pointer(path))
        return self.state.variables[path]

    def fields(self, value: Value) -> dict[str, Value]:
        return dict(self.state.things[value.data].fields)


def number(value: Value) -> object:
    return [number(part) for part in value.data] if value.kind == "items" else value.data


CREATES = [
    (name, parameter)
    for name, function in FUNCTIONS.items()
    if re.match(r"(cudnn|miopen)Create", name)
    for parameter in function.latest
    if parameter.direction == "out"
]


NOT_DESTROYED = {"miopenCreateMhaDescriptor", "miopenCreateSoftmaxDescriptor"}  # nothing in miopen.h destroys them
PROBLEM = re.compile(r"miopenCreate(Conv|Mha|Softmax|Activation|Batchnorm|Bias)Problem")
OPERATOR = re.compile(r"miopenCreateOp(Conv|Activation|Bias|BatchNorm)(Forward|Backward|Inference)")


@pytest.mark.parametrize(("name", "parameter"), CREATES, ids=[name for name, _ in CREATES])
def test_what_is_created_has_a_kind_and_can_be_destroyed(name: str, parameter: mapping.Parameter) -> None:
    world = World(Thing("plan", "fusion", "plan"))
    plan = {"fusePlanDesc": thing("plan")}
    given = [pointer("x") if p is parameter else plan.get(p.name, UNKNOWN) for p in FUNCTIONS[name].latest]
    world.call(name, *given)
    made = world.state.variables["x"]
    assert made.kind == "thing"
    one = world.state.things[made.data]
    assert (one.created, one.destroyed, one.library) == (1, None, "miopen" if name.startswith("miopen") else "cudnn")
    assert one.kind
    destroy = name.replace("Create", "Destroy").replace("WithStream", "")
    if name in NOT_DESTROYED:
        assert destroy not in FUNCTIONS
        assert destroyer_of(name) == ""
        return
    if OPERATOR.fullmatch(name):
        destroy, made = "miopenDestroyFusionPlan", thing("plan")  # which takes its operators along
    elif PROBLEM.fullmatch(name):
        destroy = "miopenDestroyProblem"
    assert destroy in FUNCTIONS
    assert destroyer_of(name) == destroy
    world.call(destroy, made)
    assert world.state.things[one.id].destroyed == 2


def test_a_plan_takes_its_own_operators_along() -> None:
    world = World()
    plans = [world.create("miopenCreateFusionPlan", path) for path in "pq"]
    for plan, path in zip(plans, "ab", strict=True):
        world.call("miopenCreateOpBiasForward", plan, pointer(path), UNKNOWN)
    world.call("miopenDestroyFusionPlan", plans[0])
    gone = [world.state.things[world.state.variables[path].data].destroyed for path in "paqb"]
    assert gone == [5, 5, None, None]


def test_a_problem_keeps_each_of_its_tensors() -> None:
    world = World(*(Thing(name, "tensor", name) for name in "xy"))
    world.call("miopenCreateBiasProblem", pointer("p"), known("miopenProblemDirectionForward"))
    problem = world.state.variables["p"]
    for id_, name in (("miopenTensorBiasX", "x"), ("miopenTensorBiasY", "y")):
        world.call("miopenSetProblemTensorDescriptor", problem, id_, thing(name))
    fields = world.fields(problem)
    assert [fields[id_].data for id_ in ("miopenTensorBiasX", "miopenTensorBiasY")] == ["x", "y"]
    assert fields["direction"].data == "miopenProblemDirectionForward"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_can_be_applied_with_nothing_known(name: str) -> None:
    for parameters in [FUNCTIONS[name].parameters, *(change.parameters for change in FUNCTIONS[name].changes)]:
        for value in (UNKNOWN, pointer("x"), known(None), known(3), thing("t"), items([known(1)])):
            world = World(Thing("t", "tensor", "t"))
            world.call(name, *[value] * len(parameters))
            assert world.state.done[name] == {1: True}
            assert set(world.journal) == {1}


SETS = [
    (name, parameters)
    for name, function in FUNCTIONS.items()
    if re.match(r"(cudnn|miopen)(Set|Init)\w*Descriptor", name) and "Algorithm" not in name
    for parameters in [function.parameters, *(change.parameters for change in function.changes)]
]


@pytest.mark.parametrize(("name", "parameters"), SETS, ids=[f"{name}-{len(p)}" for name, p in SETS])
def test_what_is_set_is_there_by_the_parameters_names(name: str, parameters: tuple[mapping.Parameter, ...]) -> None:
    target = next(p for p in parameters if kind_of(p.type) and p.direction != "in")
    world = World(Thing("t", kind_of(target.type), "t"))
    values = [thing("t") if p is target else known(10 + i) for i, p in enumerate(parameters)]
    world.call(name, *values)
    fields = world.state.things["t"].fields
    for parameter, value in zip(parameters, values, strict=True):
        if parameter is not target and kind_of(parameter.type) != "handle" and parameter.direction == "in":
            assert fields[parameter.name].data == value.data, parameter
    assert world.state.things["t"].set_by == (1,)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 1, 1), (7, 64, 3, 9)])
def test_strides_are_those_of_packed_arrays(shape: tuple[int, ...]) -> None:
    world = World()
    x = world.create("cudnnCreateTensorDescriptor", "x")
    world.call("cudnnSetTensor4dDescriptor", x, "CUDNN_TENSOR_NCHW", "CUDNN_DATA_FLOAT", *shape)
    packed = [stride // 4 for stride in np.empty(shape, np.float32).strides]
    assert number(world.fields(x)["strideA"]) == packed
    assert [number(world.fields(x)[name]) for name in ("nStride", "cStride", "hStride", "wStride")] == packed
    n, c, h, w = shape
    world.call("cudnnSetTensor4dDescriptor", x, "CUDNN_TENSOR_NHWC", "CUDNN_DATA_FLOAT", *shape)
    last = [stride // 4 for stride in np.empty((n, h, w, c), np.float32).transpose(0, 3, 1, 2).strides]
    assert number(world.fields(x)["strideA"]) == last
    world.call("cudnnSetTensor4dDescriptorEx", x, "CUDNN_DATA_FLOAT", *shape, 999, 99, 9, 1)
    assert number(world.fields(x)["strideA"]) == [999, 99, 9, 1]
    assert "format" not in world.fields(x)


def test_one_setting_is_readable_under_all_its_names() -> None:
    world = World()
    conv = world.create("cudnnCreateConvolutionDescriptor", "c")
    world.call("cudnnSetConvolution2dDescriptor", conv, 1, 2, 3, 4, 5, 6, "CUDNN_CONVOLUTION", "CUDNN_DATA_FLOAT")
    flat = {name: number(value) for name, value in world.fields(conv).items()}
    arrays = {"padA": [1, 2], "filterStrideA": [3, 4], "dilationA": [5, 6]}
    assert arrays.items() <= {k: v for k, v in flat.items() if k in arrays}.items()
    other = world.create("cudnnCreateConvolutionDescriptor", "d")
    two = [items([known(a), known(b)]) for a, b in arrays.values()]
    world.call("cudnnSetConvolutionNdDescriptor", other, 2, *two, "CUDNN_CONVOLUTION", "CUDNN_DATA_FLOAT")
    assert {name: number(value) for name, value in world.fields(other).items()} == flat


def test_arrays_are_as_long_as_the_call_says() -> None:
    dims = items([known(size) for size in (2, 3, 4, 0, 0)])
    world = World(Thing("t", "tensor", "t"))
    world.call("cudnnSetTensorNdDescriptor", thing("t"), "CUDNN_DATA_FLOAT", 3, dims, UNKNOWN)
    assert number(world.state.things["t"].fields["dimA"]) == [2, 3, 4]


def test_groups_outlive_setting_in_cudnn_only() -> None:
    world = World()
    ours = world.create("cudnnCreateConvolutionDescriptor", "a")
    theirs = world.create("miopenCreateConvolutionDescriptor", "b")
    assert number(world.fields(ours)["groupCount"]) == number(world.fields(theirs)["groupCount"]) == 1
    world.call("cudnnSetConvolutionGroupCount", ours, 8)
    world.call("miopenSetConvolutionGroupCount", theirs, 8)
    world.call("cudnnSetConvolution2dDescriptor", ours, 0, 0, 1, 1, 1, 1, "CUDNN_CONVOLUTION", "CUDNN_DATA_FLOAT")
    world.call("miopenInitConvolutionDescriptor", theirs, "miopenConvolution", 0, 0, 1, 1, 1, 1)
    assert number(world.fields(ours)["groupCount"]) == 8
    assert number(world.fields(theirs)["groupCount"]) == 1


def _windows(size: int, window: int, pad: int, stride: int, dilation: int = 1) -> int:
    reach = dilation * (window - 1) + 1
    return sum(1 for start in range(-pad, size + pad - reach + 1) if (start + pad) % stride == 0)


@pytest.mark.parametrize(
    ("window", "pad", "stride", "dilation"), list(itertools.product((1, 3, 5), (0, 1, 2), (1, 2, 3), (1, 2)))
)
def test_output_sizes_are_the_windows_that_fit(window: int, pad: int, stride: int, dilation: int) -> None:
    world = World()
    x, w, conv, pool = (
        world.create(f"cudnnCreate{kind}Descriptor", kind) for kind in ("Tensor", "Filter", "Convolution", "Pooling")
    )
    world.call("cudnnSetTensor4dDescriptor", x, "CUDNN_TENSOR_NCHW", "CUDNN_DATA_FLOAT", 2, 3, 11, 12)
    world.call("cudnnSetFilter4dDescriptor", w, "CUDNN_DATA_FLOAT", "CUDNN_TENSOR_NCHW", 8, 3, window, window)
    sizes = (pad, pad, stride, stride, dilation, dilation)
    world.call("cudnnSetConvolution2dDescriptor", conv, *sizes, "CUDNN_CONVOLUTION", "CUDNN_DATA_FLOAT")
    world.call("cudnnGetConvolution2dForwardOutputDim", conv, x, w, *map(pointer, "nchw"))
    expected = [2, 8, _windows(11, window, pad, stride, dilation), _windows(12, window, pad, stride, dilation)]
    assert [number(world.state.variables[name]) for name in "nchw"] == expected
    assert {world.state.variables[name].origins for name in "nchw"} == {(8,)}
    world.call("cudnnGetConvolutionNdForwardOutputDim", conv, x, w, 4, pointer("dims"))
    assert number(world.state.variables["dims"]) == expected
    nan = "CUDNN_PROPAGATE_NAN"
    world.call("cudnnSetPooling2dDescriptor", pool, "CUDNN_POOLING_MAX", nan, window, window, pad, pad, stride, stride)
    world.call("cudnnGetPooling2dForwardOutputDim", pool, x, *map(pointer, "nchw"))
    sizes_ = [_windows(11, window, pad, stride), _windows(12, window, pad, stride)]
    assert [number(world.state.variables[name]) for name in "nchw"] == [2, 3, *sizes_]


def test_getters_tell_what_was_set() -> None:
    world = World()
    x = world.create("cudnnCreateTensorDescriptor", "x")
    world.call("cudnnSetTensor4dDescriptor", x, "CUDNN_TENSOR_NCHW", "CUDNN_DATA_HALF", 2, 3, 5, 7)
    world.call("cudnnGetTensor4dDescriptor", x, *map(pointer, ("type", *"nchw", "a", "b", "c2", "d")))
    assert [number(world.state.variables[name]) for name in ("type", *"nchw", "a")] == [
        "CUDNN_DATA_HALF", 2, 3, 5, 7, 105]  # fmt: skip
    world.call("cudnnGetTensorSizeInBytes", x, pointer("size"))
    assert number(world.state.variables["size"]) == np.empty((2, 3, 5, 7), np.float16).nbytes


def test_queries_are_remembered_by_origin_and_equal_when_asked_the_same() -> None:
    world = World(
        *(Thing(name, "tensor", name) for name in "xy"), Thing("w", "filter", "w"), Thing("c", "convolution", "c")
    )
    problem = [thing(name) for name in "xwcy"]
    handle = UNKNOWN
    asked = ["cudnnGetConvolutionForwardWorkspaceSize", handle, *problem, known("CUDNN_CONVOLUTION_FWD_ALGO_GEMM")]
    world.state.things["h"] = Thing("h", "handle", "h")
    asked[1] = thing("h")
    world.call(*asked, pointer("first"))
    world.call(*asked, pointer("second"))
    world.call("cudnnSetTensor4dDescriptor", thing("x"), "CUDNN_TENSOR_NCHW", "CUDNN_DATA_FLOAT", 1, 1, 1, 1)
    world.call(*asked, pointer("third"))
    first, second, third = (world.state.variables[name] for name in ("first", "second", "third"))
    assert (first.origins, second.origins, third.origins) == ((1,), (2,), (4,))
    assert first.data == second.data != third.data


def test_a_find_tells_algorithms_with_their_origin() -> None:
    find: Seen
    find, forward = follow(
        """
        void f(miopenHandle_t h, miopenTensorDescriptor_t x, miopenTensorDescriptor_t w,
               miopenConvolutionDescriptor_t c, miopenTensorDescriptor_t y) {
          miopenConvAlgoPerf_t perf; int got; float alpha = 1, beta = 0;
          miopenFindConvolutionForwardAlgorithm(h, x, a, w, b, c, y, d, 1, &got, &perf, ws, size, false);
          miopenConvolutionForward(h, &alpha, x, a, w, b, c, perf.fwd_algo, &beta, y, d, ws, perf.memory);
        }
        """
    )
    assert forward.value("algo").origins == (find.event.number,)
    assert forward.value("workSpaceSize").origins == (find.event.number,)


def test_deeds_have_the_things_as_they_were() -> None:
    world = World(Thing("t", "tensor", "t"))
    world.call("cudnnSetTensor4dDescriptor", thing("t"), "CUDNN_TENSOR_NCHW", "CUDNN_DATA_FLOAT", 1, 2, 3, 4)
    world.call("cudnnGetTensorSizeInBytes", thing("t"), pointer("size"))
    world.call("cudnnSetTensor4dDescriptor", thing("t"), "CUDNN_TENSOR_NCHW", "CUDNN_DATA_FLOAT", 1, 2, 3, 4)
    world.call("cudnnSetTensor4dDescriptor", thing("t"), "CUDNN_TENSOR_NCHW", "CUDNN_DATA_FLOAT", 9, 2, 3, 4)
    asked, now = world.journal[2].things["tensorDesc"], world.state.things["t"]
    assert (asked.version, now.version) == (1, 4)
    assert (number(asked.fields["n"]), number(now.fields["n"])) == (1, 9)


def test_what_a_log_says_of_a_descriptor_is_completed() -> None:
    fields = completed(
        "tensor", {"dimA": items(map(known, (2, 3, 4, 5))), "strideA": items(map(known, (60, 20, 5, 1)))}
    )
    assert [number(fields[name]) for name in ("n", "w", "nbDims", "hStride")] == [2, 5, 4, 5]
    world = World(Thing("0x1", "convolution", "convDesc", "cudnn", {"padA": items([known(1), known(1)])}))
    world.call("cudnnGetConvolution2dDescriptor", thing("0x1"), *map(pointer, "abcdefgh"))
    assert [number(world.state.variables[name]) for name in "ab"] == [1, 1]
    assert world.state.variables["c"].kind == "unknown"


def test_what_may_be_one_of_several_is_set_perhaps() -> None:
    world = World(Thing("a", "tensor", "a"), Thing("b", "tensor", "b"))
    either = Value("one of", (thing("a"), thing("b")))
    world.call("cudnnSetTensor4dDescriptor", either, "CUDNN_TENSOR_NCHW", "CUDNN_DATA_FLOAT", 1, 2, 3, 4)
    assert [(one.certain, one.set_by) for one in world.state.things.values()] == [(False, (1,)), (False, (1,))]
    world.call("cudnnDestroyTensorDescriptor", either)
    assert [(one.certain, one.destroyed) for one in world.state.things.values()] == [(False, 2), (False, 2)]
