"""Enumerations of cuDNN, with its numbers."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from ....c_names.enumerations import CEnum as _CEnum


class cudnnSamplerType_t(_CEnum):
    """cuDNN's enumeration."""

    CUDNN_SAMPLER_BILINEAR = 0


CUDNN_SAMPLER_BILINEAR = cudnnSamplerType_t.CUDNN_SAMPLER_BILINEAR
