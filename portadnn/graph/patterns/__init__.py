"""The named patterns of cuDNN's Graph API as builders: each adds its nodes to a graph and names its tensors.

>>> import portadnn.graph as cudnn
>>> from portadnn.graph.patterns import PATTERNS
>>> F = cudnn.data_type.FLOAT
>>> handle = cudnn.create_handle("reference")
>>> graph = cudnn.pygraph(io_data_type=F, intermediate_data_type=F, compute_data_type=F, handle=handle)
>>> pattern = PATTERNS["ConvBiasAct"](graph)
>>> sorted(pattern.inputs), sorted(pattern.outputs)
(['W', 'X', 'Z', 'bias'], ['Y'])
"""

from .attention import ATTENTION
from .base import Builder, Pattern
from .convolution import CONVOLUTION
from .normalization import NORMALIZATION

PATTERNS: dict[str, Builder] = {**NORMALIZATION, **CONVOLUTION, **ATTENTION}

__all__ = ["PATTERNS", "Builder", "Pattern"]
