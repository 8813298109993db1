"""Rules on values that data cannot say: what follows from several arguments, or from shapes."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping

from ...model.state import Deed, Thing
from ...values import UNKNOWN, Value, constants, items, same, unknown
from ..conditions import plain_type
from ..journals import deeds_about
from ..registry import check
from ..shapes import Shape, enumerator, number, numbers, packed, shape
from ..situation import Hit, Situation
from .arguments import more_channels

_CONVOLUTIONS = ("cudnnConvolutionForward", "cudnnConvolutionBackwardFilter", "cudnnConvolutionBiasActivationForward")
_SCALARS = ("alpha", "beta", "alphaDataDiff", "betaDataDiff", "alphaParamDiff", "betaParamDiff")


@check()
def other_compute_type(situation: Situation) -> Iterator[Hit]:
    """Find compute types, but double ones for tensors that are double, too: of these V41 tells."""
    thing, value = situation.thing("convDesc"), situation.value("computeType", "dataType")
    if not {"CUDNN_DATA_DOUBLE"}.issuperset({*constants(value)} - {"CUDNN_DATA_FLOAT"}) or thing is None:
        yield Hit()
        return

    def confirm(journal: Mapping[int, Deed]) -> bool:
        of_it = (deed for function in _CONVOLUTIONS for deed in deeds_about(journal, function, thing.id))
        types = [deed.things["xDesc"].fields.get("dataType", UNKNOWN) for deed in of_it if "xDesc" in deed.things]
        said = [constant for type_ in types for constant in constants(type_)]
        return bool(said) and "CUDNN_DATA_DOUBLE" not in said

    yield Hit(confirm=confirm)


@check()
def found_math_type(situation: Situation) -> Iterator[Hit]:
    """Find math types that a search for algorithms gave, whatever they are."""
    values = situation.value("mathType").options
    searched = any("FindConvolution" in name or "Algorithm_v7" in name for name in situation.mentioned)
    for value in values:
        lost = value.data is None or "~" in str(value.data)  # of a tuple or a cache
        if value.kind == "unknown" and (str(value.data).endswith(".mathType") or (lost and searched)):
            yield Hit("possible", "mathType")
            return


def _as_double(value: Value) -> tuple[Value | None, bool]:
    """Return what a scalar is where it is a double, and whether it surely is one: a build or a branch may decide."""
    mine = [option for option in value.options if plain_type(option.type) in ("double", "double?")]
    sure = len(mine) == len(value.options) and all(plain_type(option.type) == "double" for option in mine)
    if len(mine) == len(value.options) and len(mine) > 1 and sure:
        return value.typed("double"), True
    numbers_ = [option for option in mine if number(option)]
    return next(iter(numbers_ or mine), None), sure


@check("names", "read", "declared")
def double_scalars(situation: Situation) -> Iterator[Hit]:
    """Find scalars that are double, and read otherwise as float."""
    found: list[tuple[str, str]] = []
    certain = True
    for name in _SCALARS:
        value, sure = _as_double(situation.value(name))
        if value is None:
            continue
        certain = certain and sure
        known = number(value)
        if known is None:
            if name.startswith("alpha") and value.kind == "unknown":
                found.append((name, "its first half"))
                certain = False
            continue
        read = struct.unpack("<f", struct.pack("<d", float(known))[:4])[0]
        if read != known:
            found.append((name, f"{known:g} reads as {read:g}"))
    if found:
        texts = [a.text for name, _ in found if (a := situation.argument(name))]
        values = (number(_as_double(situation.value(name))[0] or UNKNOWN) for name, _ in found)
        declared = " ".join(
            f"float {name}_ = {1 if value is None else value:g};"
            for (name, _), value in zip(found, values, strict=True)
        )
        words = {
            "names": ", ".join(texts),
            "read": ", ".join(f"{name}: {what}" for name, what in found),
            "declared": f"{declared}  // pass {' and '.join(f'&{name}_' for name, _ in found)}",
        }
        yield Hit("proven" if certain else "possible", found[0][0], words)


@check()
def adds_to_itself(situation: Situation) -> Iterator[Hit]:
    """Find an OpTensor whose output is an operand."""
    c = situation.argument("C")
    for name, scale in (("A", "alpha1"), ("B", "alpha2")):
        operand = situation.argument(name)
        if c is None or operand is None or number(situation.value(scale)) == 0:
            continue
        in_source = situation.event.origin == "source"  # logs tell addresses, and not how the program writes them
        if operand.text == c.text if in_source else same(operand.value, c.value):
            yield Hit(about="beta")
            return


# Layouts ---------------------------------------------------------------------------------------------------------


def _layouts(found: Shape) -> set[str]:
    """Return the layouts that a tensor may be said to have: both where there is one channel or one point."""
    if found.layout == "strided" or found.layout is None:
        return {found.layout} if found.layout else set()
    if found.dims is None or found.strides is None:
        return {found.layout}
    said = {"nchw", "nhwc"}
    return {
        layout
        for layout in said
        for plain in [packed(found.dims, "nhwc" if layout == "nhwc" else "nchw")]
        if all(d == 1 or s == p for d, s, p in zip(found.dims, found.strides, plain, strict=True))
    }


def _copied(situation: Situation, descriptor: str, tensor: str) -> str:
    texts = [a.text if (a := situation.argument(name)) else name for name in (descriptor, tensor)]
    return (
        "miopenTransformTensor(handle, &one, {0}, {1}, &zero, packedDesc, t);  "
        "// t: a packed buffer in NCHW; use packedDesc and t for {0} and {1}"
    ).format(*texts)


def _of_layout(situation: Situation, layout: str, descriptor: str, tensor: str) -> Iterator[Hit]:
    found = shape(situation, descriptor)
    if _layouts(found) == {layout}:
        strides = ", ".join(map(str, found.strides or ()))
        yield Hit(words={"copied": _copied(situation, descriptor, tensor), "strides": f"strides {strides}"})
    elif layout == "nhwc" and found.layout is None and any(map(_perhaps_nhwc, situation.things(descriptor))):
        yield Hit("possible", words={"copied": _copied(situation, descriptor, tensor), "strides": "its strides"})


def _perhaps_nhwc(thing: Thing) -> bool:
    """Whether NHWC is one of the formats that a tensor may have, and not the same as NCHW with the sizes known."""
    said = (str(one) for one in constants(thing.fields.get("format", UNKNOWN)))
    if not any(one.endswith(("NHWC", "NDHWC")) for one in said):
        return False
    dims = thing.fields.get("dimA", UNKNOWN)
    sizes = [number(one) for one in dims.data] if dims.kind == "items" else []
    return len(sizes) < 3 or (sizes[1] != 1 and any(size != 1 for size in sizes[2:]))


@check("copied")
def nhwc_x(situation: Situation) -> Iterator[Hit]:
    """Find x is NHWC."""
    yield from _of_layout(situation, "nhwc", "xDesc", "x")


@check("copied")
def nhwc_y(situation: Situation) -> Iterator[Hit]:
    """Find y is NHWC."""
    yield from _of_layout(situation, "nhwc", "yDesc", "y")


@check("copied")
def nhwc_c(situation: Situation) -> Iterator[Hit]:
    """Find C is NHWC."""
    yield from _of_layout(situation, "nhwc", "cDesc", "C")


@check("copied", "strides")
def strided_x(situation: Situation) -> Iterator[Hit]:
    """Find x has gaps."""
    tensor = "x" if situation.argument("x") else "xData"
    yield from _of_layout(situation, "strided", "xDesc", tensor)
    thing = situation.thing("xDesc")
    deed = situation.journal.get(thing.version) if thing is not None and thing.certain else None
    if deed is not None and deed.event.function == "cudnnSetTensor4dDescriptorEx" and more_channels(deed.event):
        stride = deed.event.argument("nStride")
        words = {
            "copied": _copied(situation, "xDesc", tensor),
            "strides": f"from image to image {stride.text if stride else ''}",
        }
        yield Hit("possible", words=words)


_TRIPLES = (("xDesc", "wDesc", "yDesc"), ("dyDesc", "wDesc", "dxDesc"), ("xDesc", "dyDesc", "dwDesc"))


@check("first", "first_layout", "second", "second_layout")
def mixed_layouts(situation: Situation) -> Iterator[Hit]:
    """Find tensors of a convolution of which one is NCHW and another NHWC."""
    names = next((names for names in _TRIPLES if all(situation.argument(name) for name in names)), ())
    found = [(name, _layouts(shape(situation, name))) for name in names]
    plain = [(name, next(iter(layouts))) for name, layouts in found if len(layouts) == 1]
    for name, layout in plain[1:]:
        if layout != plain[0][1] and "strided" not in (layout, plain[0][1]):
            texts = [a.text for n in (plain[0][0], name) if (a := situation.argument(n))]
            words = {"first": texts[0], "first_layout": plain[0][1].upper(), "second": texts[1]}
            yield Hit(about=name, words={**words, "second_layout": layout.upper()})
            return


@check("groups", "axis", "desc", "stride")
def group_strides(situation: Situation) -> Iterator[Hit]:
    """Find a stride that the groups do not divide."""
    groups = number(situation.field("convDesc.groupCount"))
    for name in ("xDesc", "dxDesc", "yDesc", "dyDesc"):
        argument = situation.argument(name)
        found = shape(situation, name)
        if argument is None or groups is None or groups <= 1 or found.strides is None:
            continue
        axis, stride = ("w", found.strides[-1]) if found.layout == "nhwc" else ("n", found.strides[0])
        falling = tuple(sorted(found.strides, reverse=True)) == found.strides
        if (found.layout != "strided" or falling) and stride % int(groups):
            words = {"groups": f"{groups:g}", "axis": axis, "desc": argument.text, "stride": str(stride)}
            yield Hit(about=name, words=words)
            return


# Shapes ----------------------------------------------------------------------------------------------------------


def _of_pooling(situation: Situation, *names: str) -> tuple[int, ...] | None:
    """Return the numbers of the first of these settings of the pooling descriptor."""
    thing = situation.thing("poolingDesc", "poolDesc")
    if thing is None or not thing.certain:
        return None
    return next((numbers(thing.fields[name]) for name in names if name in thing.fields), None)


@check("elements")
def big_window(situation: Situation) -> Iterator[Hit]:
    """Find a maximum over so many elements that their places do not fit in a byte."""
    mode = enumerator(situation.field("poolingDesc.mode")) or enumerator(situation.field("poolDesc.mode"))
    window = _of_pooling(situation, "windowDimA")
    thing = situation.thing("poolingDesc", "poolDesc")
    if mode is None or "max" not in mode.lower() or window is None or math.prod(window) < 255:
        return
    index_type = None if thing is None else thing.fields.get("index_type")
    if index_type is None or enumerator(index_type) == "miopenIndexUint8":
        yield Hit(words={"elements": str(math.prod(window))})


@check("window", "desc")
def global_window(situation: Situation) -> Iterator[Hit]:
    """Find a window as large as the padded image."""
    window, image = _of_pooling(situation, "windowDimA"), shape(situation, "xDesc").dims
    pads = _of_pooling(situation, "paddingA", "padA")
    if window is None or image is None or pads is None or not len(window) == len(pads) == len(image) - 2:
        yield from _as_the_image(situation)
        return
    if any(w >= size + 2 * pad for w, size, pad in zip(window, image[2:], pads, strict=True)):
        argument = situation.argument("poolingDesc", "poolDesc")
        yield Hit(words={"window": "x".join(map(str, window)), "desc": argument.text if argument else "it"})


def _as_the_image(situation: Situation) -> Iterator[Hit]:
    """Find a window that is written as the image's sizes are."""
    pooling, image = situation.thing("poolingDesc", "poolDesc"), situation.thing("xDesc")
    if pooling is None or image is None or not (pooling.certain and image.certain) or pooling.many or image.many:
        return
    window, dims = pooling.fields.get("windowDimA", UNKNOWN), image.fields.get("dimA", UNKNOWN)
    pads = next((pooling.fields[name] for name in ("paddingA", "padA") if name in pooling.fields), UNKNOWN)
    if dims.kind != "items":
        dims = _asked(situation, image)
    if (
        not set(numbers(pads) or (1,)) <= {0}
        or window.kind != "items"
        or dims.kind != "items"
        or not 0 < len(window.data) == len(dims.data) - 2
    ):
        return
    said = [[same(w, size) for w in window_.options] for window_, size in zip(window.data, dims.data[2:], strict=True)]
    if all(True in one for one in said):
        argument = situation.argument("poolingDesc", "poolDesc")
        sure = all(one == [True] for one in said)
        yield Hit(
            "proven" if sure else "possible",
            words={"window": "as the image", "desc": argument.text if argument else "it"},
        )


def _asked(situation: Situation, image: Thing) -> Value:
    """Return the sizes that functions tell of a tensor which others have set: the same whenever they are asked."""
    get = "cudnnGetTensor4dDescriptor" if situation.event.library == "cudnn" else "miopenGet4dTensorDescriptor"
    return items([unknown(f"{get}.{name}({image.id}.{image.version})", "int") for name in "nchw"], "int")


@check("fault", "remedy")
def op_tensor_operands(situation: Situation) -> Iterator[Hit]:
    """Find operands that do not fit each other."""
    a, b, c = (shape(situation, name) for name in ("aDesc", "bDesc", "cDesc"))
    text = {name: argument.text for name in ("aDesc", "bDesc", "cDesc") if (argument := situation.argument(name))}
    if a.dims and c.dims and math.prod(a.dims) != math.prod(c.dims):
        fault = f"{text['aDesc']} and {text['cDesc']} have different sizes ({_by(a.dims)} and {_by(c.dims)})"
        yield Hit(about="aDesc", words={"fault": fault, "remedy": "// exchange A and B: B may be broadcast, A may not"})
    if b.dtype and c.dtype and b.dtype != c.dtype:
        fault = f"{text['bDesc']} is {b.dtype} and {text['cDesc']} is {c.dtype}"
        yield Hit(about="bDesc", words={"fault": fault, "remedy": "// convert B to C's type first"})
    if c.rank is not None and c.rank > 5:
        fault = f"{text['cDesc']} has {c.rank} dims"
        yield Hit(about="cDesc", words={"fault": fault, "remedy": "// put dims together: at most five"})


def _by(dims: tuple[int, ...]) -> str:
    return "x".join(map(str, dims))


_ARGUMENTS = re.compile("_(MIN|MAX|AMAX)$")


@check("fault", "remedy")
def reduced_ranks(situation: Situation) -> Iterator[Hit]:
    """Find a reduction of too many dims, into another number of them, or of half with indices."""
    a, c = shape(situation, "aDesc"), shape(situation, "cDesc")
    text = {name: argument.text for name in ("aDesc", "cDesc") if (argument := situation.argument(name))}
    if a.rank is not None and a.rank > 6:
        fault = f"{text['aDesc']} has {a.rank} dims"
        yield Hit(
            words={"fault": fault, "remedy": "// put neighbouring dims together that are both reduced or both kept"}
        )
    elif a.rank is not None and c.rank is not None and a.rank != c.rank:
        fault = f"{text['aDesc']} has {a.rank} dims and {text['cDesc']} {c.rank}"
        yield Hit(
            words={"fault": fault, "remedy": f"// describe the output with {a.rank} dims, of 1 where it is reduced"}
        )
    indices = enumerator(situation.field("reduceTensorDesc.reduceTensorIndices"))
    operation = enumerator(situation.field("reduceTensorDesc.reduceTensorOp")) or ""
    wanted = indices == "CUDNN_REDUCE_TENSOR_FLATTENED_INDICES" and _ARGUMENTS.search(operation)
    if wanted and a.dtype == "CUDNN_DATA_HALF":
        fault = f"{text['aDesc']} is half, and indices are asked for"
        yield Hit(words={"fault": fault, "remedy": "// convert to float first: indices are of float only"})


_DIMS = ("n", "c", "h", "w", "k")
_STRIDES = ("nStride", "cStride", "hStride", "wStride")
_NO_LENGTH = "// leave the call out where the batch is empty: if (n > 0) { ... }"
_NO_STRIDE = "// copy the broadcast view into a packed tensor first"


@check("name", "what", "remedy")
def zeros(situation: Situation) -> Iterator[Hit]:
    """Find a dim or a stride that is 0."""
    for names, arrays, what, remedy in (
        (_DIMS, ("dimA", "filterDimA", "dimsA"), "lengths", _NO_LENGTH),
        (_STRIDES, ("strideA", "stridesA"), "strides", _NO_STRIDE),
    ):
        given = [situation.value(name) for name in names if situation.argument(name)]
        if len(given) > 1 and all(number(value) == 0 for value in given):
            continue  # an object as it is before it is set
        whole = all(number(value) is not None for value in given)  # else others may be set later, too
        for name in (*names, *arrays):
            argument = situation.argument(name)
            if argument is None or not (whole or argument.text.strip() == "0"):
                continue
            if _has_zero(situation.value(name), array=name in arrays):
                yield Hit(
                    about=name,
                    words={
                        "name": f"{_named(name, argument.text)} {'has a' if name in arrays else 'is'}",
                        "what": what,
                        "remedy": remedy,
                    },
                )


def _named(name: str, text: str) -> str:
    return name if text.strip() in ("0", name) else f"{name} ({text})"


def _has_zero(value: Value, *, array: bool) -> bool:
    if not array:
        return number(value) == 0
    return value.kind == "items" and any(number(element) == 0 for element in value.data)


@check()
def fresh_statistics(situation: Situation) -> Iterator[Hit]:
    """Find running statistics in memory that was just allocated, which nothing has filled since."""
    thing = situation.thing("resultRunningMean")
    if thing is not None and thing.kind == "memory" and thing.certain and "filled" not in thing.fields:
        yield Hit("possible")


@check()
def mode_in_a_log(situation: Situation) -> Iterator[Hit]:
    """Find a convolution whose descriptor only a log tells of: where it was set, the rule speaks of that call."""
    if situation.event.origin != "source" and not any(map(any, (one.set_by for one in situation.things("convDesc")))):
        yield Hit()
