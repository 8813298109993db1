"""Random programs of the graph API as plain data: right ones, and ones with one thing wrong.

A program is what a user writes: tensors, calls in order, outputs. Names of tensors stand where tensors go.
"""

from __future__ import annotations

import math
from typing import Any

from portadnn.drawing.draws import Draws

LOW = ("HALF", "BFLOAT16")
Program = dict[str, Any]


def row_major(dims: list[int]) -> list[int]:
    """Return packed strides, last axis fastest."""
    return [math.prod(dims[axis + 1 :]) for axis in range(len(dims))]


def channels_last(dims: list[int]) -> list[int]:
    """Return packed strides, axis 1 fastest."""
    order, strides, step = [1, *range(len(dims) - 1, 1, -1), 0], [0] * len(dims), 1
    for axis in order:
        strides[axis], step = step, step * dims[axis]
    return strides


class Writer:
    """A program under construction."""

    def __init__(self, number: int, seed: int) -> None:
        self.draws = Draws("programs", seed, number)
        self.io = self.draws.choice((*LOW, *LOW, "FLOAT"))
        self.program: Program = {
            "number": number,
            "types": {"io": self.io, "intermediate": "FLOAT", "compute": "FLOAT"},
            "tensors": {},
            "calls": [],
            "outputs": {},
            "fault": "",
        }

    def tensor(self, dims: list[int], kind: str = "", strides: list[int] | None = None, **more: Any) -> str:
        """Declare an input."""
        name = f"t{len(self.program['tensors'])}"
        strides = row_major(dims) if strides is None else strides
        self.program["tensors"][name] = {"dim": dims, "stride": strides, "data_type": kind or self.io, **more}
        return name

    def call(self, method: str, results: int = 1, **arguments: Any) -> list[str]:
        """Call a method; its results have names."""
        names = [f"r{len(self.program['calls'])}_{i}" for i in range(results)]
        self.program["calls"].append({"method": method, "arguments": arguments, "results": names})
        return names

    def output(self, name: str, kind: str = "") -> None:
        """Ask for a result."""
        self.program["outputs"][name] = {"data_type": kind or self.io}

    def size(self, *options: int) -> int:
        """Return one of the sizes."""
        return self.draws.choice(options)

    # what is computed

    def epilogue(self, name: str, dims: list[int], channel: int) -> str:
        """Follow a product by up to three pointwise operations."""
        per_channel = [size if axis == channel else 1 for axis, size in enumerate(dims)]
        last = channels_last if len(dims) > 3 else row_major
        for _ in range(self.draws.integers(4)):
            step = self.draws.choice(("bias", "scale", "relu", "gelu", "swish", "tanh", "sigmoid", "add", "elu"))
            if step == "bias":
                (name,) = self.call("bias", input=name, bias=self.tensor(per_channel, strides=last(per_channel)))
            elif step == "scale":
                (name,) = self.call("scale", input=name, scale=self.tensor(per_channel, strides=last(per_channel)))
            elif step == "add":
                (name,) = self.call("add", a=name, b=self.tensor(dims, strides=last(dims)))
            else:
                (name,) = self.call(step, input=name)
        return name

    def matmul(self) -> None:
        """Write a product of matrices."""
        batch, m, n, k = self.size(1, 2, 4, 12), *(self.size(8, 16, 64, 72, 128, 200, 333) for _ in range(3))
        a, b = [batch, m, k], [self.draws.choice((batch, 1)), k, n]
        turned = [k * n, 1, k] if self.draws.one_in(3) else None
        (name,) = self.call("matmul", A=self.tensor(a), B=self.tensor(b, strides=turned))
        self.output(self.epilogue(name, [batch, m, n], 2))

    def conv(self) -> None:
        """Write a convolution or one of its gradients."""
        n, c, k = self.size(1, 2, 4), self.size(8, 16, 32, 64), self.size(8, 16, 48, 64)
        h, r = self.size(7, 8, 14, 19, 28), self.size(1, 3, 5)
        pad, step, spread = self.draws.integers(r), self.size(1, 1, 2), self.size(1, 1, 1, 2)
        out = (h + 2 * pad - spread * (r - 1) - 1) // step + 1
        if out < 1:
            pad, spread, step, out = r // 2, 1, 1, h + 2 * (r // 2) - r + 1
        x, w, y = [n, c, h, h], [k, c, r, r], [n, k, out, out]
        how = {"padding": [pad, pad], "stride": [step, step], "dilation": [spread, spread]}
        image, weight, loss = (lambda dims=dims: self.tensor(dims, strides=channels_last(dims)) for dims in (x, w, y))
        direction = self.size(0, 0, 0, 1, 2)
        if direction == 0:
            (name,) = self.call("conv_fprop", image=image(), weight=weight(), **how)
            self.output(self.epilogue(name, y, 1))
            return
        if direction == 1:
            (name,) = self.call("conv_dgrad", loss=loss(), filter=weight(), **how)
        else:
            (name,) = self.call("conv_wgrad", image=image(), loss=loss(), **how)
        self.program["outputs"][name] = {"data_type": self.io, "dim": x if direction == 1 else w}

    def pointwise(self) -> None:
        """Write a chain of pointwise operations."""
        dims = [self.size(1, 2, 8), self.size(3, 8, 32), self.size(5, 16, 31), self.size(4, 8, 33)]
        name = self.tensor(dims)
        for _ in range(1 + self.draws.integers(4)):
            step = self.draws.choice(
                ("add", "sub", "mul", "relu", "exp", "abs", "sqrt", "gelu", "max", "min", "tanh", "neg", "sin", "erf")
            )
            if step in ("add", "sub", "mul", "max", "min"):
                other = self.tensor([1 if self.draws.one_in(3) else size for size in dims])
                left, right = ("input0", "input1") if step in ("max", "min") else ("a", "b")
                (name,) = self.call(step, **{left: name, right: other})
            else:
                name = self.call("abs", input=name)[0] if step == "sqrt" else name
                (name,) = self.call(step, input=name)
        self.output(name)

    def reduction(self) -> None:
        """Write a reduction."""
        dims = [self.size(1, 2, 8), self.size(3, 8, 32), self.size(5, 16, 31), self.size(4, 8, 33)]
        mode = self.draws.choice(("ADD", "MAX", "MIN", "AVG", "AMAX", "NORM1", "NORM2", "MUL"))
        (name,) = self.call("reduction", input=self.tensor(dims), mode=f"reduction_mode.{mode}")
        kept = self.draws.integers(15)
        dims = [size if kept >> axis & 1 else 1 for axis, size in enumerate(dims)]
        self.program["outputs"][name] = {"data_type": "FLOAT", "dim": dims}

    def norm(self) -> None:
        """Write a norm, for training or inference, or its gradient."""
        kind = self.draws.choice(("layernorm", "rmsnorm", "instancenorm", "batchnorm", "batchnorm_inference"))
        n, c = self.size(2, 4, 8), self.size(8, 32, 64, 128)
        long = kind in ("layernorm", "rmsnorm")
        dims = [n * 16, c * 8, 1, 1] if long else [n, c, self.size(4, 7, 14), self.size(4, 8)]
        x = self.tensor(dims, strides=channels_last(dims))
        row = [1, dims[1], 1, 1]
        weights = lambda: self.tensor(row, "FLOAT", channels_last(row))  # noqa: E731
        number = lambda value: self.tensor([1] * 4, "FLOAT", value=value)  # noqa: E731
        if kind == "batchnorm_inference":
            arguments = {name: weights() for name in ("mean", "inv_variance", "scale", "bias")}
            self.output(self.call(kind, input=x, **arguments)[0])
            return
        if kind == "batchnorm":
            arguments = {name: weights() for name in ("scale", "bias", "in_running_mean", "in_running_var")}
            numbers = {"epsilon": number(1e-5), "momentum": number(0.1)}
            y, *others = self.call(kind, 5, input=x, **arguments, **numbers)
        else:
            phase = self.draws.choice(("TRAINING", "TRAINING", "INFERENCE"))
            bias = {} if kind == "rmsnorm" and self.draws.one_in(2) else {"bias": weights()}
            more = {"norm_forward_phase": f"norm_forward_phase.{phase}", "epsilon": number(1e-5)}
            y, *others = self.call(kind, 2 if kind == "rmsnorm" else 3, input=x, scale=weights(), **bias, **more)
            others = others if phase == "TRAINING" else []
        self.output(y)
        for name in others:
            self.output(name, "FLOAT")

    def norm_gradient(self) -> None:
        """Write the gradient of a norm."""
        kind = self.draws.choice(("layernorm", "rmsnorm", "batchnorm"))
        dims = [64, 256, 1, 1] if kind != "batchnorm" else [4, 32, 7, 7]
        last, row = channels_last(dims), [1, dims[1], 1, 1]
        each = [dims[0], 1, 1, 1] if kind != "batchnorm" else row
        arguments = {"grad": self.tensor(dims, strides=last), "input": self.tensor(dims, strides=last)}
        arguments["scale"] = self.tensor(row, "FLOAT", channels_last(row))
        if kind != "rmsnorm":
            arguments["mean"] = self.tensor(each, "FLOAT", channels_last(each))
        arguments["inv_variance"] = self.tensor(each, "FLOAT", channels_last(each), positive=True)
        more = {"has_dbias": True} if kind == "rmsnorm" else {}
        dx, *others = self.call(f"{kind}_backward", 3, **arguments, **more)
        self.output(dx)
        for name in others:
            self.output(name, "FLOAT")

    def attention(self) -> None:
        """Write scaled dot-product attention."""
        self.io = self.program["types"]["io"] = self.draws.choice(LOW)
        b, heads, groups = self.size(1, 2), self.size(2, 4, 8), self.size(1, 1, 2)
        sq, skv, d = self.size(16, 64, 100, 128, 256), self.size(64, 128, 200, 256), self.size(32, 64, 128)
        q, kv = [b, heads, sq, d], [b, heads // groups, skv, d]
        order = lambda dims: [dims[1] * dims[2] * dims[3], dims[3], dims[1] * dims[3], 1]  # noqa: E731
        strides = order if self.draws.one_in(2) else row_major
        q, k, v = (self.tensor(dims, strides=strides(dims)) for dims in (q, kv, kv))
        arguments: dict[str, Any] = {"q": q, "k": k, "v": v, "attn_scale": 0.125, "is_inference": True}
        if self.draws.one_in(3):
            arguments["use_causal_mask"] = True
        if self.draws.one_in(4):
            arguments["bias"] = self.tensor([1, heads, sq, skv])
        if self.draws.one_in(4):
            lengths = {"use_padding_mask": True}
            for name, most in (("seq_len_q", sq), ("seq_len_kv", skv)):
                lengths[name] = self.tensor([b, 1, 1, 1], "INT32", below=most)  # type: ignore[assignment]
            arguments.update(lengths)
        stats = self.draws.one_in(2)
        arguments["is_inference"] = not stats
        names = self.call("sdpa", 2, **arguments)
        self.program["outputs"][names[0]] = {"data_type": self.io, "dim": [b, heads, sq, d]}
        if stats:
            self.output(names[1], "FLOAT")

    # chains, as layers have them

    def image(self, *options: int) -> list[int]:
        """Return the dims of a small image."""
        return [self.size(1, 2, 3), self.size(*options), *2 * [self.size(5, 8, 14)]]

    def of_images(self, dims: list[int], kind: str = "", **more: Any) -> str:
        """Declare an input with channels last."""
        return self.tensor(dims, kind, channels_last(dims), **more)

    def normed_conv(self) -> None:
        """Write scale, bias and an activation before a convolution, with its sums or an epilogue behind."""
        x, k, r = self.image(8, 16, 24, 32), self.size(8, 16, 40), self.size(1, 3)
        each, out = [1, x[1], 1, 1], [x[0], k, *x[2:]]
        (name,) = self.call("scale", input=self.of_images(x), scale=self.of_images(each))
        (name,) = self.call("bias", input=name, bias=self.of_images(each))
        (name,) = self.call(self.draws.choice(("relu", "swish", "tanh")), input=name)
        how = {"padding": 2 * [r // 2], "stride": [1, 1], "dilation": [1, 1]}
        (name,) = self.call("conv_fprop", image=name, weight=self.of_images([k, x[1], r, r]), **how)
        if self.draws.one_in(2):
            self.output(self.epilogue(name, out, 1))
            return
        self.output(name)
        for one in self.call("genstats", 2, input=name):
            self.program["outputs"][one] = {"data_type": "FLOAT", "dim": [1, k, 1, 1]}

    def activation_gradient(self) -> None:
        """Write the gradient of an activation around a gradient of a convolution, with the sum for a bias."""
        y, c, r = self.image(8, 16, 32), self.size(8, 16, 24), self.size(1, 3)
        x, w = [y[0], c, *y[2:]], [y[1], c, r, r]
        how = {"padding": 2 * [r // 2], "stride": [1, 1], "dilation": [1, 1]}
        step = f"{self.draws.choice(('relu', 'gelu', 'tanh', 'sigmoid', 'swish'))}_backward"
        if self.draws.one_in(2):
            (name,) = self.call("conv_dgrad", loss=self.of_images(y), filter=self.of_images(w), **how)
            self.program["dims"] = {name: x}
            (name,) = self.call(step, loss=name, input=self.of_images(x))
            self.output(name)
            return
        (name,) = self.call(step, loss=self.of_images(y), input=self.of_images(y))
        (made,) = self.call("conv_wgrad", image=self.of_images(x), loss=name, **how)
        self.program["outputs"][made] = {"data_type": self.io, "dim": w}
        (total,) = self.call("reduction", input=name, mode="reduction_mode.ADD")
        self.program["outputs"][total] = {"data_type": "FLOAT", "dim": [1, y[1], 1, 1]}

    def normed_rows(self) -> None:
        """Write a sum, a norm of rows and an activation, the sum being a result, too."""
        kind = self.draws.choice(("layernorm", "rmsnorm"))
        dims = [self.size(16, 40, 64), self.size(64, 96, 250, 256), 1, 1]
        row = [1, dims[1], 1, 1]
        (total,) = self.call("add", a=self.of_images(dims), b=self.of_images(dims))
        self.output(total)
        weights = {"scale": self.of_images(row)} | ({"bias": self.of_images(row)} if kind == "layernorm" else {})
        more = {
            "norm_forward_phase": "norm_forward_phase.INFERENCE",
            "epsilon": self.tensor([1] * 4, "FLOAT", value=1e-5),
        }
        name, *_ = self.call(kind, 2 if kind == "rmsnorm" else 3, input=total, **weights, **more)
        (name,) = self.call(self.draws.choice(("gelu", "relu", "identity", "gelu_approx_tanh")), input=name)
        self.output(name)

    def gated(self) -> None:
        """Write two products of the same rows, one gating the other, and what their largest number is."""
        m, n, k = self.size(8, 40, 64), self.size(16, 48, 72), self.size(24, 64, 100)
        a = self.tensor([1, m, k])
        left, right = (self.call("matmul", A=a, B=self.tensor([1, k, n]))[0] for _ in range(2))
        (name,) = self.call(self.draws.choice(("swish", "sigmoid", "gelu")), input=left)
        (name,) = self.call("mul", a=name, b=right)
        self.output(name)
        (top,) = self.call("reduction", input=name, mode="reduction_mode.AMAX")
        self.program["outputs"][top] = {"data_type": "FLOAT", "dim": [1, 1, 1]}

    def own_softmax(self) -> None:
        """Write attention by hand: products, a mask by comparison, and a softmax of reductions."""
        b, h, s, d = self.size(1, 2), self.size(1, 3), self.size(16, 33, 64), self.size(16, 32)
        dims, rows = [b, h, s, d], [b, h, s, 1]
        turned = [h * s * d, s * d, 1, d]
        (name,) = self.call("matmul", A=self.tensor(dims), B=self.tensor([b, h, d, s], strides=turned))
        (name,) = self.call("mul", a=name, b=self.tensor([1] * 4, "FLOAT", value=0.25))
        (name,) = self.call("add", a=name, b=self.tensor([1, h, s, s]))
        (top,) = self.call("reduction", input=name, mode="reduction_mode.MAX")
        (name,) = self.call("sub", a=name, b=top)
        (name,) = self.call("exp", input=name)
        (total,) = self.call("reduction", input=name, mode="reduction_mode.ADD")
        self.program["dims"] = {top: rows, total: rows}
        (name,) = self.call("div", a=name, b=total)
        (name,) = self.call("matmul", A=name, B=self.tensor(dims))
        self.program["outputs"][name] = {"data_type": self.io, "dim": dims}

    # what is wrong

    def spoil(self) -> None:
        """Make one thing wrong, or only unusual."""
        program = self.program
        inputs = [name for name, said in program["tensors"].items() if "value" not in said]
        said = program["tensors"][self.draws.choice(inputs)]
        call, output = self.draws.choice(program["calls"]), self.draws.choice(list(program["outputs"].values()))
        axis = self.draws.integers(len(said["dim"]))
        every, other = program["tensors"].values(), "HALF" if self.io == "BFLOAT16" else "BFLOAT16"
        name, change = self.draws.choice(
            (
                ("a dim larger by one", lambda: said["dim"].__setitem__(axis, said["dim"][axis] + 1)),
                ("a dim of 0", lambda: said["dim"].__setitem__(axis, 0)),
                ("a negative dim", lambda: said["dim"].__setitem__(axis, -2)),
                ("a stride of 0", lambda: said["stride"].__setitem__(axis, 0)),
                ("a large stride", lambda: said["stride"].__setitem__(axis, said["stride"][axis] * 3 + 1)),
                ("strides left out", lambda: said.pop("stride")),
                ("a rank less", lambda: (said["dim"].pop(), said["stride"].pop())),
                ("a rank more", lambda: (said["dim"].insert(0, 1), said["stride"].insert(0, max(said["stride"])))),
                ("an input of DOUBLE", lambda: said.update(data_type="DOUBLE")),
                ("an input of INT8", lambda: said.update(data_type="INT8")),
                ("an input of BOOLEAN", lambda: said.update(data_type="BOOLEAN")),
                ("an input of another float", lambda: said.update(data_type=other)),
                ("an output of INT32", lambda: output.update(data_type="INT32")),
                ("an output of FLOAT", lambda: output.update(data_type="FLOAT")),
                ("an output's wrong dims", lambda: output.update(dim=[3, 5, 7, 2])),
                ("no output", program["outputs"].clear),
                ("no compute type", lambda: program["types"].pop("compute")),
                ("compute type HALF", lambda: program["types"].update(compute="HALF")),
                ("compute type INT32", lambda: program["types"].update(compute="INT32")),
                ("no io type", lambda: program["types"].pop("io")),
                ("equal names", lambda: [entry.update(name="same") for entry in every]),
                ("equal uids", lambda: [entry.update(uid=7) for entry in every]),
                ("uids of the program", lambda: [entry.update(uid=50 + i) for i, entry in enumerate(every)]),
                ("a tensor that is not used", lambda: self.tensor([2, 3, 4])),
                ("None for a name", lambda: call["arguments"].update(name=None)),
                ("a word for a number", lambda: call["arguments"].update(padding="one", attn_scale="one")),
                ("an unknown argument", lambda: call["arguments"].update(colour=1)),
                ("negative padding", lambda: call["arguments"].update(padding=[-1, -1])),
                ("dilation of 0", lambda: call["arguments"].update(dilation=[0, 0])),
                ("stride of 0", lambda: call["arguments"].update(stride=[0, 0])),
                ("an array left out", lambda: program.update(left_out=self.draws.choice(inputs))),
                ("workspace None", lambda: program.update(workspace="None")),
                ("an array of another shape", lambda: program.update(flat=True)),
            )
        )
        change()
        program["fault"] = name


KINDS = ("matmul", "conv", "conv", "pointwise", "reduction", "norm", "norm_gradient", "attention")
CHAINS = ("normed_conv", "activation_gradient", "normed_rows", "gated", "own_softmax")


def program(number: int, seed: int = 1, chains: bool = False) -> Program:
    """Return a program, of one operation or a chain as layers have it; two in five have something wrong or unusual."""
    writer = Writer(number, seed)
    kind = writer.draws.choice(CHAINS if chains else KINDS)
    getattr(writer, kind)()
    writer.program["kind"] = kind
    if writer.draws.integers(5) < 2:
        writer.spoil()
    return writer.program
