"""Programs with exactly one mistake each, and the rule that a profile has to find; test_profiles.py runs them.

A program is given a :class:`Kit`: a handle with a profile and the clean way to a convolution, of which it leaves
something out or does it otherwise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from fake_engines import FakeEngine

import portadnn as dnn

CONV = dnn.ConvolutionDescriptor((1, 1))
MAX_POOL = dnn.PoolingDescriptor("max", (2, 2), stride=(2, 2))
LRN = dnn.LRNDescriptor(5, 1e-4, 0.75, 1.0)
NEED = 1000  # bytes of workspace that the engines of `wanting` ask for


class Kit:
    """A handle, tensors, and the calls of a clean program."""

    def __init__(self, handle: dnn.Handle) -> None:
        self.handle = handle
        self.x, self.w, self.y = self.tensor(2, 3, 6, 6), self.tensor(4, 3, 3, 3), self.tensor(2, 4, 6, 6)
        self.workspace: Any = None

    def tensor(self, *dims: int, dtype: str = "float32", **layout: Any) -> Any:
        values = np.random.default_rng(sum(dims)).standard_normal(dims)
        return self.handle.asarray(values.astype(dtype), **layout)

    def wanting(self) -> None:
        """Make convolutions need a workspace, and have two algorithms."""
        others = [e for e in self.handle.engines if not issubclass(FakeEngine.problems[0], e.problems)]
        engines = [FakeEngine("wanting", 0, 0.001, needs=NEED), FakeEngine("other", 3, 0.002, needs=NEED)]
        self.handle.engines = (*engines, *others)
        self.handle.device.time = lambda function: (function(), 0.001)[1]  # type: ignore[method-assign]

    def size(self) -> int:
        return dnn.get_convolution_forward_find_workspace_size(self.handle, self.x, self.w, CONV, self.y)

    def find(self) -> list[Any]:
        """Ask for the workspace, allocate it, Find."""
        self.workspace = self.handle.empty_bytes(self.size())
        return dnn.find_convolution_forward_algorithm_ex(
            self.handle, self.x, self.w, CONV, self.y, workspace=self.workspace
        )

    def run(self, algo: Any, **options: Any) -> Any:
        options = {"workspace": self.workspace, **options}
        return dnn.convolution_forward(self.handle, self.x, self.w, CONV, self.y, algo=algo, **options)


@contextlib.contextmanager
def refused_anyway() -> Iterator[None]:
    """Let pass what portadnn refuses by itself, but not what the profile refuses."""
    try:
        yield
    except dnn.DnnError as error:
        if "-" in str(error).partition("[")[2].partition("]")[0]:  # [miopen-1 S01]
            raise


def clean(kit: Kit) -> None:
    algo = kit.find()[0].algo
    for _ in range(3):
        kit.run(algo)


# The guide's key differences


def layout(kit: Kit) -> None:
    dnn.activation_forward(kit.handle, kit.tensor(2, 3, 4, 4, format="nhwc"), dnn.ActivationDescriptor("relu"))


def five_dims(kit: Kit) -> None:
    dnn.softmax_forward(kit.handle, kit.tensor(2, 3, 1, 2, 2), algorithm="accurate", mode="channel")


def nd_function(kit: Kit) -> None:
    dnn.get_pooling_nd_forward_output_dim(MAX_POOL, (2, 3, 4, 4))


def nd_descriptor(kit: Kit) -> None:
    dnn.TensorDescriptor.set_nd("float32", (2, 3, 4, 4), (48, 16, 4, 1))


def double(kit: Kit) -> None:
    dnn.pooling_forward(kit.handle, kit.tensor(2, 3, 4, 4, dtype="float64"), MAX_POOL)


def half_convolution(kit: Kit) -> None:
    kit.x, kit.w, kit.y = (kit.tensor(*a.shape, dtype="float16") for a in (kit.x, kit.w, kit.y))
    clean(kit)


def pooling_3d(kit: Kit) -> None:
    pooling = dnn.PoolingDescriptor("max", (2, 2, 2), stride=(2, 2, 2))
    dnn.pooling_forward(kit.handle, kit.tensor(1, 2, 4, 4, 4), pooling)


def convolution_3d(kit: Kit) -> None:
    x, w, conv = kit.tensor(1, 2, 4, 4, 4), kit.tensor(3, 2, 1, 1, 1), dnn.ConvolutionDescriptor((0, 0, 0))
    y = kit.tensor(1, 3, 4, 4, 4)
    dnn.find_convolution_forward_algorithm_ex(kit.handle, x, w, conv, y)
    dnn.convolution_forward(kit.handle, x, w, conv, y)


def preference(kit: Kit) -> None:
    dnn.get_convolution_forward_algorithm(kit.handle, kit.x, kit.w, CONV, kit.y, preference="no_workspace")


def memory_limit(kit: Kit) -> None:
    dw = kit.tensor(4, 3, 3, 3)
    dnn.get_convolution_backward_filter_algorithm(kit.handle, kit.x, kit.y, CONV, dw, memory_limit=1 << 20)


def softmax_mode(kit: Kit) -> None:
    dnn.softmax_forward(kit.handle, kit.x, algorithm="accurate", mode="instance")


def transform(kit: Kit) -> None:
    dnn.transform_tensor(kit.handle, kit.x)


def dropout(kit: Kit) -> None:
    dnn.dropout_get_states_size(kit.handle)


def rnn(kit: Kit) -> None:
    dnn.get_rnn_params_size(kit.handle, dnn.RNNDescriptor(5), dnn.TensorDescriptor((2, 4, 1)))


def divisive(kit: Kit) -> None:
    dnn.divisive_normalization_forward(kit.handle, kit.x, None, LRN)


# Call sequences


def no_find(kit: Kit) -> None:
    dnn.convolution_forward(kit.handle, kit.x, kit.w, CONV, kit.y)


def no_find_backward(kit: Kit) -> None:
    algo = kit.find()[0].algo
    kit.run(algo)
    dnn.convolution_backward_data(kit.handle, kit.w, kit.y, CONV, kit.tensor(2, 3, 6, 6))


def last_batch(kit: Kit) -> None:
    algo = kit.find()[0].algo
    kit.run(algo)
    kit.x, kit.y = kit.x[:1], kit.y[:1]
    kit.run(algo)


def other_padding(kit: Kit) -> None:
    algo = kit.find()[0].algo
    conv = dnn.ConvolutionDescriptor((0, 0))
    dnn.convolution_forward(kit.handle, kit.x, kit.w, conv, algo=algo, workspace=kit.workspace)


def other_handle(kit: Kit) -> None:
    with dnn.Handle("reference", find_db="", profile="") as handle:
        other = Kit(handle)
        algo = other.find()[0].algo
    kit.run(algo)


def get(kit: Kit) -> None:
    dnn.get_convolution_forward_algorithm(kit.handle, kit.x, kit.w, CONV, kit.y)


def get_v7(kit: Kit) -> None:
    dnn.get_convolution_backward_data_algorithm_v7(kit.handle, kit.w, kit.y, CONV, kit.x)


def find_without_buffers(kit: Kit) -> None:
    algo = dnn.find_convolution_forward_algorithm(kit.handle, kit.x, kit.w, CONV, kit.y)[0].algo
    kit.run(algo)


def size_by_algorithm(kit: Kit) -> None:
    algo = kit.find()[0].algo
    dnn.get_convolution_forward_workspace_size(kit.handle, kit.x, kit.w, CONV, kit.y, algo)
    kit.run(algo)


def size_never_asked(kit: Kit) -> None:
    kit.wanting()
    workspace = kit.handle.empty_bytes(NEED // 2)
    dnn.find_convolution_forward_algorithm_ex(kit.handle, kit.x, kit.w, CONV, kit.y, workspace=workspace)


def small_workspace(kit: Kit) -> None:
    kit.wanting()
    algo = kit.find()[0].algo
    with refused_anyway():
        kit.run(algo, workspace=kit.handle.empty_bytes(NEED - 1))


def no_workspace(kit: Kit) -> None:
    kit.wanting()
    algo = kit.find()[0].algo
    kit.run(algo, workspace=None)


def small_workspace_for_find(kit: Kit) -> None:
    kit.wanting()
    kit.size()
    dnn.find_convolution_forward_algorithm_ex(kit.handle, kit.x, kit.w, CONV, kit.y)


def live_output(kit: Kit) -> None:
    dw, dy = kit.tensor(4, 3, 3, 3), kit.y
    size = dnn.get_convolution_backward_filter_find_workspace_size(kit.handle, kit.x, dy, CONV, dw)
    workspace = kit.handle.empty_bytes(size)
    dnn.find_convolution_backward_filter_algorithm_ex(kit.handle, kit.x, dy, CONV, dw, workspace=workspace)
    dnn.op_tensor(kit.handle, "add", kit.w, dw)  # the gradient that was gathered in dw is gone


def live_activation(kit: Kit) -> None:
    """The output of an earlier layer is taken for Find's y, and read by the next layer."""
    dnn.activation_forward(kit.handle, kit.y, dnn.ActivationDescriptor("sigmoid"), kit.y)
    kit.find()
    dnn.pooling_forward(kit.handle, kit.y, MAX_POOL)


def find_in_the_loop(kit: Kit) -> None:
    for _ in range(2):
        kit.run(kit.find()[0].algo)


def beyond_the_count(kit: Kit) -> None:
    kit.wanting()
    kit.find()[2].algo  # noqa: B018 - two algorithms succeed


def status_field(kit: Kit) -> None:
    found = kit.find()
    kit.run(next(perf.algo for perf in found if perf.status == 0))


def determinism_field(kit: Kit) -> None:
    found = kit.find()
    _ = found[0].deterministic


def algorithm_count(kit: Kit) -> None:
    dnn.get_convolution_forward_algorithm_max_count(kit.handle)


def hard_coded(kit: Kit) -> None:
    kit.wanting()
    kit.handle.engines = (FakeEngine("broken", 2, fails=dnn.ExecutionFailed), *kit.handle.engines)
    kit.find()
    with refused_anyway():
        kit.run("gemm")


def ignored_error(kit: Kit) -> None:
    algo = kit.find()[0].algo
    with contextlib.suppress(dnn.DnnError):
        dnn.get_convolution_forward_find_workspace_size(kit.handle, kit.w, kit.x, CONV)
    kit.run(algo, workspace=None)


def backward_of_no_forward(kit: Kit) -> None:
    dnn.pooling_backward(kit.handle, kit.tensor(2, 3, 3, 3), kit.tensor(2, 3, 3, 3), kit.x, MAX_POOL)


def lrn_backward_of_no_forward(kit: Kit) -> None:
    y, dy = kit.tensor(2, 3, 6, 6), kit.tensor(2, 3, 6, 6)
    dnn.lrn_cross_channel_backward(kit.handle, y, dy, kit.x, LRN)


def stale_size(kit: Kit) -> None:
    kit.wanting()
    kit.size()
    x, y = kit.x[:1], kit.y[:1]  # another problem, for which nobody asked
    dnn.find_convolution_forward_algorithm_ex(kit.handle, x, kit.w, CONV, y, workspace=kit.handle.empty_bytes(16))


def statistics(kit: Kit) -> tuple[Any, ...]:
    return tuple(kit.tensor(1, 3, 1, 1) for _ in range(2))


def train(kit: Kit, x: Any, saved: tuple[Any, ...]) -> None:
    scale, bias = kit.tensor(1, 3, 1, 1), kit.tensor(1, 3, 1, 1)
    dnn.batch_normalization_forward_training(kit.handle, x, scale, bias, None, None, None, *saved)


def backward(kit: Kit, x: Any, *saved: Any) -> None:
    dnn.batch_normalization_backward(kit.handle, x, kit.tensor(2, 3, 6, 6), kit.tensor(1, 3, 1, 1), *saved)


def saved_by_nobody(kit: Kit) -> None:
    backward(kit, kit.x, *statistics(kit))


def saved_apart(kit: Kit) -> None:
    first, second = statistics(kit), statistics(kit)
    train(kit, kit.x, first)
    train(kit, kit.x, second)
    backward(kit, kit.x, first[0], second[1])


def saved_twice(kit: Kit) -> None:
    saved, other = statistics(kit), kit.tensor(2, 3, 6, 6)
    train(kit, kit.x, saved)
    train(kit, other, saved)
    backward(kit, kit.x, *saved)


def saved_half(kit: Kit) -> None:
    saved = statistics(kit)
    train(kit, kit.x, saved)
    with refused_anyway():
        backward(kit, kit.x, saved[0])


# What the tables refuse


def flipped(kit: Kit) -> None:
    conv = dnn.ConvolutionDescriptor((1, 1), mode="convolution")
    dnn.find_convolution_forward_algorithm_ex(kit.handle, kit.x, kit.w, conv, kit.y)
    dnn.convolution_forward(kit.handle, kit.x, kit.w, conv, kit.y)


def blended(kit: Kit) -> None:
    algo = kit.find()[0].algo
    kit.run(algo)
    kit.run(algo, beta=1)


def scaled_pooling(kit: Kit) -> None:
    dnn.pooling_forward(kit.handle, kit.x, MAX_POOL, alpha=2)


def scaled_lrn(kit: Kit) -> None:
    dnn.lrn_cross_channel_forward(kit.handle, kit.x, LRN, alpha=2)


def double_scalar(kit: Kit) -> None:
    dnn.pooling_forward(kit.handle, kit.x, MAX_POOL, alpha=np.float64(1))


def padded_average(kit: Kit) -> None:
    dnn.pooling_forward(kit.handle, kit.x, dnn.PoolingDescriptor("average_count_include_padding", (2, 2)))


def grouped(kit: Kit) -> None:
    conv = dnn.ConvolutionDescriptor((1, 1), groups=2)
    x, w, y = kit.tensor(1, 4, 4, 4), kit.tensor(2, 2, 3, 3), kit.tensor(1, 2, 4, 4)
    dnn.find_convolution_forward_algorithm_ex(kit.handle, x, w, conv, y)
    dnn.convolution_forward(kit.handle, x, w, conv, y)


def reduction(kit: Kit) -> None:
    dnn.reduce_tensor(kit.handle, dnn.ReduceTensorDescriptor("add"), kit.x, kit.tensor(1, 3, 1, 1))


def elu(kit: Kit) -> None:
    dnn.activation_forward(kit.handle, kit.x, dnn.ActivationDescriptor("elu"))


def direct(kit: Kit) -> None:
    kit.wanting()
    kit.find()
    kit.run("direct")


def strided_filter_gradient(kit: Kit) -> None:
    """x with gaps, which cuDNN 9 does not take here."""
    x = kit.tensor(2, 3, 6, 12)[..., ::2]
    dnn.convolution_backward_filter(kit.handle, x, kit.y, CONV, kit.tensor(4, 3, 3, 3))


def mixed_layouts(kit: Kit) -> None:
    dx, dy = kit.tensor(2, 3, 6, 6, format="nhwc"), kit.tensor(2, 4, 6, 6, format="nhwc")
    dnn.convolution_backward_data(kit.handle, kit.w, dy, CONV, dx)


def newer_find(kit: Kit) -> None:
    dnn.get_convolution_forward_algorithm_v7(kit.handle, kit.x, kit.w, CONV, kit.y)


def extra_field(kit: Kit) -> None:
    _ = kit.find()[0].engine


def groups_without_find(kit: Kit) -> None:
    conv = dnn.ConvolutionDescriptor((1, 1), groups=2)
    dnn.convolution_forward(kit.handle, kit.tensor(1, 4, 4, 4), kit.tensor(2, 2, 3, 3), conv)


def swish(kit: Kit) -> None:
    dnn.activation_forward(kit.handle, kit.x, dnn.ActivationDescriptor("swish"))


# Harmless programs, which look like mistakes


def two_layers_alike(kit: Kit) -> None:
    """Layers with one shape, each with a Find of its own when it is first used."""
    for _ in range(2):
        kit.w = kit.tensor(4, 3, 3, 3)
        kit.run(kit.find()[0].algo)


def every_size_found(kit: Kit) -> None:
    algos = {}
    for n in (2, 1, 2, 1):
        kit.x, kit.y = kit.tensor(n, 3, 6, 6), kit.tensor(n, 4, 6, 6)
        if n not in algos:
            algos[n] = kit.find()[0].algo
        kit.run(algos[n])


def odd_addresses(kit: Kit) -> None:
    """Slices that begin anywhere are the same problem."""
    algo = kit.find()[0].algo
    whole = kit.tensor(3, 3, 6, 6)
    flat = kit.handle.asarray(np.ones(1 + 2 * 4 * 36, np.float32))
    kit.x, kit.y = whole[1:], dnn.TensorDescriptor((2, 4, 6, 6)).view(flat, 1)
    kit.run(algo)


def whole_workspaces(kit: Kit) -> None:
    kit.wanting()
    found = kit.find()
    kit.run(found[0].algo)
    kit.run(found[1].algo)


def scratch_for_find(kit: Kit) -> None:
    """Find on the output of the convolution itself: it is written before it is read."""
    algo = kit.find()[0].algo
    kit.run(algo)
    dnn.pooling_forward(kit.handle, kit.y, MAX_POOL)


def filled_after_find(kit: Kit) -> None:
    """What the program writes itself is seen, too."""
    kit.find()
    kit.y[...] = 0
    dnn.pooling_forward(kit.handle, kit.y, MAX_POOL)


def trained(kit: Kit) -> None:
    saved = statistics(kit)
    for _ in range(2):
        train(kit, kit.x, saved)
        backward(kit, kit.x, *saved)
    backward(kit, kit.x)


def trained_on_a_copy(kit: Kit) -> None:
    """The backward call may be given a copy of x, as checkpointing does."""
    saved = statistics(kit)
    train(kit, kit.x, saved)
    backward(kit, kit.handle.asarray(kit.handle.to_numpy(kit.x)), *saved)


def pooled(kit: Kit) -> None:
    for pooling in (MAX_POOL, dnn.PoolingDescriptor("average_count_exclude_padding", (2, 2), stride=(2, 2))):
        y = dnn.pooling_forward(kit.handle, kit.x, pooling)
        dnn.pooling_backward(kit.handle, y, y, kit.x, pooling)


def normalised(kit: Kit) -> None:
    y = dnn.lrn_cross_channel_forward(kit.handle, kit.x, LRN)
    dnn.lrn_cross_channel_backward(kit.handle, y, y, kit.x, LRN)


def asked_again(kit: Kit) -> None:
    """A query that failed, was noticed and asked again."""
    algo = kit.find()[0].algo
    with contextlib.suppress(dnn.DnnError):
        dnn.get_convolution_forward_find_workspace_size(kit.handle, kit.w, kit.x, CONV)
    kit.size()
    kit.run(algo)


def descriptors(kit: Kit) -> None:
    dnn.TensorDescriptor((2, 3, 4, 4)).get_4d()
    dnn.FilterDescriptor.set_4d("float32", "nchw", 4, 3, 3, 3)
    dnn.ConvolutionDescriptor.set_2d(1, 1, 1, 1)
    dnn.PoolingDescriptor.set_2d("max", 0, 2, 2, 0, 0, 2, 2)
    dnn.get_version()
    dnn.get_error_string(0)
    dnn.derive_bn_tensor_descriptor(dnn.TensorDescriptor((2, 3, 4, 4)))


@dataclass(frozen=True)
class Mistake:
    """A program, and the rule that a profile finds in it; no rule for harmless ones."""

    rule: str
    program: Callable[[Kit], None]
    profiles: tuple[str, ...] = ("miopen-1",)

    def __str__(self) -> str:
        return f"{self.rule}-{self.program.__name__}"


BOTH = ("miopen-1", "miopen-3")
MISTAKES = (
    Mistake("K1", layout),
    Mistake("K1", five_dims),
    Mistake("K1", nd_function),
    Mistake("K1", nd_descriptor),
    Mistake("K2", double),
    Mistake("K2", half_convolution),
    Mistake("K3", pooling_3d),
    Mistake("K3", convolution_3d),
    Mistake("K6", preference, BOTH),
    Mistake("K6", memory_limit, BOTH),
    Mistake("K7", softmax_mode),
    Mistake("K8", transform),
    Mistake("K8", dropout),
    Mistake("K8", rnn),
    Mistake("K8", divisive),
    Mistake("S01", no_find, BOTH),
    Mistake("S01", no_find_backward, BOTH),
    Mistake("S02", last_batch, BOTH),
    Mistake("S02", other_padding, BOTH),
    Mistake("S03", other_handle, BOTH),
    Mistake("S04", get, BOTH),
    Mistake("S04", get_v7, BOTH),
    Mistake("S05", find_without_buffers, BOTH),
    Mistake("S06", size_by_algorithm, BOTH),
    Mistake("S06", size_never_asked, BOTH),
    Mistake("S07", small_workspace, BOTH),
    Mistake("S07", no_workspace, BOTH),
    Mistake("S07", small_workspace_for_find, BOTH),
    Mistake("S09", live_output, BOTH),
    Mistake("S09", live_activation, BOTH),
    Mistake("S10", find_in_the_loop, BOTH),
    Mistake("S11", beyond_the_count, BOTH),
    Mistake("S12", status_field, BOTH),
    Mistake("S12", determinism_field, (*BOTH, "cudnn-5")),
    Mistake("S13", algorithm_count, BOTH),
    Mistake("S14", hard_coded, BOTH),
    Mistake("S15", ignored_error, BOTH),
    Mistake("S18", backward_of_no_forward, BOTH),
    Mistake("S19", lrn_backward_of_no_forward, BOTH),
    Mistake("S20", stale_size, BOTH),
    Mistake("S21", saved_by_nobody, BOTH),
    Mistake("S21", saved_apart, BOTH),
    Mistake("S21", saved_twice, BOTH),
    Mistake("S21", saved_half, BOTH),
    Mistake("F01", reduction),
    Mistake("V01", flipped),
    Mistake("V02", blended),
    Mistake("V04", scaled_pooling),
    Mistake("V05", scaled_lrn),
    Mistake("V06", double_scalar),
    Mistake("V15", padded_average),
    Mistake("T01", grouped),
    Mistake("T01", elu),
    Mistake("F01", newer_find, ("cudnn-5",)),
    Mistake("F01", get, ("cudnn-9",)),
    Mistake("S12", extra_field, ("cudnn-5", "cudnn-9")),
    Mistake("T01", direct, ("cudnn-9",)),
    Mistake("T01", strided_filter_gradient, ("cudnn-9",)),
    Mistake("T01", mixed_layouts, ("cudnn-9",)),
    Mistake("T01", groups_without_find, ("cudnn-5",)),
    Mistake("T01", swish, ("cudnn-5",)),
)
HARMLESS = (
    clean,
    two_layers_alike,
    every_size_found,
    odd_addresses,
    whole_workspaces,
    scratch_for_find,
    filled_after_find,
    trained,
    trained_on_a_copy,
    pooled,
    normalised,
    asked_again,
    descriptors,
)
