"""Branches and jumps. Source: the guides' section "Program flow control"."""

from __future__ import annotations

import functools

import numpy as np

from .assembly import Snippet
from .cases import Case, add, values

BEFORE = "s_mov_b32 s28, 7\n"
TAKEN = "{condition}\n{branch} .L{branch}\ns_mov_b32 s28, 1\n.L{branch}:"
CONDITIONS = {  # code in front, and whether the branch is taken, from s20
    "s_cbranch_scc0": ("s_cmp_lg_u32 s20, 0", lambda s: s == 0),
    "s_cbranch_scc1": ("s_cmp_lg_u32 s20, 0", lambda s: s != 0),
    "s_cbranch_vccz": ("s_mov_b32 vcc_lo, s20\ns_mov_b32 vcc_hi, 0", lambda s: s == 0),
    "s_cbranch_vccnz": ("s_mov_b32 vcc_lo, s20\ns_mov_b32 vcc_hi, 0", lambda s: s != 0),
    "s_cbranch_execz": ("s_mov_b32 exec_lo, s20\ns_mov_b32 exec_hi, 0", lambda s: s == 0),
    "s_cbranch_execnz": ("s_mov_b32 exec_lo, s20\ns_mov_b32 exec_hi, 0", lambda s: s != 0),
    "s_branch": ("", lambda s: s == s),
}
JUMPS = """s_getpc_b64 s[22:23]
s_add_u32 s22, s22, .Lcallee-.Lhere
.Lhere = . - 8
s_addc_u32 s23, s23, 0
s_swappc_b64 s[24:25], s[22:23]
s_add_u32 s28, s28, 100
s_branch .Lend
.Lcallee:
s_add_u32 s28, s28, 20
s_setpc_b64 s[24:25]
.Lend:"""
CALL = """s_call_b64 s[24:25], .Lfunction
s_add_u32 s28, s28, 100
s_branch .Ldone
.Lfunction:
s_add_u32 s28, s28, 20
s_setpc_b64 s[24:25]
.Ldone:"""
LOOP = """s_mov_b32 s28, 0
s_and_b32 s20, s20, 31
.Lagain:
s_add_u32 s28, s28, 3
s_sub_u32 s20, s20, 1
s_cbranch_scc0 .Lagain"""


def case(name, code, function, target):
    """Return the case of code that leaves a function of s20 in s28."""
    (s,) = values(["u32"], 1, 128)
    s[::2] = 0
    expected = np.broadcast_to(np.asarray(function(s), np.uint32), s.shape)
    snippet = Snippet(BEFORE + code, {}, {"s20": s[:, None]}, ("s28",))
    return Case(name, target, snippet, {"s28": expected[:, None, None]})


for branch, (condition, taken) in CONDITIONS.items():
    code = TAKEN.format(condition=condition, branch=branch)
    add(branch, functools.partial(case, branch, code, lambda s, taken=taken: np.where(taken(s), 7, 1)))
add("s_getpc_b64 s_swappc_b64 s_setpc_b64", functools.partial(case, "s_swappc_b64", JUMPS, lambda s: 127))
add("s_call_b64", functools.partial(case, "s_call_b64", CALL, lambda s: 127))
add("s_cbranch_scc0 backwards", functools.partial(case, "loop", LOOP, lambda s: 3 * ((s & 31) + 1)))
