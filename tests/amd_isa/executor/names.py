"""One name for each operation: gfx9's names and the forms of an encoding become gfx11's plain ones."""

from __future__ import annotations

import functools
import re

_ENCODING = re.compile(r"_(e32|e64|dpp|dpp8|sdwa|e64_dpp|e64_dpp8)$")
_SAME = {
    "s_andn2_b32": "s_and_not1_b32",
    "s_andn2_b64": "s_and_not1_b64",
    "s_orn2_b32": "s_or_not1_b32",
    "s_orn2_b64": "s_or_not1_b64",
    "s_andn2_saveexec_b64": "s_and_not1_saveexec_b64",
    "s_orn2_saveexec_b64": "s_or_not1_saveexec_b64",
    "s_andn1_saveexec_b64": "s_and_not0_saveexec_b64",
    "s_orn1_saveexec_b64": "s_or_not0_saveexec_b64",
    "s_andn1_wrexec_b64": "s_and_not0_wrexec_b64",
    "s_andn2_wrexec_b64": "s_and_not1_wrexec_b64",
    "s_ff1_i32_b32": "s_ctz_i32_b32",
    "s_ff1_i32_b64": "s_ctz_i32_b64",
    "s_flbit_i32_b32": "s_clz_i32_u32",
    "s_flbit_i32_b64": "s_clz_i32_u64",
    "v_add_u32": "v_add_nc_u32",
    "v_sub_u32": "v_sub_nc_u32",
    "v_subrev_u32": "v_subrev_nc_u32",
    "v_add_i32": "v_add_nc_i32",
    "v_sub_i32": "v_sub_nc_i32",
    "v_add_i16": "v_add_nc_i16",
    "v_sub_i16": "v_sub_nc_i16",
    "v_add_u16": "v_add_nc_u16",
    "v_sub_u16": "v_sub_nc_u16",
    "v_subrev_u16": "v_subrev_nc_u16",
    "v_addc_co_u32": "v_add_co_ci_u32",
    "v_subb_co_u32": "v_sub_co_ci_u32",
    "v_subbrev_co_u32": "v_subrev_co_ci_u32",
    "v_mad_legacy_u16": "v_mad_u16",
    "v_ctz_i32_b32": "v_ffbl_b32",
    "v_clz_i32_u32": "v_ffbh_u32",
    "v_ffbh_i32": "v_cls_i32",
    "v_mad_mix_f32": "v_fma_mix_f32",
    "v_mad_mixlo_f16": "v_fma_mixlo_f16",
    "v_mad_mixhi_f16": "v_fma_mixhi_f16",
    "v_dot2acc_f32_f16": "v_dot2c_f32_f16",
    "v_cvt_pkrtz_f16_f32": "v_cvt_pk_rtz_f16_f32",
    "v_cvt_pknorm_i16_f32": "v_cvt_pk_norm_i16_f32",
    "v_cvt_pknorm_u16_f32": "v_cvt_pk_norm_u16_f32",
    "v_cvt_flr_i32_f32": "v_cvt_floor_i32_f32",
    "s_add_co_u32": "s_add_u32",  # gfx12's
    "s_sub_co_u32": "s_sub_u32",
    "s_add_co_ci_u32": "s_addc_u32",
    "s_sub_co_ci_u32": "s_subb_u32",
    "s_add_co_i32": "s_add_i32",
    "s_sub_co_i32": "s_sub_i32",
    "s_waitcnt_vscnt_null": "s_waitcnt_vscnt",
}
_SIZES = {  # of loads and stores
    "dword": "b32",
    "dwordx2": "b64",
    "dwordx3": "b96",
    "dwordx4": "b128",
    "dwordx8": "b256",
    "dwordx16": "b512",
    "ubyte": "u8",
    "sbyte": "i8",
    "ushort": "u16",
    "sshort": "i16",
    "byte": "b8",
    "short": "b16",
    "short_d16": "d16_b16",
    "short_d16_hi": "d16_hi_b16",
    "ubyte_d16": "d16_u8",
    "ubyte_d16_hi": "d16_hi_u8",
    "sbyte_d16": "d16_i8",
    "sbyte_d16_hi": "d16_hi_i8",
    "byte_d16_hi": "d16_hi_b8",
}
_MEMORY = re.compile(r"((?:s|global|flat|scratch)_(?:load|store))_(\w+)$")
_ATOMIC = re.compile(r"((?:global|flat)_atomic)_([a-z]+)(_x2)?$")
_ATOMIC_TYPES = {"add": "u", "sub": "u", "inc": "u", "dec": "u", "umin": "u", "umax": "u", "smin": "i", "smax": "i"}
_MFMA = re.compile(r"v_mfma_([fi]\d\d)_(\d+x\d+x\d+)_(?:\d+b_)?(f16|f32|f64|bf16|xf32|i8)$")
_DS_HALF = re.compile(r"(ds_load|ds_store)_(\w\d+)_(d16(?:_hi)?)$")
_DS = re.compile(r"ds_(read|write)(2)?(st64)?_(\w+)$")


@functools.cache
def plain(mnemonic: str) -> str:
    """Return the name of the operation of a mnemonic."""
    name = _ENCODING.sub("", mnemonic)
    name = _SAME.get(name, name)
    if match := _MEMORY.match(name):
        return f"{match[1]}_{_SIZES.get(match[2], match[2])}"
    if match := _ATOMIC.match(name):
        kind, bits = match[2], 64 if match[3] else 32
        operation = kind[1:] if kind in ("umin", "umax", "smin", "smax") else kind
        return f"{match[1]}_{operation}_{_ATOMIC_TYPES.get(kind, 'b')}{bits}"
    if match := _MFMA.match(name):  # gfx942's names of what gfx908 and gfx90a have
        return f"v_mfma_{match[1]}_{match[2]}{'bf16_1k' if match[3] == 'bf16' else match[3]}"
    if match := _DS.match(name):
        way = {"read": "load", "write": "store"}[match[1]]
        two = "2addr_" if match[2] else ""
        name = f"ds_{way}_{two}{'stride64_' if match[3] else ''}{_SIZES.get(match[4], match[4])}"
    if match := _DS_HALF.match(name):  # as global_load_d16_b16
        return f"{match[1]}_{match[3]}_{match[2].replace('u16', 'b16')}"
    if name.startswith("ds_"):
        name = name.replace("_rtn", "").replace("ds_wrxchg", "ds_storexchg")
    return name
