"""The right calls of functions with cuDNN's and MIOpen's names, by the names and C types of their parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from portadnn.mapping import Function

from .scene import CHANNELS, FILTER, GRID, IMAGE, RESERVE, STATE, STEPS, THETA, WEIGHTS, WORKSPACE, Call, Scene

Word = Callable[[Scene], Any]

IMAGES = (
    "x y z dx dy A B C xData yData zData dyData dxData dzData means temp temp2 dMeans x2 probs gradients srcData "
    "destData valuePtr"
)
PER_CHANNEL = (
    "bias b db bnScale bnBias bnScaleData bnBiasData dBnScaleData dBnBiasData dBnScaleResult dBnBiasResult "
    "resultRunningMean resultRunningVariance resultSaveMean resultSaveInvVariance estimatedMean estimatedVariance "
    "estimatedInvVariance savedMean savedInvVariance normScale normBias normScaleData normBiasData dNormScaleData "
    "dNormBiasData prevResultRunningMean prevResultRunningVariance nextResultRunningMean nextResultRunningVariance "
    "resultBnScaleDiff resultBnBiasDiff"
)
CHANNEL_DESCS = (
    "biasDesc bDesc dbDesc bnScaleBiasMeanVarDesc dBnScaleBiasDesc normScaleBiasDesc normMeanVarDesc "
    "dNormScaleBiasDesc scaleDesc biasVarDesc savedMeanDesc savedVarDesc savedVarianceDesc estMeanDesc "
    "estVarianceDesc estInvVarianceDesc bnScaleBiasDiffDesc"
)
MEMORY = {
    **dict.fromkeys(IMAGES.split(), IMAGE),
    **dict.fromkeys(PER_CHANNEL.split(), CHANNELS),
    **dict.fromkeys(("w", "dw"), FILTER),
    **dict.fromkeys(("grid", "dgrid"), GRID),
    **dict.fromkeys(("theta", "dtheta"), THETA),
}
RNN_MEMORY = {
    **dict.fromkeys(("x", "y", "dx", "dy"), STEPS),
    **dict.fromkeys(["hx", "cx", "hy", "cy", "dhx", "dcx", "dhy", "dcy"], STATE),
    **dict.fromkeys(("w", "dw", "weightSpace", "dweightSpace"), WEIGHTS),
}
NORM_MEMORY = {"weight": IMAGE, "bias": IMAGE, "mean": (1, 1, 1, 1), "rstd": (1, 1, 1, 1), "dw": IMAGE}
LENGTHS = {
    "nbDims": 4,
    "num_lens": 4,
    "arrayLength": 2,
    "spatialDim": 2,
    "nbDimsRequested": 4,
    "arrayLengthRequested": 2,
    "requestedSpatialDim": 2,
    "sequenceLenArrayLimit": 2,
    "dims": 4,
    "dimA": IMAGE,
    "dimsA": IMAGE,
    "lens": IMAGE,
    "filterDimA": FILTER,
    "strideA": (32, 16, 4, 1),
    "stridesA": (32, 16, 4, 1),
    **dict.fromkeys(["padA", "filterStrideA", "upscaleA", "paddingA", "dilationA"], (1, 1)),
    "windowDimA": (3, 3),
    "adjA": (0, 0),
    **dict(zip("nchw", IMAGE, strict=True)),
    "k": 2,
    **dict(zip(("nStride", "cStride", "hStride", "wStride"), (32, 16, 4, 1), strict=True)),
    **dict.fromkeys(["pad_h", "pad_w", "u", "v", "upscalex", "upscaley", "dilation_h", "dilation_w"], 1),
    **dict.fromkeys(["verticalPadding", "horizontalPadding", "verticalStride", "horizontalStride"], 1),
    **dict.fromkeys(("windowHeight", "windowWidth"), 3),
    **dict.fromkeys(("groupCount", "groupCnt", "num_groups", "normalized_dim", "minibatch", "miniBatch"), 1),
    **dict.fromkeys(("adj_h", "adj_w", "layer", "pseudoLayer", "recProjSize", "outProjSize", "value"), 0),
    **dict.fromkeys(
        ["hiddenSize", "inputSize", "projSize", "hsize", "vectorSize", "batchSize", "maxSeqLength", "seqLength"], 2
    ),
    **dict.fromkeys(("maxSequenceLen", "sequenceLen", "seqLen", "maxBatchSize"), 2),
    **dict.fromkeys(("numLayers", "nlayers", "linLayerID", "paramID", "biasID", "solution_id", "lrnN"), 1),
    **dict.fromkeys(("requestedAlgoCount", "requestAlgoCount", "maxSolutionCount"), 2),
    **dict.fromkeys(("seqLengthArray", "sequenceLenArray"), (2, 2)),
    "seed": 3,
    "weightSpaceSize": 192,
    "memoryLimitInBytes": 1 << 20,
    "max_size": 80,
    "blank_label_id": 0,
    "elementCount": 1,
    "requestedElementCount": 1,
    "epsilon": 1e-3,
    "exponentialAverageFactor": 0.5,
    "expAvgFactor": 0.5,
    "dropout": 0.5,
    **dict.fromkeys(("reluCeiling", "coef", "swish_beta", "lrnAlpha", "lrnBeta", "lrnK"), 1.0),
    **dict.fromkeys(("activAlpha", "activBeta", "activPower"), 1.0),
    **dict.fromkeys(("lclip", "rclip", "alpha2"), 0.0),
    **dict.fromkeys(("labels", "labelLengths", "inputLengths"), (1, 1)),
    **dict.fromkeys(("use_mask", "state_evo", "do_backward", "enable", "exhaustiveSearch"), False),
    "apply_softmax_layer": True,
    "auxFlags": 0,
    "time": 1.0,
    "findIntensity": 1.0,
    "mask": 0,
}
NULL = (  # right as C's null pointer
    "streamId streamID stream udata fptr allocator deallocator allocatorContext paddingFill paddingMarker kDesc keys "
    "cAttn iDesc iAttn qDesc queries dcDesc dcAttn dkDesc dkeys devSeqLengths indices arrayOfElements graph noise_shape"
)
BY_NAME: dict[str, Word] = {
    "maxLabelLength": lambda s: 2,
    **{name: lambda s, v=value: v for name, value in LENGTHS.items()},  # type: ignore[misc]
    **dict.fromkeys(NULL.split(), lambda s: None),
    "handle": lambda s: s.handle,
    "cudnnHandle": lambda s: s.handle,
    "indicesSizeInBytes": lambda s: 0,
    "states": lambda s: s.buffer(64),
    "stateSizeInBytes": lambda s: 64,
}


def c_types(declaration: str) -> dict[str, str]:
    """Return the types of a C declaration's parameters."""
    inner = declaration[declaration.index("(") + 1 : declaration.rindex(")")]
    found = {}
    for text in inner.split(","):
        match = re.match(r"(.*?)(\w+)(\[\])?$", text.strip())
        if match and match.group(2) != "void":
            found[match.group(2)] = match.group(1).strip() + (match.group(3) or "")
    return found


class Vocabulary:
    """The functions of a library.

    Parameters
    ----------
    module
        ``portadnn.cudnn`` or ``portadnn.miopen``.
    declarations
        What is known of its functions, by name.
    descriptors
        What makes the opaque objects, by their C types.
    special
        Words of functions by the names of parameters, where those of all functions do not do.
    enumerations
        Right values of enumerations of C, where the first one is not.
    """

    def __init__(
        self,
        module: Any,
        declarations: Mapping[str, Function],
        descriptors: Mapping[str, Word],
        special: Mapping[str, Mapping[str, Word]],
        enumerations: Mapping[str, int],
    ) -> None:
        self.module, self.declarations, self.descriptors = module, declarations, descriptors
        self.special, self.enumerations = special, enumerations

    def word(self, scene: Scene, function: str, name: str, kind: str) -> Any:
        """Return the right value of a parameter."""
        entry = self.declarations[function]
        special = self.special.get(function, {})
        if name in special:
            return special[name](scene)
        kind = kind.removeprefix("const ")
        rnn = "RNN" in function
        memory = {**MEMORY, **(RNN_MEMORY if rnn else {}), **(NORM_MEMORY if "LayerNorm" in function else {})}
        if "GroupNorm" in function:
            memory |= NORM_MEMORY | {"weight": CHANNELS, "bias": CHANNELS}
        if "void" in kind and name in memory:
            return scene.array(memory[name])
        if "void" in kind and re.match(r"alpha|beta", name):
            return 0.0 if name.startswith("beta") or name == "alpha2" else 1.0
        if name.lower().startswith("workspace") and ("void" in kind or kind == "size_t"):
            return scene.buffer(WORKSPACE) if "void" in kind else WORKSPACE
        if name.startswith("reserveSpace") and ("void" in kind or kind == "size_t"):
            return scene.buffer(RESERVE) if "void" in kind else RESERVE
        if rnn and kind.endswith("TensorDescriptor_t *"):
            return [self.described(scene, f"{kind[:-2]}:step")] * 2
        if kind in self.enumerations:
            return self.enumerations[kind]
        if kind.endswith(("Descriptor_t", "Plan_t", "ParamPack_t")):
            which = self._which(function, name, kind, rnn)
            return self.described(scene, which)
        if name in BY_NAME:
            return BY_NAME[name](scene)
        if kind.endswith("_t") or kind == "libraryPropertyType":
            return next(iter(getattr(self.module, kind)), 0) if hasattr(self.module, kind) else 0
        raise KeyError(f"{entry.c}: {name} ({kind})")

    def _which(self, function: str, name: str, kind: str, rnn: bool) -> str:
        if name.startswith("derived"):
            return f"{kind}:new"
        if not kind.endswith(("TensorDescriptor_t", "FilterDescriptor_t")) or "ReduceT" in kind or "OpT" in kind:
            return kind
        if re.search("Set.*(Tensor|Filter).*Descriptor", function) and "RNN" not in function:
            return f"{kind}:new"
        if "Seq" in kind:
            return kind
        if name in ("wDesc", "dwDesc", "filterDesc", "linLayerMatDesc", "linLayerBiasDesc", "gradDesc") and (
            "Filter" in kind or "miopen" in kind
        ):
            return f"{kind}:weights" if rnn else f"{kind}:image" if "LayerNorm" in function else f"{kind}:filter"
        if rnn:
            return (
                f"{kind}:new"
                if name in ("mDesc", "bDesc", "paramDesc", "biasDesc")
                else f"{kind}:" + ("step" if name in ("xDesc", "yDesc") else "state")
            )
        if name in ("meanDesc", "rstdDesc"):
            return f"{kind}:one"
        if name in ("weightDesc", "biasDesc") and "LayerNorm" in function:
            return f"{kind}:image"
        return f"{kind}:channels" if name in CHANNEL_DESCS.split() or name == "weightDesc" else f"{kind}:image"

    def described(self, scene: Scene, word: str) -> Any:
        """Return an opaque object: ``type`` or ``type:which``."""
        return self.descriptors[word](scene)

    def calls(self) -> dict[str, Callable[[Scene], Call]]:
        """Return what makes the right call of each function, by name."""
        return {name: self._of(name) for name in self.declarations}

    def _of(self, name: str) -> Callable[[Scene], Call]:
        target = getattr(self.module, name)
        kinds = c_types(self.declarations[name].c)
        parameters = inspect.signature(target).parameters
        keywords = frozenset(n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY)
        wanted = [n for n in parameters if n in kinds]

        def make(scene: Scene) -> Call:
            values = {n: self._safe(scene, name, n, kinds[n]) for n in wanted}
            if "backend" in keywords:
                values["backend"] = scene.backend
            return Call(name, target, values, keywords & set(values))

        return make

    def _safe(self, scene: Scene, function: str, name: str, kind: str) -> Any:
        try:
            return self.word(scene, function, name, kind)
        except KeyError:
            if "Not supported" in (getattr(self.module, function).__doc__ or ""):
                return None
            raise


DIMS = {
    "image": IMAGE,
    "channels": CHANNELS,
    "filter": FILTER,
    "state": STATE,
    "step": (2, 2, 1),
    "weights": WEIGHTS,
    "one": (1, 1, 1, 1),
    "grid": GRID,
    "rows": (1, 2, 4, 1),
    "row": (4,),
    "matrix": (2, 2),
    "logits": (3, 2, 4),
    "vector": (2,),
}
