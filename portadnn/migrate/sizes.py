"""How many bytes the types of C have."""

from __future__ import annotations

SIZES = {
    "char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "unsigned char": 1, "short": 2, "int16_t": 2, "uint16_t": 2,
    "half": 2, "__half": 2, "float16": 2, "int": 4, "unsigned": 4, "unsigned int": 4, "int32_t": 4, "uint32_t": 4,
    "float": 4, "cl_float": 4, "cl_int": 4, "double": 8, "long": 8, "long long": 8, "int64_t": 8, "uint64_t": 8,
    "size_t": 8, "unsigned long": 8, "unsigned long long": 8, "cl_mem": 8, "float2": 8, "float4": 16, "int4": 16,
}  # fmt: skip
POINTER = 8
