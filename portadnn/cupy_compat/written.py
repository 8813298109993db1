"""The functions of ``cupy.cuda.cudnn`` that write to host memory, read lists from it, or do without a C function."""

from __future__ import annotations

import ctypes

from portadnn import cudnn

from ..ops.rnn.sizes import network_of_step, place_of_part
from .errors import cudnn_errors
from .memory import as_number, at, host_integers
from .objects import forget, number_of, object_of, open_handle

VERSION = 8907  # the newest cuDNN that CuPy 13 knows: programs compare it and call with its arguments
_STREAMS: dict[int, int] = {}  # what setStream said, by handle: calls follow CuPy's current stream


def getVersion() -> int:
    """Return the version of cuDNN whose functions these are."""
    return VERSION


def get_build_version() -> int:
    """Return the version of cuDNN that CuPy was built with."""
    return VERSION


@cudnn_errors
def create() -> int:
    """Open a handle on CuPy's current device, or on the CPU."""
    return number_of(open_handle())


@cudnn_errors
def destroy(handle: int) -> None:
    """Close a handle."""
    cudnn.cudnnDestroy(object_of(as_number(handle), "handle"))
    forget(as_number(handle))
    _STREAMS.pop(as_number(handle), None)


@cudnn_errors
def setStream(handle: int, stream: int) -> None:
    """Note a stream. Calls go to CuPy's current stream, as CuPy's own do."""
    object_of(as_number(handle), "handle")
    _STREAMS[as_number(handle)] = as_number(stream)


@cudnn_errors
def getStream(handle: int) -> int:
    """Return the stream that was noted."""
    object_of(as_number(handle), "handle")
    return _STREAMS.get(as_number(handle), 0)


@cudnn_errors
def queryRuntimeError(handle: int, mode: int) -> int:
    """Return success: the device's errors are raised by the calls that find them."""
    object_of(as_number(handle), "handle")
    return 0


def _labels(dims: tuple[int, ...], places: list[int]) -> list[list[int]]:
    """Return labels, label lengths and input lengths from their addresses in host memory."""
    lengths, inputs = (host_integers(place, dims[1]) for place in places[1:])
    return [host_integers(places[0], sum(lengths)), lengths, inputs]


@cudnn_errors
def getCTCLossWorkspaceSize(
    handle: int,
    probsDesc: int,
    gradientsDesc: int,
    labels: int,
    labelLengths: int,
    inputLengths: int,
    algo: int,
    ctcLossDesc: int,
) -> int:
    """cudnnGetCTCLossWorkspaceSize, with integers for handles, descriptors and memory."""
    probs, gradients = object_of(probsDesc, "probsDesc"), object_of(gradientsDesc, "gradientsDesc")
    listed = _labels(probs.dims, [labels, labelLengths, inputLengths])
    given = (object_of(handle, "handle"), probs, gradients, *listed, algo, object_of(ctcLossDesc, "ctcLossDesc"))
    return int(cudnn.cudnnGetCTCLossWorkspaceSize(*given))


@cudnn_errors
def CTCLoss(
    handle: int,
    probsDesc: int,
    probs: int,
    labels: int,
    labelLengths: int,
    inputLengths: int,
    costs: int,
    gradientsDesc: int,
    gradients: int,
    algo: int,
    ctcLossDesc: int,
    workspace: int,
    workSpaceSizeInBytes: int,
) -> None:
    """cudnnCTCLoss, with integers for handles, descriptors and memory."""
    desc = object_of(probsDesc, "probsDesc")
    listed = _labels(desc.dims, [labels, labelLengths, inputLengths])
    of_gradients = object_of(gradientsDesc, "gradientsDesc")
    tail = (algo, object_of(ctcLossDesc, "ctcLossDesc"), at(workspace), workSpaceSizeInBytes)
    head = (object_of(handle, "handle"), desc, at(probs), *listed, at(costs), of_gradients, at(gradients))
    cudnn.cudnnCTCLoss(*head, *tail)


@cudnn_errors
def getRNNDataDescriptor(
    RNNDataDesc: int,
    dataType: int,
    layout: int,
    maxSeqLength: int,
    batchSize: int,
    vectorSize: int,
    arrayLengthRequested: int,
    seqLengthArray: int,
    paddingFill: int,
) -> None:
    """cudnnGetRNNDataDescriptor: all but the first and the number of lengths are addresses that are written to."""
    given = object_of(RNNDataDesc, "RNNDataDesc")
    *values, lengths, padding = cudnn.cudnnGetRNNDataDescriptor(given, arrayLengthRequested)
    for place, value in zip((dataType, layout, maxSeqLength, batchSize, vectorSize), values, strict=True):
        ctypes.c_int.from_address(place).value = int(value)
    (ctypes.c_int * len(lengths)).from_address(seqLengthArray)[:] = list(lengths)
    if padding is not None and paddingFill:
        (ctypes.c_double if int(values[0]) == 1 else ctypes.c_float).from_address(paddingFill).value = padding


def _part(bias: bool, numbers: tuple[int, ...], layer: int, w: int, part: int, place: int) -> None:
    """Set the descriptor of a part of a network's parameters and write the part's address; 0 where there is none."""
    on, rnn, x, of_w, of_part = (object_of(as_number(number), "desc") for number in numbers)
    name = "cudnnGetRNNLinLayerBiasParams" if bias else "cudnnGetRNNLinLayerMatrixParams"
    found = getattr(cudnn, name)(on, rnn, layer, x, of_w, at(w), part, of_part)
    first, *_ = place_of_part(network_of_step(rnn.value, x.value), layer, part, bias)
    size = of_w.spec.dtype.itemsize
    ctypes.c_size_t.from_address(place).value = 0 if found is None else as_number(w) + first * size


@cudnn_errors
def getRNNLinLayerMatrixParams(
    handle: int,
    rnnDesc: int,
    layer: int,
    xDesc: int,
    wDesc: int,
    w: int,
    linLayerID: int,
    linLayerMatDesc: int,
    linLayerMat: int,
) -> None:
    """cudnnGetRNNLinLayerMatrixParams: the address of the matrix is written to `linLayerMat`."""
    _part(False, (handle, rnnDesc, xDesc, wDesc, linLayerMatDesc), layer, w, linLayerID, linLayerMat)


@cudnn_errors
def getRNNLinLayerBiasParams(
    handle: int,
    rnnDesc: int,
    layer: int,
    xDesc: int,
    wDesc: int,
    w: int,
    linLayerID: int,
    linLayerBiasDesc: int,
    linLayerBias: int,
) -> None:
    """cudnnGetRNNLinLayerBiasParams: the address of the bias is written to `linLayerBias`."""
    _part(True, (handle, rnnDesc, xDesc, wDesc, linLayerBiasDesc), layer, w, linLayerID, linLayerBias)
