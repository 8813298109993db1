"""How a recurrent network's parameters, sequences and reserve space are laid out (guide sections 4.103 to 4.106)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ...enums import DnnEnum

__all__ = ["DirectionMode", "RNNBiasMode", "RNNInputMode", "RNNMode"]


class RNNMode(DnnEnum):
    """The network's cell (guide section 3.31)."""

    RNN_RELU = 0
    RNN_TANH = 1
    LSTM = 2
    GRU = 3

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_{self.name}"

    @property
    def gates(self) -> int:
        """Matrices that multiply a cell's input, and as many its hidden state."""
        return {RNNMode.LSTM: 4, RNNMode.GRU: 3}.get(self, 1)

    @property
    def slots(self) -> int:
        """Numbers of each hidden unit and step that training keeps: a GRU's recurrent part of the new memory is one."""
        return {RNNMode.LSTM: 4, RNNMode.GRU: 4}.get(self, 1)


class DirectionMode(DnnEnum):
    """Whether a second half of each layer reads the sequence from its end (guide section 3.32)."""

    UNIDIRECTIONAL = 0
    BIDIRECTIONAL = 1

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_{self.name}"


class RNNInputMode(DnnEnum):
    """Whether the first layer multiplies its input by matrices, or adds it to every gate (guide section 3.33)."""

    LINEAR_INPUT = 0
    SKIP_INPUT = 1

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_{self.name}"


class RNNBiasMode(DnnEnum):
    """Which biases a cell has: of its input's matrices, of its hidden state's, or of both (cuDNN 7.5)."""

    NO_BIAS = 0
    SINGLE_INP_BIAS = 1
    DOUBLE_BIAS = 2
    SINGLE_REC_BIAS = 3

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_RNN_{self.name}"

    @property
    def of_input(self) -> bool:
        """Whether the input's matrices have biases."""
        return self in (RNNBiasMode.SINGLE_INP_BIAS, RNNBiasMode.DOUBLE_BIAS)

    @property
    def of_state(self) -> bool:
        """Whether the hidden state's matrices have biases."""
        return self in (RNNBiasMode.SINGLE_REC_BIAS, RNNBiasMode.DOUBLE_BIAS)

    @property
    def count(self) -> int:
        """Biases of each gate."""
        return self.of_input + self.of_state


@dataclass(frozen=True)
class Network:
    """A stack of recurrent layers, and where each matrix lies among the parameters.

    For each pseudo-layer p = layer * directions + direction, first W (gates * hidden, inputs) then R (gates * hidden,
    hidden); after the matrices of all layers, for each p, the biases of W then of R (gates * hidden each). Gates are
    in the order of linLayerID: i, f, new memory, o of an LSTM; r, update, new memory of a GRU. With SKIP_INPUT the
    first layer has no W. A `bias_mode` other than DOUBLE_BIAS leaves biases out. With a projection R has `proj`
    columns, and P (proj, hidden) follows it: a cell's output, which the next step and layer read, is P h.
    """

    mode: RNNMode
    hidden: int
    layers: int
    directions: int
    features: int
    skip: bool
    bias_mode: RNNBiasMode = RNNBiasMode.DOUBLE_BIAS
    proj: int = 0

    @property
    def output(self) -> int:
        """Numbers of a direction's output for one sequence and step."""
        return self.proj or self.hidden

    @property
    def width(self) -> int:
        """Numbers of a layer's output for one sequence and step."""
        return self.directions * self.output

    @property
    def units(self) -> int:
        """Hidden units of a layer, in all directions."""
        return self.directions * self.hidden

    def inputs(self, layer: int) -> int:
        """Return the columns of a layer's W: 0 where it has none."""
        if layer == 0:
            return 0 if self.skip else self.features
        return self.width

    @property
    def _rows(self) -> int:
        return self.mode.gates * self.hidden

    def _start(self, layer: int) -> int:
        """Return where a layer's matrices start; all layers but the first are of one size."""
        if layer == 0:
            return 0
        first, other = (self._each(inputs) for inputs in (self.inputs(0), self.width))
        return self.directions * (first + (layer - 1) * other)

    def _each(self, inputs: int) -> int:
        """Return the numbers of the matrices of one direction of a layer."""
        return self._rows * (inputs + self.output) + self.proj * self.hidden

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self._start(self.layers) + self.layers * self.directions * self.bias_mode.count * self._rows

    def has_bias(self, recurrent: bool) -> bool:
        """Tell whether W or R has a bias."""
        return self.bias_mode.of_state if recurrent else self.bias_mode.of_input

    def matrix(self, layer: int, direction: int, recurrent: bool) -> int:
        """Return where W or R of all gates starts."""
        inputs = self.inputs(layer)
        return self._start(layer) + direction * self._each(inputs) + (self._rows * inputs if recurrent else 0)

    def projection(self, layer: int, direction: int) -> int:
        """Return where P starts."""
        return self.matrix(layer, direction, True) + self._rows * self.output

    def bias(self, layer: int, direction: int, recurrent: bool) -> int:
        """Return where the bias of W or R of all gates starts; without it, where the layer's would."""
        before = self.bias_mode.count * (layer * self.directions + direction)
        return self._start(self.layers) + (before + (recurrent and self.bias_mode.count == 2)) * self._rows


@dataclass(frozen=True)
class Step:
    """One step of a pass: the rows of the sequences that it reaches, and those of its neighbours in time.

    Row r of the step is number `first` + r of all rows. Sequences only end, so the rows of a later step are the first
    ones of an earlier step.

    Attributes
    ----------
    rows, first : int
        The step's rows.
    before_rows, before : int
        Rows whose hidden state comes from another step, and that step's first row; the others begin here.
    after_rows, after : int
        Rows whose hidden state goes to another step, and that step's first row; the others end here.
    """

    rows: int
    first: int
    before_rows: int
    before: int
    after_rows: int
    after: int


@dataclass(frozen=True)
class Sequence:
    """The sequences of a batch, longest first, step by step: `batches` are the numbers of those not yet over."""

    batches: tuple[int, ...]

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return self.batches[0]

    @functools.cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first row of each step, and the number of all rows."""
        firsts = [0]
        for rows in self.batches:
            firsts.append(firsts[-1] + rows)
        return tuple(firsts)

    @property
    def rows(self) -> int:
        """Rows of all steps."""
        return self.firsts[-1]

    def steps(self, direction: int) -> list[Step]:
        """Return the steps in the order in which a direction takes them."""
        count = len(self.batches)
        found = []
        for t in range(count):
            earlier, later = (
                (0, 0) if not 0 <= s < count else (self.batches[s], self.firsts[s]) for s in (t - 1, t + 1)
            )
            rows, first = self.batches[t], self.firsts[t]
            earlier = (min(earlier[0], rows), earlier[1])
            before, after = (later, earlier) if direction else (earlier, later)
            found.append(Step(rows, first, *before, *after))
        return found[::-1] if direction else found


ALIGN = 64  # elements: sections of a reserve space start at multiples of them


@dataclass(frozen=True)
class Reserve:
    """What training keeps, in elements of the accumulator's type.

    For each layer `gates` [row][direction][slot][hidden]: after the forward pass the gates' values (i, f, new memory,
    o; r, update, new memory, R h + b_R of the new memory; nothing of use for the plain cells), after backward data the
    gradients of what each gate's function was given (of a GRU's last slot, of R h + b_R). `cells` of an LSTM and, but
    for the last layer, whose are y, the outputs `hidden`: [row][direction][hidden]. With dropout also `dropped`, the
    outputs as the next layer read them, and `draw`: the seed and the draw of its mask, four words of 32 bits. With a
    projection outputs have `proj` numbers in place of `hidden`; of every layer there are then `unprojected`
    [row][direction][hidden], h, and after backward data `gradient` [row][direction][proj], of all that P h went to.
    """

    network: Network
    rows: int
    dropout: bool = False

    def _section(self, numbers: int, of: int = 0) -> int:
        """Return the elements of a section: that many times the hidden size, or `of`, for each row and direction."""
        each = self.network.directions * (of or self.network.hidden)
        return -(-self.rows * each * numbers // ALIGN) * ALIGN

    def gates(self, layer: int) -> int:
        """Return where a layer's gates start."""
        return layer * self._section(self.network.mode.slots)

    def cells(self, layer: int) -> int:
        """Return where an LSTM's layer's cells start."""
        return self.gates(self.network.layers) + layer * self._section(1)

    def hidden(self, layer: int) -> int:
        """Return where the outputs of a layer, not the last, start."""
        first = self.cells(self.network.layers if self.network.mode is RNNMode.LSTM else 0)
        return first + layer * self._section(1, self.network.output)

    def dropped(self, layer: int) -> int:
        """Return where the outputs of a layer, not the last, start as the next layer reads them."""
        inner = self.network.layers - 1
        if not self.dropout:
            return self.hidden(layer)
        return self.hidden(inner) + layer * self._section(1, self.network.output)

    def unprojected(self, layer: int) -> int:
        """Return where a layer's hidden states start that are yet to be projected."""
        return self.dropped(self.network.layers - 1) + layer * self._section(1)

    def gradient(self, layer: int) -> int:
        """Return where the gradient of a layer's projected outputs starts."""
        return self.unprojected(self.network.layers) + layer * self._section(1, self.network.output)

    @property
    def draw(self) -> int:
        """Where seed and draw are."""
        return self.gradient(self.network.layers) if self.network.proj else self.dropped(self.network.layers - 1)

    @property
    def size(self) -> int:
        """Elements of the whole."""
        return self.draw + (ALIGN if self.dropout else 0)
