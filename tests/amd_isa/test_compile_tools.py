"""AMD's compiler as the tests use it: what is read of its machine code agrees with LLVM's own tool."""

from __future__ import annotations

import re
import subprocess

import pytest

from amd_isa import clang
from amd_isa.resources import Argument, resources

pytestmark = pytest.mark.amd

OPENCL = """
__kernel __attribute__((reqd_work_group_size(64, 2, 1))) void first(__global float *x, const long n, const float a) {
    __local float part[128];
    part[get_local_id(0)] = exp(x[n]);
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_group_id(0)] = a * part[127 - get_local_id(1)];
}
__kernel void second(__global int *x) { x[get_global_id(0)] = 1; }
"""
BODIES = ("x[0] = exp(x[1])", "x[0] = nonsense", "x[0] = lgamma(x[1])", "x[get_group_id(0)] = 1")
HIP = """
#define GLOBAL_FUNCTION extern "C" __attribute__((global))
GLOBAL_FUNCTION void first(float *x, int n) { x[__builtin_amdgcn_workitem_id_x()] = n; }
"""


@pytest.mark.parametrize("target", clang.TARGETS)
def test_resources_are_those_that_readelf_prints(target):
    tools = clang.require()
    elf = clang.compile(OPENCL, target)
    said = subprocess.run([tools.readelf, "--notes", str(elf)], check=True, capture_output=True, text=True).stdout
    found = resources(elf)
    assert list(found) == re.findall(r"^    \.name: +(\w+)$", said, re.MULTILINE) == ["first", "second"]
    for name, text in zip(found, re.split(r"^  - (?=\.a)", said, flags=re.MULTILINE)[1:], strict=True):
        kernel = found[name]

        def number(key, text=text):
            return int(re.search(rf"^    \.{key}: +(\d+)$", text, re.MULTILINE)[1])

        assert kernel.vgprs == number("vgpr_count") > 0
        assert kernel.sgprs == number("sgpr_count") > 0
        assert kernel.wave == number("wavefront_size") == (64 if target in clang.CDNA else 32)
        assert kernel.local_memory == number("group_segment_fixed_size") == (512 if name == "first" else 0)
        assert kernel.scratch == number("private_segment_fixed_size")
        assert kernel.kernarg_bytes == number("kernarg_segment_size")
        assert kernel.most_items == number("max_flat_workgroup_size")
        assert [a.offset for a in kernel.arguments] == [int(n) for n in re.findall(r"\.offset: +(\d+)", text)]
    assert found["first"].arguments[:3] == (
        Argument("global_buffer", 0, 8),
        Argument("by_value", 8, 8),
        Argument("by_value", 16, 4),
    )
    assert found["first"].group == (64, 2, 1)
    assert found["second"].group == ()


def test_hip_gives_the_same_form():
    clang.require()
    elf = clang.compile(HIP, "gfx1100", "hip")
    assert resources(elf)["first"].arguments[:2] == (Argument("global_buffer", 0, 8), Argument("by_value", 8, 4))
    assert re.search(r"^\w+ <first>:$", clang.listing(elf), re.MULTILINE)


def test_a_refusal_has_the_compilers_log():
    clang.require()
    with pytest.raises(clang.Refused, match="use of undeclared identifier 'nonsense'"):
        clang.compile("__kernel void f(__global int *x) { x[0] = nonsense; }", "gfx1100")


def test_many_sources_become_what_each_becomes_alone():
    """A refused source, and a call of what kernels do not call, are as when compiled alone; the others, too."""
    clang.require()
    sources = [f"__kernel void f(__global float *x) {{ {body}; }}" for body in BODIES]
    made = clang.compile_objects(sources, "gfx1100")
    assert [isinstance(one, clang.Refused) for one in made] == ["nonsense" in body for body in BODIES]
    line = [*clang.command("gfx1100", "opencl"), "-c", "-Xclang", "-mlink-builtin-bitcode"]
    for source, one in zip(sources, made, strict=True):
        if not isinstance(one, clang.Refused):
            alone = [*line, "-Xclang", str(clang.LIBRARY), "-o", "-"]
            code = subprocess.run(alone, input=source.encode(), check=True, capture_output=True).stdout
            assert one.read_bytes() == code
    assert "undeclared identifier 'nonsense'" in str(made[1])
