"""Names of cudnn-frontend's module whose kernels are in NVIDIA's CuTe DSL, past the graph; none of them is here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ...errors import shown
from ..rules import fail

_TEXT = """
AlignedHCABackward BSA BlockScaledTensor CSA CSACompressorBackward CSACompressorForward CausalConv3dWithCacheSm100
CompactGqaBackward Conv3dBiasResidualPadSm100 Conv3dRawSm100 Conv3dRmsNormSiluPadSm100 Conv3dRmsNormSiluSm100 DSA
DiscreteGroupedGemmDswigluSm100 DiscreteGroupedGemmSwigluSm100 EngramGateSavedBackward EngramGateSavedForward
FlexAttentionBwd FlexAttentionFwd GatedAttentionBlockBwd GatedAttentionBlockFwd GemmAmaxSm100 GemmDsreluSm100
GemmProjRopeMxfp8Bf16InSm100 GemmProjRopeMxfp8Mxfp8InSm100 GemmSreluSm100 GemmSwigluSm100 GroupedGemmDgluSm100
GroupedGemmDsreluSm100 GroupedGemmDswigluSm100 GroupedGemmGluHadamardQuantSm100 GroupedGemmGluHadamardSm100
GroupedGemmGluSm100 GroupedGemmQuantSm100 GroupedGemmSm100 GroupedGemmSreluSm100 GroupedGemmSwigluSm100
GroupedGemmWgradSm100 MhcProjectionBackward MoeEp MoeEpAutotuneCandidateResult MoeEpAutotuneResult
MoeEpBackwardWeightStaging MoeEpBackwardWeights MoeEpConfig MoeEpDataPathConfig MoeEpFc1WeightLayout
MoeEpForwardWeightStaging MoeEpForwardWeights MoeEpModelConfig MoeEpNativeBackwardWeights
MoeEpNativeDiscreteBackwardWeights MoeEpNativeDiscreteForwardWeights MoeEpNativeDiscreteWeight
MoeEpNativeForwardWeights MoeEpNativeWeight MoeEpNativeWeightLayout MoeEpNativeWeightStorageMode MoeEpParallelConfig
MoeEpTrainingBackwardOutputs MoeEpTrainingForwardOutputs MoeEpTrainingWgradOperands MoeEpTuningConfig MoeFormat
MoeTensor NSA Nvfp4AttentionQatBackward RmsNormRhtAmaxSm100 RmsNormSiluPadSm100 RopeQDQInplace SdpabwdSm100D256
SdpafwdSm100D256 TailRoPEForward TriangleAttentionFwd TriangleMultiplicativeUpdateFwd VisionRoPEBackward
aligned_hca_backward_wrapper block_sparse_attention_backward block_sparse_attention_forward
block_sparse_attention_fp8_forward causal_conv3d_with_cache_wrapper_sm100 compact_gqa_backward
conv3d_bias_residual_pad_wrapper_sm100 conv3d_raw_wrapper_sm100 conv3d_rmsnorm_silu_pad_wrapper_sm100
conv3d_rmsnorm_silu_wrapper_sm100 create_mask_plan csa_compressor_backward_wrapper csa_compressor_forward_wrapper
discrete_grouped_gemm discrete_grouped_gemm_dswiglu_jax_sm100 discrete_grouped_gemm_dswiglu_wrapper_sm100
discrete_grouped_gemm_swiglu_jax_sm100 discrete_grouped_gemm_swiglu_wrapper_sm100 engram_gate_saved_backward
engram_gate_saved_forward flex_attn_func gated_attention_block gated_attention_block_backward
gated_attention_block_forward gemm_amax_jax_sm100 gemm_amax_wrapper_sm100 gemm_dsrelu_jax_sm100
gemm_dsrelu_wrapper_sm100 gemm_proj_rope_mxfp8_jax_sm100 gemm_proj_rope_mxfp8_wrapper_sm100 gemm_srelu_jax_sm100
gemm_srelu_wrapper_sm100 gemm_swiglu_jax_sm100 gemm_swiglu_wrapper_sm100 get_grouped_gemm_wgrad_workspace_size_sm100
gnn grouped_gemm grouped_gemm_dglu_jax_sm100 grouped_gemm_dglu_wrapper_sm100 grouped_gemm_dsrelu_jax_sm100
grouped_gemm_dsrelu_wrapper_sm100 grouped_gemm_dswiglu_wrapper_sm100 grouped_gemm_glu_hadamard_jax_forward
grouped_gemm_glu_hadamard_quant_jax_forward grouped_gemm_glu_hadamard_quant_wrapper_sm100
grouped_gemm_glu_hadamard_wrapper_sm100 grouped_gemm_glu_jax_sm100 grouped_gemm_glu_wrapper_sm100
grouped_gemm_jax_sm100 grouped_gemm_quant_jax_forward grouped_gemm_quant_wrapper_sm100
grouped_gemm_srelu_jax_forward grouped_gemm_srelu_wrapper_sm100 grouped_gemm_swiglu_wrapper_sm100
grouped_gemm_wgrad_jax_sm100 grouped_gemm_wgrad_wrapper_sm100 grouped_gemm_wrapper_sm100 hstu_attention_backward
hstu_attention_forward hstu_lmsd_backward hstu_lmsd_forward mask_to_kv_lengths mhc_projection_backward moe_ep
nvfp4_attention_qat_backward pack_backward_weights pack_causal_conv3d_weight_sm100 pack_conv3d_weight_sm100
pack_forward_weights prefix_mask_to_kv_lengths rmsnorm_rht_amax_wrapper_sm100 rmsnorm_silu_pad_wrapper_sm100
rope_qdq_inplace sdpa_bwd_wrapper_sm100_d256 sdpa_fwd_wrapper_sm100_d256 sdpa_torch tail_rope triangle_attention
triangle_multiplicative_update vision_rope_backward_wrapper
Nvfp4BlockScaleDequantizer Nvfp4BlockScaleQuantizer block_sparse_attention_backward_jax
block_sparse_attention_forward_jax causal_conv1d_update kimi_delta_attention_backward_jax
kimi_delta_attention_forward_jax nvfp4_block_scale_dequantize nvfp4_block_scale_quantize qsa_backward qsa_forward
qsa_indexed_backward qsa_indexed_forward qsa_select_decode_forward qsa_select_decode_paged_forward qsa_select_forward
"""
NAMES = frozenset(_TEXT.split())
MODULES = {  # and why they are not here
    "fla": "it replaces functions of flash-linear-attention by kernels in CuTe DSL",
    "jax": "it makes calls of JAX from kernels in CuTe DSL and from cuDNN's plans",
    "torch": "it registers kernels in CuTe DSL as torch's attention; portadnn.torch has layers and operators",
}
NODES = [
    f"{name}{suffix}"
    for name in ("gdn", "gdn2", "gdp", "kda", "mamba2")
    for suffix in ("", "_bwd", "_summary", "_summary_bwd")
]


def _refused(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        fix = "describe the recurrence by the graph's other operations, or compute it in PyTorch"
        raise fail("PG-NODE-009", argument=name, expected="an operation of cuDNN's graphs", got=name, fix=fix)

    refuse.__doc__ = f"Refuse: in cudnn-frontend 1.32 {name} is a kernel in CuTe DSL (PG-NODE-009)."
    refuse.__name__ = name
    return refuse


class CuteDslNodes:
    """The operations of graphs that exist in CuTe DSL alone; each is refused, as by a cudnn-frontend without it."""


for _name in NODES:
    setattr(CuteDslNodes, _name, _refused(_name))


def missing(name: str, module: str = "portadnn.graph") -> Exception:
    """Return the error of a name that a module's ``__getattr__`` lacks: an ImportError for a kernel in CuTe DSL.

    A module is one for ``from`` alone: who looks through all modules for a name, as pickle does, wants AttributeError.
    """
    if name in MODULES:
        by = sys._getframe(2).f_globals.get("__name__")
        kind = ImportError if by == "importlib._bootstrap" else AttributeError
        return kind(f"{module} has no {name}: {MODULES[name]}")
    if name in NAMES:
        return ImportError(
            f"{module} has no {name}: it is a kernel in CuTe DSL for GPUs of NVIDIA alone (as a rule Blackwell); "
            "describe the computation as a graph (pygraph), which runs on every device"
        )
    return AttributeError(f"module {module!r} has no attribute {shown(name)}")
