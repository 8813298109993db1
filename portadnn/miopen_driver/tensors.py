"""MIOpenDriver's lines of operations on whole tensors, and of Adam, read as problem lines.

Options and defaults are those of driver/tensorop_driver.hpp, reduce_driver.hpp, cat_driver.hpp, getitem_driver.hpp and
adam_driver.hpp. What a call is given at run time (alpha, beta, a value, a rate) is no part of a problem.
"""

from __future__ import annotations

from ..errors import NotSupported
from .form import Options, member, numbers_of, tensor_text

_ADAM = ("param", "grad", "exp_avg", "exp_avg_sq")
_MOST_PARTS = 8


def _wide(t: str, text: str) -> str:
    dims = numbers_of(text)
    return tensor_text(t, dims + (1,) * (3 - len(dims)))


def tensor_operation(options: Options, t: str) -> list[str]:
    """Read tensorop: 0 sets a tensor, 1 scales it, 2 and more are miopenTensorOp_t, from 0 on."""
    dims = tuple(int(options.get(*one)) for one in zip("ncHW", ("64", "3", "32", "32"), strict=True))
    which, y = int(options.get("o", "0")), tensor_text(t, dims)
    if which < 2:
        return [f"{('set_tensor', 'scale_tensor')[which]} y={y}"]
    return [f"op_tensor a={y} b={y} c={y} operation={member('OpTensorOp', which - 2).lower()}"]


def reduction(options: Options, t: str) -> list[str]:
    """Read reduce; -C is the type of the arithmetic."""
    dims = numbers_of(options.get("D", "100,60,16,240"))
    reduced = numbers_of(options.get("R", "0,2"))
    if any(not 0 <= dim < len(dims) for dim in reduced):
        raise NotSupported(argument="-R", expected=f"dims below {len(dims)}", got=reduced)
    name = member("ReduceTensorOp", numbers_of(options.get("O", "0"))[0])
    left = tuple(1 if i in reduced else size for i, size in enumerate(dims))
    wide = (1,) * (3 - len(dims))
    indices = name in ("MIN", "MAX", "AMAX") and numbers_of(options.get("I", "0"))[0] == 1
    words = [f"reduce_tensor a={tensor_text(t, dims + wide)} c={tensor_text(t, left + wide)}"]
    words.append(f"operation={name.lower()}")
    if int(options.get("N", "0")):
        words.append("nan_propagation=propagate_nan")
    if indices:
        words.append(f"indices={tensor_text('i32', left + wide)}")
    return [" ".join(words)]


def concatenation(options: Options, t: str) -> list[str]:
    """Read cat: up to 8 tensors."""
    default = {"1": "2x32x128x128x128", "2": "2x32x128x128x128"}
    parts = [options.get(str(i), default.get(str(i), "")) for i in range(1, _MOST_PARTS + 1)]
    words = [f"x{i}={_wide(t, part)}" for i, part in enumerate(part for part in parts if part)]
    dim, count = int(options.get("d", "0")), len(numbers_of(parts[0]))
    return [f"cat_forward {' '.join(words)} dim={dim + count if dim < 0 else dim}"]


def getitem(options: Options, t: str) -> list[str]:
    """Read getitem, which has gradients alone."""
    dy, dx = (_wide(t, options.get(name, "128x128")) for name in "ON")
    indices = options.get("D", "128").split(",")
    words = [f"index{i}=i32:{part}" for i, part in enumerate(indices)]
    words.append(f"dims={options.get('3', '0')}")
    if int(options.get("4", "0")):
        words.append(f"slices={','.join(map(str, numbers_of(options['5'])))}")
    if int(options.get("6", "0")):
        words.append(f"offset={int(options['6'])}")
    return [f"getitem_backward dy={dy} dx={dx} {' '.join(words)}"]


def adam(options: Options, t: str) -> list[str]:
    """Read adam, adamw, and both with scaled gradients (ampadam, ampadamw), whose step lies on the device."""
    name = options[""]
    x = _wide(t, options.get("d", "64x32x128"))
    words = [f"{tensor}={x}" for tensor in _ADAM]
    most = int(options.get("a", "0"))
    if most:
        words.append(f"max_exp_avg_sq={x} max_exp_avg_sq_out={x}")
    if name.startswith("amp"):
        half = x.replace(t, "f16", 1)
        words[1] = f"grad={half}"
        words.append("grad_scale=i32:1 found_inf=i32:1 state_step=i32:1 state_step_out=i32:1")
    words += ["amsgrad=yes"] if most else []
    words += ["adamw=yes"] if name.endswith("w") else []
    words += ["maximize=yes"] if int(options.get("m", "0")) else []
    return [f"adam {' '.join(words)}"]
