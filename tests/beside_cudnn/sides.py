"""The two sides of a comparison: the same program on ``portadnn.cudnn`` and on NVIDIA's library, in guarded memory."""

from __future__ import annotations

import ctypes
import functools
import random
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portadnn import cudnn
from portadnn.c_names.generate.front_end import Signature
from portadnn.errors import DnnError
from portadnn.mapping import table

from .real import functions

GUARD = 512  # bytes before and behind each piece of memory
SHARE = 0.15  # of the calls that a program makes until one is broken


@functools.cache
def signature(name: str) -> list[Any]:
    """Return the parameters that a function takes, with their types in C."""
    return Signature(table().functions[name]).parameters


class Stop(Exception):
    """The program ends here: a call was refused."""


@dataclass
class Memory:
    """A guarded piece of device memory."""

    name: str
    whole: Any
    part: Any
    before: bytes
    nbytes: int
    output: bool


@dataclass
class Output:
    """What is compared of an output.

    Attributes
    ----------
    values : array
        What was found; numbers behind a mask that libraries may write as they like are 0.
    length : int
        How many products or sums are behind each number.
    terms : float
        The largest sum of absolute values behind a number; 0 for the largest number itself.
    tf32 : bool
        Whether factors may be rounded to TF32.
    between : bool
        Whether numbers may be rounded to the type of the values on the way.
    """

    values: Any
    length: int = 1
    terms: float = 0.0
    tf32: bool = False
    between: bool = False


@dataclass
class Answer:
    """What a side gave: the calls it made with their statuses, the outputs, and what it wrote that it must not."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    outputs: dict[str, Output] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    message: str = ""

    @property
    def status(self) -> str:
        return self.calls[-1][1] if self.calls else ""


class Side:
    """What programs run on.

    Parameters
    ----------
    seed
        Draws the program: ``draw`` makes choices and ``rng`` numbers, the same ones on both sides.
    wrong
        Whether one of the calls is made with a wrong argument.
    """

    real = False

    def __init__(self, seed: int, wrong: bool = False) -> None:
        self.draw, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.answer, self.wrong, self.breaking = Answer(), wrong, random.Random(seed + 1)
        self.memory: list[Memory] = []
        self.made: list[tuple[str, Any]] = []

    # what the sides have in different ways

    def function(self, name: str) -> Any:
        raise NotImplementedError

    def upload(self, array: Any) -> Any:
        raise NotImplementedError

    def download(self, array: Any) -> Any:
        raise NotImplementedError

    def address(self, part: Any) -> int:
        raise NotImplementedError

    def attention_buffers(self, desc: Any, training: bool) -> tuple[int, int, int]:
        """Return the bytes of parameters, workspace and reserve space; C is not asked for the last in inference."""
        return self.call("cudnnGetMultiHeadAttnBuffers", self.handle, desc)  # type: ignore[no-any-return]

    def runtime_error(self, mode: int) -> Any:
        """Return what the device says of itself; C demands NULL for the tag."""
        return self.call("cudnnQueryRuntimeError", self.handle, mode)

    def words(self, status: int) -> str:
        """Return what a status is called."""
        raise NotImplementedError

    def host(self, value: float, kind: str = "float32") -> Any:
        """Return a number that C takes by address."""
        raise NotImplementedError

    # calls

    def call(self, name: str, *arguments: Any) -> Any:
        """Make a call and note its status.

        Raises
        ------
        Stop
            It was refused.
        """
        arguments = self._broken(name, list(arguments))
        try:
            result = self.function(name)(*[self._native(a) for a in arguments])
        except DnnError as error:
            self.answer.calls.append((name, type(error).__name__))
            self.answer.message = str(error)
            raise Stop from None
        self.answer.calls.append((name, "SUCCESS"))
        return result

    def _native(self, argument: Any) -> Any:
        return argument.part if isinstance(argument, Memory) else argument

    def _broken(self, name: str, arguments: list[Any]) -> list[Any]:
        """Return the arguments, one of them wrong if this is the call; its type in C says what it becomes."""
        if not self.wrong or self.breaking.random() > SHARE:
            return arguments
        parameters = signature(name)
        place, how = self.breaking.randrange(max(len(parameters), 1)), self.breaking.randrange(3)
        if not parameters or len(parameters) != len(arguments):
            return arguments
        kind, value = parameters[place].type, arguments[place]
        if kind.endswith("Descriptor_t") and value is not None:
            made = next((made for made, one in self.made if one is value), None)
            arguments[place] = self.created(made) if made and how else None
        elif isinstance(value, Memory):
            arguments[place] = None
        elif isinstance(value, tuple) and value:
            arguments[place] = ((-1, 0, 1 << 20)[how], *value[1:])
        elif re.search(r"\*|\[|Handle_t|Pack_t|Plan_t|float|double|Callback", kind) is None:
            arguments[place] = (77, -1, 0)[how] if kind != "size_t" else 0
        else:
            return arguments
        if arguments[place] == 0 or (isinstance(value, tuple) and arguments[place][:1] == (0,)):
            self.tag("of 0")
        self.wrong = False
        self.answer.tags.append(f"wrong {parameters[place].name} of {name}: {how}")
        return arguments

    def created(self, kind: str) -> Any:
        """Return a new descriptor, which the call counter does not count."""
        made = self.function(f"cudnnCreate{kind}Descriptor")()
        self.made.append((kind, made))
        return made

    def descriptor(self, kind: str, setter: str, *arguments: Any) -> Any:
        """Return a descriptor that was set."""
        made = self.created(kind)
        self.call(setter, made, *arguments)
        return made

    def tensor(self, kind: str, dims: tuple[int, ...], layout: int | None = None, strides: Any = None) -> Any:
        number = getattr(cudnn, f"CUDNN_DATA_{kind}")
        if strides is not None:
            return self.descriptor("Tensor", "cudnnSetTensorNdDescriptor", number, len(dims), dims, strides)
        layout = (2 if "x" in kind else 0) if layout is None else layout
        return self.descriptor("Tensor", "cudnnSetTensorNdDescriptorEx", layout, number, len(dims), dims)

    def filter(self, kind: str, dims: tuple[int, ...], layout: int | None = None) -> Any:
        layout = (2 if "x" in kind else 0) if layout is None else layout
        number = getattr(cudnn, f"CUDNN_DATA_{kind}")
        return self.descriptor("Filter", "cudnnSetFilterNdDescriptor", number, layout, len(dims), dims)

    # memory

    def put(self, array: Any, name: str, output: bool = False) -> Memory:
        """Return device memory that holds an array, between guards; inputs are watched, too."""
        content = np.ascontiguousarray(array).ravel()
        guard = np.random.default_rng(len(self.memory)).integers(0, 255, GUARD, np.uint8)
        bits = np.concatenate([guard, content.view(np.uint8), np.zeros(-content.nbytes % 16, np.uint8) + 77, guard])
        whole = self.upload(bits)
        part = self.view(whole, content.nbytes, content.dtype)
        made = Memory(name, whole, part, bits.tobytes(), content.nbytes, output)
        self.memory.append(made)
        return made

    def view(self, whole: Any, nbytes: int, dtype: Any) -> Any:
        return whole[GUARD : GUARD + nbytes].view(dtype)

    def room(self, nbytes: int, name: str) -> Memory | None:
        """Return a workspace; None for none."""
        return self.put(np.zeros(nbytes, np.uint8), name, output=True) if nbytes else None

    def read(self, memory: Memory, dtype: Any = np.uint8) -> Any:
        return self.download(memory.whole)[GUARD : GUARD + memory.nbytes].view(dtype)

    def output(self, name: str, values: Any, **how: Any) -> None:
        """Say what is to be compared."""
        self.answer.outputs[name] = Output(np.array(values), **how)

    def tag(self, text: str) -> None:
        """Say what is special; see the table of deliberate differences."""
        self.answer.tags.append(text)

    def close(self) -> Answer:
        """Look at the guards and the inputs."""
        for memory in self.memory:
            now = self.download(memory.whole).tobytes()
            end = GUARD + memory.nbytes
            if now[:GUARD] != memory.before[:GUARD] or now[end:] != memory.before[end:]:
                self.answer.written.append(f"around {memory.name}")
            elif not memory.output and now != memory.before:
                self.answer.written.append(memory.name)
        return self.answer


class Ours(Side):
    """portadnn's side.

    Parameters
    ----------
    handle
        An open handle.
    """

    def __init__(self, handle: Any, seed: int, wrong: bool = False) -> None:
        super().__init__(seed, wrong)
        self.handle = handle

    def function(self, name: str) -> Any:
        return getattr(cudnn, name)

    def upload(self, array: Any) -> Any:
        return self.handle.device.asarray(array)

    def download(self, array: Any) -> Any:
        return np.ascontiguousarray(self.handle.to_numpy(array))

    def address(self, part: Any) -> int:
        return part.data.ptr if hasattr(part.data, "ptr") else part.__array_interface__["data"][0]

    def words(self, status: int) -> str:
        return str(cudnn.cudnnGetErrorString(status))

    def host(self, value: float, kind: str = "float32") -> Any:
        return int(value) if "int" in kind else float(value)


class Real(Side):
    """NVIDIA's side.

    Parameters
    ----------
    connection
        A connection of the backend ``cudnn``.
    """

    real = True

    def __init__(self, connection: Any, seed: int, wrong: bool = False) -> None:
        super().__init__(seed, wrong)
        self.connection, self.handle, self.kept = connection, connection.handle, []
        self.of = functions(connection.library)

    def function(self, name: str) -> Any:
        return self.of(name)

    def upload(self, array: Any) -> Any:
        return self.connection.cupy.asarray(array)

    def view(self, whole: Any, nbytes: int, dtype: Any) -> Any:
        return whole.data.ptr + GUARD

    def download(self, array: Any) -> Any:
        return np.asarray(array.get() if hasattr(array, "get") else array)

    def address(self, part: Any) -> int:
        return int(part or 0)

    def words(self, status: int) -> str:
        function = self.connection.library.function("cudnnGetErrorString")
        function.restype = ctypes.c_char_p
        return bytes(function(status)).decode()

    def attention_buffers(self, desc: Any, training: bool) -> tuple[int, int, int]:
        self.of("cudnnGetMultiHeadAttnBuffers").null = () if training else ("reserveSpaceSizeInBytes",)
        return super().attention_buffers(desc, training)

    def runtime_error(self, mode: int) -> Any:
        self.of("cudnnQueryRuntimeError").null = ("tag",)
        return super().runtime_error(mode)

    def host(self, value: float, kind: str = "float32") -> Any:
        array = np.array([value], kind)
        self.kept.append(array)
        return ctypes.c_void_p(array.ctypes.data)
