"""Words for the corrected calls: MIOpen's names for what the program writes in cuDNN's."""

from __future__ import annotations

from collections.abc import Iterator

from ...values import constants
from ..registry import check
from ..shapes import enumerator, miopen_name
from ..situation import Hit, Situation


def in_miopen(situation: Situation, *names: str, default: str = "") -> str:
    """Return MIOpen's name for the enumerator that a parameter is given; the text where it is not known."""
    argument = situation.argument(*names)
    if argument is None:
        return default or names[0]
    text = " ".join(argument.text.split())
    return miopen_name(enumerator(argument.value) or text.rpartition("::")[2], text)


@check("type", "mode", "algo")
def translated(situation: Situation) -> Iterator[Hit]:
    """Bring MIOpen's names for types, modes and algorithms."""
    yield Hit(
        words={
            "type": in_miopen(situation, "dataType", "compType"),
            "mode": in_miopen(situation, "mode", "lrnMode"),
            "algo": in_miopen(situation, "algo"),
        }
    )


@check("mode", "dilation_h", "dilation_w")
def convolution_words(situation: Situation) -> Iterator[Hit]:
    """Bring the mode and the dilation, whose parameters have had several names."""
    texts = {
        word: next((a.text for name in names if (a := situation.argument(name))), word)
        for word, names in {
            "dilation_h": ("dilation_h", "upscalex", "dilationA", "upscaleA"),
            "dilation_w": ("dilation_w", "upscaley"),
        }.items()
    }
    mode = situation.argument("mode")
    is_set = "Get" not in situation.event.function
    yield Hit(words={**texts, "mode": "miopenConvolution" if is_set or mode is None else mode.text})


_ORDINARY = {"CUDNN_SOFTMAX_ACCURATE", "CUDNN_SOFTMAX_MODE_CHANNEL"}


@check("softmax_algo", "softmax_mode", "asked_algo", "asked_mode")
def softmax_words(situation: Situation) -> Iterator[Hit]:
    """Bring MIOpen's names for the algorithm and the mode, and what variables may be."""
    words = {}
    for name in ("algo", "mode"):  # a variable stays, as it may be something else on another path
        argument = situation.argument(name)
        variable = argument is not None and "CUDNN_" not in argument.text
        words[f"softmax_{name}"] = argument.text if argument and variable else in_miopen(situation, name)
        other = [str(value) for value in constants(situation.value(name)) if value not in _ORDINARY] if variable else []
        words[f"asked_{name}"] = (argument.text if argument else name) + (f" ({other[0]})" if other else "")
    yield Hit(words=words)


@check("softmax_algo", "softmax_mode", "asked_algo", "asked_mode")
def softmax_by_instance(situation: Situation) -> Iterator[Hit]:
    """Bring the same where the mode is certain.

    A program that chooses between the modes takes this one where height and width are 1, and both compute the same.
    """
    if len(situation.value("mode").options) == 1:
        yield from softmax_words(situation)


@check("activation", "coefficients")
def activation_words(situation: Situation) -> Iterator[Hit]:
    """Bring MIOpen's name for the mode, and the three coefficients that it takes there."""
    mode = enumerator(situation.value("mode"))
    coefficient = situation.argument("coef", "reluCeiling")
    numbers = "alpha, beta, gamma" if mode is None else "0.0, 0.0, 0.0"
    if mode == "CUDNN_ACTIVATION_TANH":
        numbers = "1.0, 1.0, 0.0"
    elif mode in ("CUDNN_ACTIVATION_CLIPPED_RELU", "CUDNN_ACTIVATION_ELU") and coefficient is not None:
        numbers = f"{coefficient.text}, 0.0, 0.0"
    yield Hit(words={"activation": in_miopen(situation, "mode"), "coefficients": numbers})


@check("operation")
def op_tensor_words(situation: Situation) -> Iterator[Hit]:
    """Bring the operation that the descriptor was set to."""
    name = enumerator(situation.field("opTensorDesc.opTensorOp"))
    yield Hit(words={"operation": "tensorOp" if name is None else miopen_name(name, "tensorOp")})


@check("type", "probabilities")
def ctc_words(situation: Situation) -> Iterator[Hit]:
    """Bring the type, and what is to be done with probabilities."""
    softmax = enumerator(situation.value("normMode")) == "CUDNN_LOSS_NORMALIZATION_SOFTMAX"
    probabilities = "" if softmax else "; where probs are probabilities, give miopenCTCLoss log(probs) instead"
    yield Hit(words={"type": in_miopen(situation, "compType"), "probabilities": probabilities})


@check("rnn_input", "rnn_direction", "rnn_mode", "rnn_bias", "rnn_type")
def rnn_words(situation: Situation) -> Iterator[Hit]:
    """Bring MIOpen's names for a network's settings."""
    yield Hit(
        words={
            "rnn_input": in_miopen(situation, "inputMode"),
            "rnn_direction": in_miopen(situation, "direction", "dirMode"),
            "rnn_mode": in_miopen(situation, "mode", "cellMode"),
            "rnn_bias": in_miopen(situation, "biasMode", default="miopenRNNwithBias"),
            "rnn_type": in_miopen(situation, "mathPrec", "dataType"),
        }
    )


@check("type", "layout")
def rnn_data_words(situation: Situation) -> Iterator[Hit]:
    """Bring MIOpen's names for type and layout."""
    yield Hit(words={"type": in_miopen(situation, "dataType"), "layout": in_miopen(situation, "layout")})
