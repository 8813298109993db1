"""What ``cupy.cuda.cudnn`` and ``cupy_backends.cuda.libs.cudnn`` were: cuDNN's functions with integers for pointers."""

from .bindings import BINDINGS, CuDNNAlgoPerf
from .constants import CONSTANTS
from .errors import CuDNNError, check_status
from .written import (
    CTCLoss,
    create,
    destroy,
    get_build_version,
    getCTCLossWorkspaceSize,
    getRNNDataDescriptor,
    getRNNLinLayerBiasParams,
    getRNNLinLayerMatrixParams,
    getStream,
    getVersion,
    queryRuntimeError,
    setStream,
)

available = True

globals().update(BINDINGS)
globals().update(CONSTANTS)

__all__ = [  # noqa: PLE0604
    "CTCLoss",
    "CuDNNAlgoPerf",
    "CuDNNError",
    "available",
    "check_status",
    "create",
    "destroy",
    "getCTCLossWorkspaceSize",
    "getRNNDataDescriptor",
    "getRNNLinLayerBiasParams",
    "getRNNLinLayerMatrixParams",
    "getStream",
    "getVersion",
    "get_build_version",
    "queryRuntimeError",
    "setStream",
    *BINDINGS,
    *CONSTANTS,
]
