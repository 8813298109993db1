"""Problems: text form, counts, overlap and shapes, against hand formulas and brute force."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from cases_rnn import words
from hypothesis import given, settings
from hypothesis import strategies as st

import portadnn as dnn
from portadnn import DataType, TensorFormat, TensorSpec
from portadnn.enums import DnnEnum
from portadnn.operation import operation
from portadnn.ops.attention.layout import Heads
from portadnn.ops.batch_norm import parameter_dims
from portadnn.ops.records import gates, getitem, indexing, losses, optimizers
from portadnn.problem import FLOAT_TYPES, PROBLEMS, every_problem, packed_strides
from portadnn.shapes import convolution_output_dims, pooling_output_dims, window_output

TYPES = st.sampled_from(FLOAT_TYPES)


@st.composite
def specs(draw, dims, dtype, output=False):
    """Return a spec of `dims`: packed, strided with gaps, permuted, or (inputs) overlapping."""
    kind = draw(st.sampled_from(["nchw", "nhwc", "gaps", "permuted"] + ["any"] * (not output)))
    alignment = draw(st.sampled_from([a for a in (2, 4, 8, 16) if a >= dtype.itemsize]))
    if kind in ("nchw", "nhwc"):
        strides = packed_strides(dims, TensorFormat.parse(kind))
    elif kind == "any":
        strides = tuple(draw(st.integers(0, 50)) for _ in dims)
    else:
        order = draw(st.permutations(range(len(dims)))) if kind == "permuted" else range(len(dims))
        strides, step = [0] * len(dims), 1
        for axis in reversed(list(order)):
            strides[axis] = step
            step = step * max(dims[axis], 1) + draw(st.integers(0, 3))
        strides = tuple(strides)
    return TensorSpec(dtype, dims, strides, alignment)


def dims_of(rank):
    return st.tuples(*[st.integers(0, 6)] * rank)


def members(kind):
    return st.sampled_from(list(kind))


@st.composite
def convolutions(draw, op):
    dtype, spatial = draw(TYPES), draw(st.sampled_from([2, 3]))
    each = lambda least, most: tuple(draw(st.integers(least, most)) for _ in range(spatial))  # noqa: E731
    groups, window, padding, stride, dilation = draw(st.integers(1, 3)), each(1, 3), each(0, 2), each(1, 3), each(1, 2)
    size = tuple(
        max(1, (r - 1) * d + 1 - 2 * p) + draw(st.integers(0, 4))
        for r, d, p in zip(window, dilation, padding, strict=True)
    )
    channels = draw(st.integers(0, 3))
    x = (draw(st.integers(0, 3)), groups * channels, *size)
    w = (groups * draw(st.integers(0, 3)), channels, *window)
    y = convolution_output_dims(x, w, padding, stride, dilation, groups)
    kind = PROBLEMS[op]
    roles = dict(zip(kind.roles, (x, w, y), strict=True))
    tensors = {n: draw(specs(roles[n], dtype, n in kind.outputs)) for n in kind.tensor_names()}
    compute = draw(st.sampled_from([None, dtype.accumulator]))
    mode, math = draw(members(dnn.ConvolutionMode)), draw(members(dnn.MathType))
    place = {"padding": padding, "stride": stride, "dilation": dilation, "groups": groups}
    return kind(**tensors, **place, mode=mode, compute_type=compute, math=math)


@st.composite
def fused(draw, op):
    """Return a convolution with bias and activation around a plain one."""
    plain = draw(convolutions("convolution_forward"))
    bias = (1, plain.y.dims[1], *[1] * (len(plain.y.dims) - 2))
    rest = {"activation": draw(members(dnn.ActivationMode)), "ceiling": draw(st.floats(0, 1e30))}
    rest["nan_propagation"] = draw(members(dnn.NanPropagation))
    z, bias = draw(specs(plain.y.dims, plain.dtype)), draw(specs(bias, plain.dtype))
    problem = PROBLEMS[op](**vars_of(plain), z=z, bias=bias, **rest)
    assert problem.convolution == plain
    return problem


def vars_of(problem):
    return {field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)}


@st.composite
def poolings(draw, op):
    dtype, spatial = draw(TYPES), draw(st.sampled_from([2, 3]))
    each = lambda least, most: tuple(draw(st.integers(least, most)) for _ in range(spatial))  # noqa: E731
    window, padding, stride = each(1, 3), each(0, 2), each(1, 3)
    size = tuple(max(1, w - 2 * p) + draw(st.integers(0, 4)) for w, p in zip(window, padding, strict=True))
    x = (draw(st.integers(0, 3)), draw(st.integers(0, 3)), *size)
    y = pooling_output_dims(x, window, padding, stride)
    rest = {"mode": draw(members(dnn.PoolingMode)), "window": window, "padding": padding, "stride": stride}
    rest["nan_propagation"] = draw(members(dnn.NanPropagation))
    out_x, out_y = draw(specs(x, dtype, True)), draw(specs(y, dtype, True))
    if op == "pooling_forward":
        return PROBLEMS[op](x=draw(specs(x, dtype)), y=out_y, **rest)
    return PROBLEMS[op](y=out_y, dy=out_y, x=out_x, dx=out_x, **rest)


@st.composite
def ctc_losses(draw, op):
    """Return a CTC loss of labels in rows, or one behind the other."""
    steps, batch, classes, longest = (draw(st.integers(least, 4)) for least in (0, 0, 1, 0))
    dtype, integer = draw(TYPES), DataType.INT32
    probs, lengths = (steps, batch, classes), (batch,)
    rows = draw(st.sampled_from([(longest,), (batch, longest)]))
    tensors = {"labels": rows, "label_lengths": lengths, "input_lengths": lengths}
    values = {name: draw(specs(dims, integer)) for name, dims in tensors.items()}
    gradients = draw(specs(probs, dtype, True)) if draw(st.booleans()) else None
    rest = {"normalization": draw(members(dnn.LossNormalizationMode)), "gradient_mode": draw(members(dnn.CTCGradMode))}
    most, blank = draw(st.sampled_from([None, longest])), draw(st.integers(0, classes - 1))
    outputs = {"costs": draw(specs(lengths, dtype, True)), "gradients": gradients}
    return PROBLEMS[op](
        probs=draw(specs(probs, dtype)), **values, **outputs, **rest, max_label_length=most, blank=blank
    )


@st.composite
def attentions(draw, op):
    """Return a pass of multi-head attention, with or without projections."""
    dtype, heads = draw(TYPES), draw(st.integers(1, 3))
    steps, keys, batch, beams, size, value = (draw(st.integers(1, 4)) for _ in range(6))
    own = draw(members(dnn.AttnQueryMap))
    projections = [draw(st.integers(0, 3)) for _ in range(4)]
    projections[1] = projections[0]
    key_beams = beams if own is dnn.AttnQueryMap.ONE_TO_ONE else 1
    shapes = {
        "q": (steps, batch, beams, size),
        "k": (keys, batch, key_beams, size),
        "v": (keys, batch, key_beams, value),
    }
    layout = Heads(heads, (size, size, value), tuple(projections), True)
    shapes |= {f"d{name}": dims for name, dims in shapes.items()}
    shapes |= dict.fromkeys(("out", "dout"), (steps, batch, beams, layout.out))
    kind = PROBLEMS[op]
    written = set(kind.outputs)
    values = {n: draw(specs(d, dtype, n in written)) for n, d in shapes.items() if n in kind.tensor_names()}
    parameters = TensorSpec.packed(dtype, (layout.size,))
    if "dw" in written:
        values["dw"] = parameters
    elif layout.size:
        values["w"] = parameters
    rest = dict(zip(("q_proj", "k_proj", "v_proj", "o_proj"), projections, strict=True))
    kind.complete(values := {**values, "heads": heads, **rest, "biases": 1, "query_map": own})
    return kind(**values)


@st.composite
def same_shape(draw, op):
    """Return an activation, softmax, transform, set or scale: all tensors have the same dims (and strides)."""
    kind, dtype = PROBLEMS[op], draw(TYPES)
    dims = draw(dims_of(draw(st.integers(3, 8))))
    spec = draw(specs(dims, dtype, True))
    values = dict.fromkeys(kind.tensor_names(), spec)
    if "activation" in op:
        values["mode"], values["ceiling"] = draw(members(dnn.ActivationMode)), draw(st.floats(0, 1e30))
        values["coef"] = draw(st.floats(-1e30, 1e30))
        values["nan_propagation"] = draw(members(dnn.NanPropagation))
    if "softmax" in op:
        values["algorithm"], values["mode"] = draw(members(dnn.SoftmaxAlgorithm)), draw(members(dnn.SoftmaxMode))
    if op.endswith(("_forward", "transform_tensor")):
        values["x"] = draw(specs(dims, dtype))
    return kind(**values)


@st.composite
def broadcasts(draw, op):
    kind, dtype = PROBLEMS[op], draw(TYPES)
    dims = draw(dims_of(draw(st.integers(3, 5))))
    small = tuple(draw(st.sampled_from([1, d])) for d in dims)
    if op == "add_tensor":
        return kind(a=draw(specs(small, dtype)), c=draw(specs(dims, dtype, True)))
    compute = draw(st.sampled_from([None, dtype.accumulator]))
    rest = {"operation": draw(members(dnn.OpTensorOp)), "nan_propagation": draw(members(dnn.NanPropagation))}
    a, b, c = draw(specs(dims, dtype)), draw(specs(small, dtype)), draw(specs(dims, dtype, True))
    return kind(a=a, b=b, c=c, compute_type=compute, **rest)


@st.composite
def biases(draw, op):
    dtype, dims = draw(TYPES), draw(dims_of(draw(st.integers(3, 8))))
    db = (1, dims[1], *[1] * (len(dims) - 2))
    return PROBLEMS[op](dy=draw(specs(dims, dtype)), db=draw(specs(db, dtype, True)))


@st.composite
def batch_norms(draw, op):
    dtype, mode, dims = draw(TYPES), draw(members(dnn.BatchNormMode)), draw(dims_of(draw(st.integers(4, 5))))
    kind, parameters = PROBLEMS[op], parameter_dims(dims, mode)
    left_out = draw(st.sets(st.sampled_from(["running", "saved", "dscale", "dbias"])))
    if left_out & {"dscale", "dbias"}:
        left_out |= {"dscale", "dbias"}
    ranks = draw(st.integers(1, 4))
    tensors = {}
    for name in kind.tensor_names():
        if name not in kind.absent or name.partition("_")[0] not in left_out:
            data = name in ("x", "y", "dy", "dx")
            shape, element = (dims, dtype) if data else (parameters, dtype.accumulator)
            if name in ("means", "variances", "dscales", "dbiases"):
                shape = (ranks, *parameters[1:])
            if name == "counts":
                shape = (ranks, *(1,) * (len(dims) - 1))
            tensors[name] = draw(specs(shape, element, name in kind.outputs))
    return kind(**tensors, mode=mode)


@st.composite
def dropouts(draw, op):
    kind, states, rate = PROBLEMS[op], dnn.parse("set_dropout_descriptor").states, draw(st.floats(0, 1))
    if op == "set_dropout_descriptor":
        return kind(states, draw(st.integers(0, 2**64 - 1)))
    dtype, dims = draw(TYPES), draw(dims_of(draw(st.integers(3, 8))))
    x, y = draw(specs(dims, dtype)), draw(specs(dims, dtype, True))
    mask = TensorSpec.packed(dnn.DataType.UINT8, (dnn.dropout_get_reserve_space_size(dims),))
    return kind(x, y, mask, states, rate) if op == "dropout_forward" else kind(x, mask, y, rate)


@st.composite
def transformers(draw, op):
    dtype, (n, c, h, w) = draw(TYPES), draw(dims_of(4))
    grid = (n, h, w, 2)
    if "generator" in op:
        theta, backward = (n, 2, 3), op.endswith("_backward")
        names = ("dgrid", "dtheta") if backward else ("theta", "grid")
        shapes = (grid, theta) if backward else (theta, grid)
    else:
        x, y = (n, c, draw(st.integers(0, 9)), draw(st.integers(0, 9))), (n, c, h, w)
        names, shapes = ("x", "grid", "y"), (x, grid, y)
        if op.endswith("_backward"):
            names, shapes = ("x", "dy", "grid", "dx", "dgrid"), (x, y, grid, x, grid)
    outputs = PROBLEMS[op].outputs
    pairs = zip(names, shapes, strict=True)
    return PROBLEMS[op](**{name: draw(specs(dims, dtype, name in outputs)) for name, dims in pairs})


@st.composite
def responses(draw, op):
    """Return a local response or divisive normalisation; tensors that it may do without are there or not."""
    kind, dtype = PROBLEMS[op], draw(TYPES)
    dims = draw(dims_of(draw(st.integers(4, 5) if "divisive" in op else st.integers(3, 8))))
    names = [name for name in kind.tensor_names() if name not in kind.absent or draw(st.booleans())]
    rest = {"lrn_n": draw(st.integers(1, 16)), "lrn_alpha": draw(st.floats(-1e30, 1e30))}
    rest.update(lrn_beta=draw(st.floats(0.01, 100)), lrn_k=draw(st.floats(1e-5, 1e30)))
    return kind(**{name: draw(specs(dims, dtype, name in kind.outputs)) for name in names}, **rest)


@st.composite
def recurrent(draw, op):
    sizes = st.integers(1, 5)
    lengths = draw(st.one_of(st.tuples(sizes, sizes), st.lists(sizes, min_size=1, max_size=4)))
    lengths = sorted(lengths, reverse=True) if isinstance(lengths, list) else lengths
    mode, options = draw(members(dnn.RNNMode)), {n: draw(st.booleans()) for n in ("both", "skip", "states")}
    dropout = draw(st.sampled_from([0.0, 0.25]))
    found = words(mode, draw(TYPES), (lengths, *(draw(sizes) for _ in range(3))), **options, dropout=dropout)
    values = {field.name: found[field.name] for field in dataclasses.fields(PROBLEMS[op]) if field.name in found}
    PROBLEMS[op].complete(values)
    return PROBLEMS[op](**values)


@st.composite
def reductions(draw, op):
    dtype, dims = draw(TYPES), draw(dims_of(draw(st.integers(3, 8))))
    kept = [draw(st.sampled_from([1, d])) for d in dims]
    if 0 in dims and 0 not in kept:
        kept = dims
    a, c, operation = draw(specs(dims, dtype)), draw(specs(tuple(kept), dtype, True)), draw(members(dnn.ReduceTensorOp))
    indices = draw(st.booleans()) and operation.name in ("MIN", "MAX", "AMAX")
    places = TensorSpec.packed(DataType.INT32, tuple(kept)) if indices else None
    return PROBLEMS[op](a, c, operation, None, draw(members(dnn.NanPropagation)), places)


@st.composite
def sample_norms(draw, op):
    dtype, mode, dims = draw(TYPES), draw(members(dnn.NormMode)), draw(dims_of(draw(st.integers(3, 8))))
    dims = (dims[0], max(dims[1], 1), *dims[2:])
    from_axis = mode in (dnn.NormMode.LAYER_NORM, dnn.NormMode.RMS_NORM)
    axis = draw(st.integers(-len(dims), len(dims) - 1)) if from_axis else 1
    divisors = [g for g in range(1, dims[1] + 1) if dims[1] % g == 0]
    groups = draw(st.sampled_from(divisors)) if mode is dnn.NormMode.GROUP_NORM else 1
    kind = PROBLEMS[op]
    x = TensorSpec.packed(dtype, dims)
    plain = PROBLEMS["normalization_forward"](x=x, y=x, mode=mode, axis=axis, groups=groups)
    kept = draw(st.sets(st.sampled_from(["scale", "bias", "saved"])))
    tensors = {}
    for name in kind.tensor_names():
        needed = "saved" if name.startswith("saved") else "scale"
        if name in ("x", "y", "dy", "dx"):
            tensors[name] = draw(specs(dims, dtype, name in kind.outputs))
        elif {needed} | ({name} & {"bias"}) <= kept and (name, mode) != ("saved_mean", dnn.NormMode.RMS_NORM):
            shape = plain.statistics_dims if needed == "saved" else plain.parameter_dims
            tensors[name] = draw(specs(shape, dtype.accumulator, name in kind.outputs))
    return kind(**tensors, mode=mode, axis=axis, groups=groups)


ITEMS = [record.op for family in (gates, losses, optimizers, indexing, getitem) for record in family.RECORDS]


def strategy(op):
    if op.startswith(("lrn", "divisive")):
        return responses(op)
    if op.startswith("rnn"):
        return recurrent(op)
    if op in ITEMS:
        return st.integers(0, 2000).map(lambda number: dnn.parse(operation(op).drawing.line(op, 1, number)))
    if op == "reduce_tensor":
        return reductions(op)
    if op.startswith("multi_head_attn"):
        return attentions(op)
    if op == "ctc_loss":
        return ctc_losses(op)
    if op.startswith("normalization"):
        return sample_norms(op)
    if op.startswith("batch_normalization"):
        return batch_norms(op)
    if "dropout" in op:
        return dropouts(op)
    if op == "convolution_backward_bias":
        return biases(op)
    if op == "convolution_bias_activation_forward":
        return fused(op)
    if op.startswith("convolution"):
        return convolutions(op)
    if op.startswith("pooling"):
        return poolings(op)
    if op.startswith("spatial_tf"):
        return transformers(op)
    return broadcasts(op) if op in ("add_tensor", "op_tensor") else same_shape(op)


@pytest.mark.parametrize("op", sorted(every_problem()))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_round_trip(op, data):
    problem = data.draw(strategy(op))
    problem.validate()
    line = str(problem)
    back, scalars = dnn.parse_line(line)
    assert back == problem and hash(back) == hash(problem) and str(back) == line and not scalars
    assert dnn.parse(line + " " + " ".join(f"{n}=0.5" for n in problem.scalars)) == problem
    assert problem.bytes() >= 0 and problem.flops() >= 0
    for spec in problem.tensors:
        assert TensorSpec.parse(str(spec)) == spec


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), min_size=3, max_size=5))
def test_overlapping_is_exact(axes):
    dims, strides = zip(*axes, strict=True)
    addresses = [
        sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*map(range, dims))
    ]
    spec = TensorSpec(DataType.FLOAT, dims, strides)
    assert spec.overlapping == (len(set(addresses)) < len(addresses))
    assert spec.span == (1 + max(addresses) if addresses else 0)


def test_overlapping_is_fast_for_large_tensors():
    huge = TensorSpec(DataType.FLOAT, (1000, 1000, 1000), (1, 1, 1))
    assert huge.overlapping
    assert not TensorSpec(DataType.FLOAT, (2, 3, 2**27), (3 * 2**27, 2**27, 1)).overlapping
    assert not TensorSpec(DataType.FLOAT, (3, 3, 1), (2, 3, 1)).overlapping  # interleaved: 0 2 4 3 5 7 6 8 10


@given(
    size=st.integers(1, 12),
    window=st.integers(1, 5),
    pad=st.integers(0, 3),
    stride=st.integers(1, 4),
    dil=st.integers(1, 3),
)
def test_windows_are_counted(size, window, pad, stride, dil):
    """A window begins at every stride-th place of the padded input at which it still fits."""
    reach = (window - 1) * dil + 1
    places = [start for start in range(-pad, size + pad, stride) if start + reach <= size + pad]
    assert max(window_output(size, window, pad, stride, dil), 0) == len(places) or reach > size + 2 * pad
    if places:
        dims = convolution_output_dims((2, 3, size), (4, 3, window), (pad,), (stride,), (dil,), 1)
        assert dims == (2, 4, len(places))


@pytest.mark.parametrize(
    ("line", "flops", "nbytes"),
    [
        ("convolution_forward x=f32:2x4x5x6 w=f32:8x4x3x3", 2 * 2 * 8 * 3 * 4 * 4 * 9, 4 * (240 + 288 + 192)),
        ("convolution_forward x=f16:1x4x5x6 w=f16:8x2x1x1 groups=2", 2 * 8 * 30 * 2, 2 * (120 + 16 + 240)),
        ("convolution_backward_bias dy=f64:2x3x4x5", 120, 8 * 123),
        (  # z is not read with alpha2 = 0
            "convolution_bias_activation_forward x=f32:1x4x5x6 w=f32:8x4x1x1 activation=relu",
            2 * 8 * 30 * 4 + 2 * 240,
            4 * (120 + 32 + 8 + 240),
        ),
        ("pooling_forward x=f32:1x2x4x4 mode=max window=2,2 stride=2,2", 8 * 4, 4 * (32 + 8)),
        ("softmax_forward x=f32:2x3x4x5", 480, 4 * 240),
        ("lrn_cross_channel_backward x=f32:2x3x4x5", 24 * 120, 4 * 360),  # y is not read
        ("divisive_normalization_forward x=f32:2x3x4x5 lrn_n=3", 31 * 120, 4 * 240),
        ("add_tensor a=f32:1x3x1x1 c=f32:2x3x4x5", 360, 4 * (3 + 240)),
        ("scale_tensor y=f32:2x3x4x5", 120, 4 * 240),
        ("set_tensor y=f32:2x3x4x5", 0, 4 * 120),
        ("activation_forward x=f32:2x3x4x5/1000,100,10,1 mode=relu", 120, 4 * 240),
    ],
)
def test_counts(line, flops, nbytes):
    problem = dnn.parse(line)
    assert problem.flops() == flops
    assert problem.bytes() == nbytes


def test_text_form_is_short_and_says_everything():
    line = "convolution_forward x=f32:8x64x56x56 w=f32:64x64x3x3 padding=1,1"
    assert str(dnn.parse(line)) == (
        "convolution_forward x=f32:8x64x56x56 w=f32:64x64x3x3 y=f32:8x64x56x56 padding=1,1 stride=1,1 dilation=1,1"
    )
    nhwc = dnn.parse("convolution_forward x=f16:8x64x56x56:nhwc w=f16:64x64x1x1 compute_type=f32")
    assert nhwc.y.format is TensorFormat.NHWC and nhwc.compute_type is DataType.FLOAT
    assert dnn.parse_line("set_tensor y=f32:1x2x3/7,3,1@4 value=2")[1] == {"value": 2.0}


@pytest.mark.parametrize("kind", DnnEnum.__subclasses__())
def test_enumerations_by_every_name(kind):
    for member in kind:
        words = member.c_name.split("_")
        names = {member.name, member.name.lower(), member.c_name, member.c_name.lower()}
        names |= {"_".join(words[i:]) for i in range(len(words)) if member.c_name.endswith("_" + member.name)}
        for name in names:
            if name.upper().endswith(member.name):
                assert kind.parse(name) is member
        assert kind.parse(int(member)) is member
    with pytest.raises(dnn.BadParam):
        kind.parse("CUDNN_SOMETHING_" + next(iter(kind)).name)
