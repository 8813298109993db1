"""What a fusion plan computes: its operations one after the other, in place of the output.

A convolution takes the bias, and a ReLU behind it, along in one launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...c_names.composed import check_call
from ...descriptors.layers import ActivationDescriptor
from ...dispatch.choice import choose
from ...dispatch.execute import execute
from ...enums import ActivationMode, DnnEnum
from ...errors import DnnError, NotSupported
from ...handle import Handle
from ...ops.convolution.calls import convolution_problem
from ...ops.convolution.fused import ConvolutionBiasActivationForward
from ...ops.tensor import AddTensor, add_tensor
from ...problem import TensorSpec
from ..activation import backward, forward
from ..batch_norm.passes import gradient, inference, inference_inverse, training
from ..convolution.algorithms import FORWARD, arranged
from ..descriptors import descriptor_of, miopenTensorDescriptor_t, tensor
from ..generated.enums import miopenActivationMode_t, miopenConvAlgorithm_t, miopenConvFwdAlgorithm_t
from .operations import Activation, Bias, Convolution, Inference, Normalisation, Operation, Training, activation

_IDENTITY = ActivationDescriptor(ActivationMode.IDENTITY)
Given = tuple[Any, dict[str, Any]]  # an operation and its arguments
End = tuple[miopenTensorDescriptor_t, Any]  # a descriptor and memory


@dataclass(frozen=True)
class Compiled:
    """What was chosen for a handle.

    Attributes
    ----------
    algo
        The convolution's algorithm, None for the best known.
    taken
        How many operations behind the convolution go along with it: its bias, and a ReLU.
    """

    algo: DnnEnum | None = None
    taken: int = 0


def compile_sequence(
    handle: Handle,
    source: TensorSpec,
    target: TensorSpec,
    operations: Sequence[Operation],
    algo: miopenConvFwdAlgorithm_t | None,
) -> Compiled:
    """Choose how a sequence is computed.

    Raises
    ------
    NotSupported
        The convolution, or this algorithm of it, is not computed here.
    """
    first = operations[0]
    if not isinstance(first, Convolution):
        return Compiled()
    settings, specs = first.settings, (source, first.wDesc.wide, target)
    computation = FORWARD.computation(settings)
    problem = convolution_problem(
        handle, computation.direction.kind, arranged(computation, settings, specs), settings.conv
    )
    choices: Sequence[DnnEnum | None] = (None,)
    if algo is not None:
        choices = computation.algorithms.get(miopenConvAlgorithm_t(int(algo)), ())
    reasons = []
    for choice in choices:
        try:
            choose(handle, problem, choice)
        except NotSupported as error:
            reasons.append(str(error))
            continue
        return Compiled(choice, 0 if settings.transposed else _taken(handle, specs, operations, choice))
    expected = "an algorithm that takes the convolution"
    raise NotSupported("; ".join(reasons), argument="fusePlanDesc", expected=expected, got=shown_algorithm(algo))


def shown_algorithm(algo: miopenConvFwdAlgorithm_t | None) -> str:
    """Return an algorithm's name for a message."""
    return "any" if algo is None else algo.name


def _taken(handle: Handle, specs: Sequence[TensorSpec], operations: Sequence[Operation], algo: DnnEnum | None) -> int:
    """Return how many operations the convolution takes along."""
    first, *rest = operations
    if not rest or not isinstance(rest[0], Bias) or not isinstance(first, Convolution):
        return 0
    x, w, y = specs
    conv = first.settings.conv
    follows = [_IDENTITY]
    if len(rest) > 1 and isinstance(rest[1], Activation) and _fixed(rest[1]):
        follows.insert(0, _fixed(rest[1]))
    for activated in follows:
        try:
            problem = ConvolutionBiasActivationForward(
                x=x,
                w=w,
                z=y,
                bias=rest[0].bDesc.wide,
                y=y,
                **_geometry(conv),
                activation=activated.mode,
                nan_propagation=activated.nan_propagation,
            )
            choose(handle, problem, algo)
        except DnnError:
            continue
        return 1 if activated is _IDENTITY else 2
    return 0


def _geometry(conv: Any) -> dict[str, Any]:
    names = ("padding", "stride", "dilation", "groups", "mode", "compute_type", "math")
    return {name: getattr(conv, name) for name in names}


def _fixed(operation: Activation) -> Any:
    """Return portadnn's activation where it does not depend on numbers of the run, and goes along."""
    if operation.mode is not miopenActivationMode_t.miopenActivationRELU:
        return None
    return activation(operation, {"numbers": (0.0, 0.0, 0.0)}).plain


def run_sequence(handle: Handle, compiled: Compiled, source: End, target: End, given: Sequence[Given]) -> None:
    """Compute a sequence, whose arguments are complete."""
    letters = "".join(operation.letter for operation, _ in given)
    if letters == "GD":
        _gradients(handle, source, target, given)
    elif letters[0] == "C":
        _convolve(handle, compiled, source, target, given)
    else:
        _normalise(handle, source, target, given[0])
        _rest(handle, target, given[1:])


def _convolve(handle: Handle, compiled: Compiled, source: End, target: End, given: Sequence[Given]) -> None:
    (first, values), *rest = given
    x, y = tensor(handle, *source, "input"), tensor(handle, *target, "output")
    w = tensor(handle, first.wDesc, values["w"], "w")
    _check_rest(handle, target, rest)
    if compiled.taken:
        bias, taken = rest[0], rest[1 : compiled.taken]
        follows = activation(*taken[0]).plain if taken else _IDENTITY
        operands = (x, w, None, tensor(handle, bias[0].bDesc, bias[1]["bias"], "bias", "bDesc"), y)
        parameters = (first.settings.conv, follows)
        execute(handle, ConvolutionBiasActivationForward, operands, parameters, (1.0, 0.0), algo=compiled.algo)
    else:
        computation = FORWARD.computation(first.settings)
        operands = arranged(computation, first.settings, (x, w, y))
        execute(handle, computation.direction.kind, operands, first.settings.conv, (1.0, 0.0), algo=compiled.algo)
    _rest(handle, target, rest[compiled.taken :])


def _check_rest(handle: Handle, target: End, given: Sequence[Given]) -> None:
    """Read what the operations behind a convolution take, before anything is written."""
    for operation, values in given:
        if isinstance(operation, Bias):
            out = tensor(handle, *target, "output")
            check_call(handle, AddTensor, (tensor(handle, operation.bDesc, values["bias"], "bias", "bDesc"), out))
        elif isinstance(operation, Inference):
            for name in ("bnScale", "bnBias", "estimatedMean", "estimatedVariance"):
                tensor(handle, operation.small, values[name], name, "bnScaleBiasMeanVarDesc")


def _rest(handle: Handle, target: End, given: Sequence[Given]) -> None:
    """Compute operations in place of the output."""
    out = tensor(handle, *target, "output")
    for operation, values in given:
        if isinstance(operation, Bias):
            add_tensor(handle, tensor(handle, operation.bDesc, values["bias"], "bias", "bDesc"), out)
        elif isinstance(operation, Activation):
            forward(handle, activation(operation, values), target[0].wide, out, out)
        else:
            _normalise(handle, target, target, (operation, values))


def _normalise(handle: Handle, source: End, target: End, given: Given) -> None:
    operation, values = given
    image = {"xDesc": source[0], "x": source[1], "yDesc": target[0], "y": target[1]}
    scalars = {"bn_mode": operation.mode, "alpha": 1.0, "beta": 0.0}
    if isinstance(operation, Training):
        small = _small(operation, "scaleDesc", "biasVarDesc", "savedMeanDesc", "savedVarDesc")
        training(handle, **scalars, **image, **small, **values)
    else:
        small = _small(operation, "scaleDesc", "biasDesc", "estMeanDesc", "estVarianceDesc")
        inference(handle, **scalars, **image, **small, **values)


def _small(operation: Normalisation, *names: str) -> dict[str, Any]:
    return dict.fromkeys(names, operation.small)


def _gradients(handle: Handle, source: End, target: End, given: Sequence[Given]) -> None:
    """Compute dx of dy: what the activation was applied to is normalised anew from x and the saved statistics."""
    (norm, values), (activated, other) = given
    dy, _ = tensor(handle, *source, "input"), tensor(handle, *target, "output")
    packed = descriptor_of(TensorSpec.packed(source[0].wide.dtype, source[0].wide.dims))
    z, dz = (handle.device.empty(packed.wide) for _ in range(2))
    settings = activation(activated, other)
    y = tensor(handle, source[0], other["y"], "y", "inputDesc")
    inference_inverse(
        handle,
        bn_mode=norm.mode,
        alpha=1.0,
        beta=0.0,
        xDesc=source[0],
        x=values["x"],
        yDesc=packed,
        y=z,
        scaleDesc=norm.small,
        biasDesc=norm.small,
        estMeanDesc=norm.small,
        estInvVarianceDesc=norm.small,
        bnScale=values["bnScale"],
        bnBias=values["bnBias"],
        estimatedMean=values["savedMean"],
        estimatedInvVariance=values["savedInvVariance"],
    )
    backward(handle, settings, packed.wide, y, dy, z, dz)
    gradient(
        handle,
        norm.mode,
        *(1.0, 0.0, 1.0, 0.0),
        *(source[0], values["x"], packed, dz, *target),
        *(norm.small,) * 4,
        values["bnScale"],
        values["resultBnScaleDiff"],
        values["resultBnBiasDiff"],
        1e-5,
        values["savedMean"],
        values["savedInvVariance"],
    )
