"""Each instruction of the executor gives what AMD's instruction set guides say."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from amd_isa import clang
from amd_isa.executor.library import operations
from amd_isa.executor.names import plain
from amd_isa.instructions import compares, control, division, floats, integer, lanes, matrix, memory, packed, scalars  # noqa: F401
from amd_isa.instructions.assembly import MATRIX_TARGETS, TARGETS, Assembled
from amd_isa.instructions.cases import all_cases

pytestmark = [pytest.mark.amd, pytest.mark.xdist_group("amd_instructions")]


@functools.cache
def assembled(target):
    clang.require()
    with np.errstate(all="ignore"):
        cases = [make(target) for _, make in all_cases(target)]
    return cases, Assembled([case.snippet for case in cases], target)


ALL = [(target, i, name) for target in TARGETS + MATRIX_TARGETS for i, (name, _) in enumerate(all_cases(target))]


@pytest.mark.parametrize(("target", "number"), [x[:2] for x in ALL], ids=[f"{t}-{i}-{n}" for t, i, n in ALL])
def test_instruction(target, number):
    cases, code = assembled(target)
    with np.errstate(all="ignore"):
        cases[number].check(code.run(number))


WITHOUT_CASE = {
    "waits, hints and caches: nothing happens": (
        *("buffer_gl0_inv", "buffer_gl1_inv", "buffer_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_wbl2"),
        *("global_inv", "global_wb", "global_wbinv", "s_clause", "s_code_end", "s_dcache_inv", "s_dcache_wb"),
        *(
            "s_delay_alu",
            "s_icache_inv",
            "s_inst_prefetch",
            "s_round_mode",
            "s_sendmsg",
            "s_set_inst_prefetch_distance",
        ),
        *("s_sethalt", "s_setprio", "s_sleep", "s_ttracedata", "s_wait_alu", "s_wait_dscnt", "s_wait_idle"),
        *("s_wait_kmcnt", "s_wait_loadcnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt", "s_wait_storecnt_dscnt"),
        *("s_waitcnt_depctr", "s_waitcnt_expcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_vmcnt", "v_nop"),
    ),
    "of a group of waves, not of one: test_execute.py": ("s_barrier",),
    "in every kernel": ("s_endpgm",),
    "errors: test_execute.py": ("s_trap", "unimplemented"),
    "gfx950's and gfx12's alone": ("s_load_b96", "v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32", "v_dot2c_f32_bf16"),
    "made by the table's macro for all floats; no GPU has it": (
        "v_max3_f64",
        "v_min3_f64",
        "v_sub_f64",
        "v_subrev_f64",
    ),
}


def test_every_operation_has_a_case():
    clang.require()
    covered = set()
    for target in TARGETS + MATRIX_TARGETS:
        for case in assembled(target)[0]:
            lines = case.snippet.code.replace(" :: ", "\n").splitlines()
            names = [plain(line.split()[0].replace("v_dual_", "v_")) for line in lines if line and line[0] != "."]
            covered |= {f"{name}_gfx12" if "_wmma_" in name and target.startswith("gfx12") else name for name in names}
    exceptions = {name for names in WITHOUT_CASE.values() for name in names}
    assert set(operations()) - covered == exceptions
