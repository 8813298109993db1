"""What the words of cudnn_calls.py and guide_errors.txt stand for: everything is made through cuDNN's names."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
from cudnn_calls import ARGUMENTS, PROBLEMS, SCRIPTS
from helper import Case, make_buffers

import portadnn as dnn
from portadnn import cudnn
from portadnn.problem import TensorSpec, parse_line

MEMORY = 1 << 13  # bytes of every tensor where only errors are wanted: any descriptor fits
ANYTHING = object()
CREATE = {
    "t": "Tensor",
    "f": "Filter",
    "c": "Convolution",
    "p": "Pooling",
    "a": "Activation",
    "n": "LRN",
    "d": "Dropout",
    "r": "RNN",
    "s": "SpatialTransformer",
    "o": "OpTensor",
}
SET = {  # descriptors that are made once, and how they are set
    "conv": ("c", "cudnnSetConvolution2dDescriptor", 1, 0, 2, 1, 1, 2, 1),
    "conv3": ("c", "cudnnSetConvolutionNdDescriptor", 3, (0,) * 3, (1,) * 3, (1,) * 3, 1, 0),
    "conv1": ("c", "cudnnSetConvolutionNdDescriptor", 1, (0,), (1,), (1,), 1, 0),
    "conv_half": ("c", "cudnnSetConvolutionNdDescriptor", 2, (1, 0), (2, 1), (1, 2), 1, 2),
    "pool": ("p", "cudnnSetPooling2dDescriptor", 0, 1, 3, 2, 1, 0, 2, 1),
    "pool3": ("p", "cudnnSetPoolingNdDescriptor", 0, 0, 3, (2,) * 3, (0,) * 3, (1,) * 3),
    "clipped": ("a", "cudnnSetActivationDescriptor", 3, 0, 0.75),
    "lrn": ("n", "cudnnSetLRNDescriptor", 3, 1.5, 0.75, 2.0),
    "transformer": ("s", "cudnnSetSpatialTransformerNdDescriptor", 0, 0, 4, (2, 3, 4, 5)),
    "transformer5": ("s", "cudnnSetSpatialTransformerNdDescriptor", 0, 0, 5, (2, 3, 4, 5, 6)),
    "maximum": ("o", "cudnnSetOpTensorDescriptor", 3, 0, 0),
    "maximum_double": ("o", "cudnnSetOpTensorDescriptor", 3, 1, 0),
}


class World:
    """A handle, the tensors of a problem if there is one, and the objects that words name.

    Attributes
    ----------
    memory : dict
        Native flat arrays by the names of the problem's tensors.
    buffers : dict
        What they held, on the host; nothing where only errors are wanted.
    """

    def __init__(self, handle, line: str = "", exact: bool = True):
        self.handle = handle
        self.found = {"handle": handle, "null": None, "?": ANYTHING}
        self.memory, self.buffers = {}, {}
        self.problem = None
        if line:
            self.problem, given = parse_line(line)
            self.numbers = {**self.problem.scalars, **given}
            self._tensors(line, exact)

    def _tensors(self, line: str, exact: bool) -> None:
        if exact:
            self.buffers = make_buffers(Case(line))
        for name, spec in zip(self.problem.names, self.problem.tensors, strict=True):
            if exact:
                buffer = self.buffers[name]
                values = buffer.memory[buffer.offset : buffer.offset + spec.span]
                memory = self.handle.device.asarray(np.ascontiguousarray(values))
            else:
                memory = self.handle.empty_bytes(spec.size if name in self.problem.raw else MEMORY)
            self.memory[name] = self.found[name] = memory
            if name not in self.problem.raw:
                self.found[f"{name}Desc"] = self.described(spec, "f" if name in ("w", "dw") else "t")

    def described(self, spec: TensorSpec, letter: str = "t"):
        """Return a descriptor of a layout."""
        descriptor = self.created(letter)
        if letter == "f":
            layout = 0 if spec.is_packed() else 1
            cudnn.cudnnSetFilterNdDescriptor(descriptor, spec.dtype, layout, len(spec.dims), spec.dims)
        else:
            with_zeros = cudnn.cudnnSetTensor4dDescriptorEx if len(spec.dims) == 4 else None
            if with_zeros:
                with_zeros(descriptor, spec.dtype, *spec.dims, *spec.strides)
            else:
                cudnn.cudnnSetTensorNdDescriptor(descriptor, spec.dtype, len(spec.dims), spec.dims, spec.strides)
        return descriptor

    def created(self, letter: str):
        """Return a new descriptor."""
        return getattr(cudnn, f"cudnnCreate{CREATE[letter]}Descriptor")()

    def word(self, word: str):
        """Return what a word stands for."""
        if word not in self.found:
            self.found[word] = self._make(word)
        return self.found[word]

    def _make(self, word: str):
        if word in CREATE:
            return self.created(word)
        if word in SET:
            letter, function, *arguments = SET[word]
            descriptor = self.created(letter)
            getattr(cudnn, function)(descriptor, *arguments)
            return descriptor
        if hasattr(self, f"_make_{word}"):
            return getattr(self, f"_make_{word}")()
        kind, colon, text = word.partition(":")
        if colon and kind == "bytes":
            return self.handle.empty_bytes(int(text))
        if colon:
            return self.described(TensorSpec.parse(text), kind)
        if re.fullmatch(r"[A-Z][A-Z\d_]+[\da-zA-Z]*", word):
            return getattr(cudnn, f"CUDNN_{word}")
        return ast.literal_eval(word)

    def _make_new_handle(self):
        return cudnn.cudnnCreate(backend="reference")

    def _make_closed(self):
        handle = cudnn.cudnnCreate(backend="reference")
        cudnn.cudnnDestroy(handle)
        return handle

    def _make_drop(self):
        """A dropout descriptor: with the problem's probability and states, or without any."""
        drop = cudnn.cudnnCreateDropoutDescriptor()
        if self.problem is not None and self.problem.op.startswith("dropout"):
            states = self.memory["states"] if "states" in self.memory else self.handle.empty_bytes(32)
            cudnn.cudnnRestoreDropoutDescriptor(drop, self.handle, self.problem.dropout, states, 32, 0)
        else:
            cudnn.cudnnSetDropoutDescriptor(drop, self.handle, 0.0, None, 0, 0)
        return drop

    def _make_drop_without_states(self):
        drop = cudnn.cudnnCreateDropoutDescriptor()
        cudnn.cudnnSetDropoutDescriptor(drop, self.handle, 0.25, None, 0, 0)
        return drop

    def _make_lstm(self):
        rnn = cudnn.cudnnCreateRNNDescriptor()
        cudnn.cudnnSetRNNDescriptor(rnn, 5, 1, self.word("drop"), 0, 0, 2, 0)
        return rnn

    def _make_refused(self):
        """A tensor descriptor that no Set call took: one of two dims."""
        descriptor = cudnn.cudnnCreateTensorDescriptor()
        try:
            cudnn.cudnnSetTensorNdDescriptor(descriptor, 0, 2, (3, 4), (4, 1))
        except dnn.BadParam:
            return descriptor
        raise AssertionError("two dims were taken")

    def _make_steps(self):
        return [self.described(TensorSpec.parse("f32:2x4x1"))] * 3

    def _make_steps_y(self):
        return [self.described(TensorSpec.parse("f32:2x5x1"))] * 3

    def _steps_of(self, *texts: str):
        return [self.described(TensorSpec.parse(text)) for text in texts]

    def _make_steps_growing(self):
        return self._steps_of("f32:2x4x1", "f32:3x4x1", "f32:3x4x1")

    def _make_steps_mixed(self):
        return self._steps_of("f32:2x4x1", "f32:2x6x1", "f32:2x4x1")

    def _make_steps_of_types(self):
        return self._steps_of("f32:2x4x1", "f64:2x4x1", "f32:2x4x1")

    def _make_steps_strided(self):
        return self._steps_of(*["f32:2x4x1/8,2,1"] * 3)

    def _make_steps_unset(self):
        return [self.word("steps")[0], cudnn.cudnnCreateTensorDescriptor(), self.word("steps")[0]]

    def _make_steps_shrinking(self):
        return self._steps_of("f32:2x4x1", "f32:1x4x1", "f32:1x4x1")

    def _make_reserve_size(self):
        return self.problem.reserve.size

    # calls

    def arguments(self, name: str, changes: dict[str, str] | None = None) -> list:
        """Return the arguments of a function's row, some of them changed by the names of parameters."""
        words = list(ARGUMENTS[name])
        parameters = list(inspect.signature(getattr(cudnn, name)).parameters)
        for parameter, word in (changes or {}).items():
            words[parameters.index(parameter)] = word
        return [self.word(word) for word in words]

    def run(self, script: str) -> None:
        """Make the calls of a script and demand what it says that they return."""
        for statement in script.split(";"):
            call, arrow, results = statement.strip().partition(" -> ")
            name, *words = call.split()
            got = getattr(cudnn, name)(*map(self.word, words))
            if not arrow:
                continue
            wanted = [self.word(word) for word in results.split()]
            found = list(got) if len(wanted) > 1 else [got]
            assert len(found) == len(wanted), f"{call}: {got}"
            for a, b in zip(found, wanted, strict=True):
                assert b is ANYTHING or a == b, f"{call}: got {got}, expected {results}"


def world_of(handle, name: str, exact: bool = True) -> World:
    """Return the world in which a function's row can be called."""
    if name in SCRIPTS:
        return World(handle)
    return World(handle, PROBLEMS[name][0], exact)
