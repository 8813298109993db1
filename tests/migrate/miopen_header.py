"""MIOpen's public header as data: ``miopen_header.txt``, and a header for a compiler made of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

TEXT = (Path(__file__).parent / "miopen_header.txt").read_text(encoding="utf-8")
LINES = [line for line in TEXT.splitlines() if not line.startswith("#")]
# Functions of include/miopen/miopen.h, github.com/ROCm/MIOpen, commit 2d1fd997, which cuDNN has nothing for.
OF_GRAPHS = {
    "miopenCreateFusionPlan", "miopenCompileFusionPlan", "miopenCreateOpConvForward", "miopenCreateOpBiasForward",
    "miopenCreateOpActivationForward", "miopenLayerNormForward", "miopenGroupNormForward", "miopenT5LayerNormForward",
    "miopenT5LayerNormBackward", "miopenRunSolution", "miopenCatForward", "miopenSetTensorDescriptor",
}  # fmt: skip


# What programs that use MIOpen need of HIP.
HIP = """#pragma once
#include <stddef.h>
#include <stdint.h>
typedef struct ihipStream_t* hipStream_t;
typedef int hipError_t;
enum { hipSuccess = 0 };
#ifdef __cplusplus
extern "C" {
#endif
hipError_t hipMalloc(void** p, size_t n);
hipError_t hipFree(void* p);
#ifdef __cplusplus
}
#endif
"""


@cache
def functions() -> dict[str, list[tuple[str, str]]]:
    """Return the types and names of parameters by function."""
    found = {}
    for line in LINES:
        match = re.fullmatch(r"(?!enum |object )(.+?)(\w+)\((.*)\)", line)
        if match:
            parameters = [re.fullmatch(r"(.*?)(\w+)((?:\[\])?)", p.strip()).groups() for p in match[3].split(",")]
            found[match[2]] = [((type_ + brackets).strip(), name) for type_, name, brackets in parameters]
    return found


def enumerators() -> dict[str, set[str]]:
    """Return the values of each enumeration."""
    words = [line.split()[1:] for line in LINES if line.startswith("enum ")]
    return {first: {value.partition("=")[0] for value in values} for first, *values in words}


def header() -> str:
    """Return a header that declares everything, for C and C++."""
    lines = ["#pragma once", "#include <stdint.h>", "#include <stdbool.h>", "#include <hip/hip_runtime_api.h>"]
    lines += ["typedef hipStream_t miopenAcceleratorQueue_t;"]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for line in LINES:
        kind, _, rest = line.partition(" ")
        if kind == "object":
            lines.append(f"typedef struct {rest.removesuffix('_t')}* {rest};")
        elif kind == "enum":
            name, *values = rest.split()
            lines.append(f"typedef enum {{ {', '.join(values)} }} {name};")
    lines += [
        "typedef struct { union { miopenConvFwdAlgorithm_t fwd_algo; miopenConvBwdWeightsAlgorithm_t bwd_weights_algo;",
        "miopenConvBwdDataAlgorithm_t bwd_data_algo; }; float time; size_t memory; } miopenConvAlgoPerf_t;",
        "typedef struct { float time; size_t workspace_size; uint64_t solution_id; int algorithm; }"
        " miopenConvSolution_t;",
    ]
    lines += [line + ";" for line in LINES if not line.startswith(("enum ", "object "))]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", ""])


def cudnn(table, *, nine: bool = False) -> str:
    """Return a header that declares cuDNN's functions in their newest forms; of `nine` what the last headers have."""
    functions = [f for f in table.functions.values() if f.library == "cudnn"]
    functions = [f for f in functions if not nine or f.headers[1].startswith("9")]
    enums = {e.cudnn: e for e in table.enumerations if e.cudnn}
    enums = {name: e for name, e in enums.items() if not nine or not name.endswith("Preference_t")}
    text = " ".join(p.type for f in functions for p in f.latest)
    types = sorted(set(re.findall(r"\bcudnn\w+_t\b", text)) - set(enums))
    lines = ["#pragma once", "#include <stddef.h>", "#include <stdint.h>", "typedef struct CUstream_st* cudaStream_t;"]
    lines += ["typedef struct CUgraph_st* cudaGraph_t;"]
    lines += ["typedef int libraryPropertyType;", "typedef int cudnnRuntimeTag_t;", "#define CUDNN_MAJOR 7"]
    lines += ["#define CUDNN_BN_MIN_EPSILON 0.0"]
    for name, enum in enums.items():
        values = [f"{v.cudnn} = {v.number}" for v in enum.values if v.cudnn]
        lines.append(f"typedef enum {{ {', '.join(values)} }} {name};")
    for name in types:
        perf = re.fullmatch(r"cudnnConvolution(\w+)AlgoPerf_t", name)
        if perf:
            members = "cudnnStatus_t status; float time; size_t memory;"
            lines.append(f"typedef struct {{ cudnnConvolution{perf[1]}Algo_t algo; {members} }} {name};")
        elif name != "cudnnRuntimeTag_t":
            structure = "cudnnContext" if name == "cudnnHandle_t" else name[:-2].removesuffix("Descriptor") + "Struct"
            lines.append(f"typedef struct {structure}* {name};")
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for f in functions:
        arguments = ", ".join(p.c for p in f.latest) or "void"
        lines.append(f"{f.returns or 'cudnnStatus_t'} {f.name}({arguments});")
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", ""])
