"""From the text of llvm-objdump to records: what c/state.h calls `record`."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import modifiers
from .names import plain

# c/state.h has the same numbers
VCC, M0, EXEC, SCC, NOWHERE, VGPRS = 106, 124, 126, 128, 130, 192
AGPRS = VGPRS + 256 * 64
TEMPORARIES = AGPRS + 256 * 64
CONSTANT, ABS, NEG, HIGH, HALF, OFF, SEXT = 1, 2, 4, 8, 16, 32, 64
CLAMP, RETURNS, WRITES_EXEC = 1, 2, 4
SHARED_APERTURE, PRIVATE_APERTURE = 0x10000, 0x20000

OPERAND = np.dtype([("at", "i4"), ("lane", "u1"), ("next", "u1"), ("flags", "u1"), ("unused", "u1")])
RECORD = np.dtype(
    [
        ("op", "u2"),
        *((name, "u1") for name in ("count", "modifier", "omod")),
        *((name, "u1") for name in ("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "unused")),
        ("extra", "u1", 10),
        *((name, "u4") for name in ("flags", "address")),
        *((name, "i4") for name in ("offset", "offset1", "target")),
        ("o", OPERAND, 6),
    ]
)
_PACKED = struct.Struct("<H8B10sIIiii" + 6 * "i4B")
_NUMBERS = ("modifier", "omod", "op_sel", "op_sel_hi", "neg_lo", "neg_hi", "flags", "offset", "offset1")
_SCALARS = {
    **{"vcc": VCC, "vcc_lo": VCC, "vcc_hi": VCC + 1, "exec": EXEC, "exec_lo": EXEC, "exec_hi": EXEC + 1},
    **{"m0": M0, "scc": SCC, "src_scc": SCC},
}
_APERTURES = {
    **{"src_shared_base": SHARED_APERTURE << 32, "src_private_base": PRIVATE_APERTURE << 32},
    **{"src_shared_limit": 0xFFFFFFFF, "src_private_limit": 0xFFFFFFFF},
}
_LINE = re.compile(r"^\t(?P<text>\S.*?)\s*// (?P<address>[0-9A-F]+):(?P<words>(?: [0-9A-F]{8})+)(?: <.*>)?$")
_LIST = re.compile(r"\s(op_sel|op_sel_hi|neg_lo|neg_hi):\[([\d,]+)\]")
_NUMBER = re.compile(r"\s(offset|offset0|offset1|mul|div):(-?\w+)")
_WORD = re.compile(r"\s(clamp|glc|slc|dlc|sc0|sc1|nt|th:\w+|scope:\w+)\b")
_REGISTER = re.compile(r"(s|v|a|ttmp)(?:(\d+)|\[(\d+):(\d+)\])(\.[lh])?$")
_SWIZZLE = re.compile(r"\soffset:swizzle\([^)]*\)")
_BRANCH = re.compile(r"s_(c?branch\w*|call_b64)$")
_NO_OPERANDS = re.compile(
    r"s_(waitcnt|wait_|delay_alu|sendmsg$|nop|clause|set_inst_prefetch|sethalt|trap|sleep|setprio)"
)
_KEEPS = {"v_fma_f16", "v_mad_f16", "v_mad_u16", "v_mad_i16", "v_div_fixup_f16"}  # the other half, on gfx9 as well
_PACKED_MATH = re.compile(r"v_(pk_|dot\d|fma_mix|mad_mix|wmma_|mfma_)")
_ATOMIC = re.compile(r"(global|flat)_atomic_|ds_(?!load|store_|permute|bpermute|swizzle)")
_SATURATES = re.compile(r"v_(add|sub|subrev)_nc_|v_(pk|dot)")


class Unknown(Exception):
    """An instruction that the executor does not have."""


@dataclass
class Instruction:
    """A line of the text: its address in the ELF, its text, its words."""

    address: int
    text: str
    words: tuple[int, ...]

    @property
    def mnemonic(self) -> str:
        return self.text.partition(" ")[0]


@dataclass
class Program:
    """Records of a kernel's text with what they refer to; `lines` has the instruction of each record."""

    records: np.ndarray
    constants: np.ndarray
    index: np.ndarray  # the record at each word of the text from `start` on, or -1
    start: int
    lines: list[Instruction] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # instructions without an operation: errors where they are reached


def instructions(text: str) -> list[Instruction]:
    """Return the instructions of llvm-objdump's disassembly."""
    found = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and match["text"] != "s_code_end":
            words = tuple(int(word, 16) for word in match["words"].split())
            found.append(Instruction(int(match["address"], 16), match["text"], words))
        elif not match and line.startswith("\t"):
            raise Unknown(line)
    return found


def decode(lines: list[Instruction], operations: dict[str, int], gfx: int) -> Program:
    """Return the program of instructions, for a target such as 11 (gfx11) or 9."""
    decoder = _Decoder(operations, gfx)
    for line in lines:
        decoder.add(line)
    return decoder.program()


class _Decoder:
    def __init__(self, operations: dict[str, int], gfx: int) -> None:
        self.operations, self.gfx = operations, gfx
        self.constants: dict[tuple[int, int, int, int], int] = {}
        self.records = bytearray()
        self.lines: list[Instruction] = []
        self.unknown: list[str] = []
        self.targets: list[tuple[int, int]] = []  # of records, addresses

    def add(self, line: Instruction) -> None:
        """Append the records of an instruction: one, or more for a pair that is issued together."""
        if " :: " in line.text:
            return self._pair(line)
        try:
            self._append(line, *self._parse(line.text, line))
        except (Unknown, NotImplementedError) as error:
            self.unknown.append(f"{line.text}: {error}")
            self._append(line, "unimplemented", [], {})
        return None

    def _pair(self, line: Instruction) -> None:
        """Two instructions that read before either writes: the first one's result waits in a temporary."""
        texts = [text.replace("v_dual_", "v_") for text in line.text.split(" :: ")]
        first, second = (self._parse(text, line) for text in texts)
        written, names = first[1][0], [o["at"] for o in second[1]]
        if written["at"] not in names[1:]:
            self._append(line, *first)
            return self._append(line, *second)
        held = {**written, "at": TEMPORARIES}
        self._append(line, first[0], [held, *first[1][1:]], first[2])
        self._append(line, *second)
        return self._append(line, "v_mov_b32", [written, held], {})

    def _parse(self, text: str, line: Instruction) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
        """Return name, operands and other fields of an instruction."""
        mnemonic, _, rest = text.partition(" ")
        name, fields, rest = plain(mnemonic), {}, " " + rest
        if name.startswith("v_wmma_") and self.gfx == 12:
            name += "_gfx12"
        if _NO_OPERANDS.match(name):
            return name, [], {}
        if _BRANCH.match(name):
            *operands, distance = rest.strip().split(", ")
            distance = int(distance)
            fields["to"] = line.address + 4 + 4 * (distance - (distance >> 15 << 16))
            return name, [self._operand(o, name) for o in operands], fields
        extra = modifiers.WORDS.findall(rest)
        rest = modifiers.WORDS.sub("", rest)
        for key, bits in _LIST.findall(rest):
            fields[key] = sum(int(bit) << i for i, bit in enumerate(bits.split(",")))
        rest = _LIST.sub("", rest)
        rest = _SWIZZLE.sub(f" offset:{line.words[0] & 0xFFFF}", rest)  # its text has several forms
        words = set(_WORD.findall(rest))
        numbers = dict(_NUMBER.findall(rest))
        rest = _NUMBER.sub("", _WORD.sub("", rest)).strip()
        if "clamp" in words and re.search(r"_[ui]\d\d$", name) and not _SATURATES.match(name):
            raise Unknown(f"{text}: clamp")
        fields["flags"] = CLAMP * ("clamp" in words)
        fields["omod"] = {"2": 1, "4": 2}.get(numbers.get("mul", ""), 3 if "div" in numbers else 0)
        fields["offset"] = int(numbers.get("offset", numbers.get("offset0", "0")), 0)
        fields["offset1"] = int(numbers.get("offset1", "0"), 0)
        operands = [self._operand(o, name) for o in re.split(r",\s*", rest)] if rest else []
        returns = bool(words & ({"glc", "sc0"})) or "_rtn" in mnemonic or "th:TH_ATOMIC_RETURN" in words
        self._complete(name, operands, fields, returns)
        if "_legacy_" in mnemonic:  # gfx8's, which clear the other half
            operands[0]["flags"] &= ~HALF
        if extra:
            fields["words"] = extra
        return name, operands, fields

    def _complete(self, name: str, operands: list[dict[str, Any]], fields: dict[str, Any], returns: bool) -> None:
        """Add the operands that the text leaves out, so that each operation always has the same ones."""
        nowhere = {"at": NOWHERE, "lane": 0, "next": 1, "flags": 0}
        if name.startswith("v_cmpx") and self.gfx > 9:
            operands.insert(0, {**nowhere, "at": EXEC})
        if name == "v_cndmask_b32" and len(operands) == 3:
            operands.append({**nowhere, "at": VCC})
        if _ATOMIC.match(name):
            if returns:
                fields["flags"] |= RETURNS
            else:
                operands.insert(0, nowhere)
        if name.startswith("flat_"):
            operands.append({**nowhere, "flags": OFF})
        if name.startswith("s_load") and len(operands) == 3 and "immediate" in operands[2]:
            fields["offset"] = operands.pop()["immediate"]
        if re.match(r"s_(movk|addk|mulk|cmpk_\w+)_i32", name):
            value = operands[-1]["immediate"] & 0xFFFF
            operands[-1] = self._constant(value - (value >> 15 << 16))
        selected = fields.get("op_sel", 0)
        if _PACKED_MATH.match(name):
            fields.setdefault("op_sel_hi", 0 if "_mix" in name else 7)
        elif selected and not any("half" in operand for operand in operands):
            for i, operand in enumerate(operands[1:]):  # the upper half of a source; the last bit is the result's
                operand["flags"] |= HIGH * (selected >> i & 1)
            if selected >> (len(operands) - 1) & 1:
                operands[0]["flags"] |= HIGH | HALF
        if operands and (self.gfx > 9 or name in _KEEPS):
            operands[0]["flags"] |= HALF

    def _operand(self, text: str, name: str) -> dict[str, Any]:
        flags = 0
        text = text[4:-1] if text.startswith("lit(") else text
        if re.match(r"-[^\d]", text):
            text, flags = text[1:], NEG
        for word, flag in (("neg", NEG), ("abs", ABS), ("sext", SEXT)):
            if text.startswith(f"{word}("):
                text, flags = text[len(word) + 1 : -1], flags | flag
        if text.startswith("|"):
            text, flags = text.strip("|"), flags | ABS
        if match := _REGISTER.match(text):
            kind, number, half = match[1], int(match[2] or match[3]), match[5]
            scalar = {"s": 0, "ttmp": 108}
            at = scalar[kind] + number if kind in scalar else {"v": VGPRS, "a": AGPRS}[kind] + 64 * number
            vector = kind not in scalar
            operand = {"at": at, "lane": int(vector), "next": 64 if vector else 1, "flags": flags}
            if half:
                operand["half"] = half
                operand["flags"] |= HIGH * (half == ".h")
            return operand
        if text in _SCALARS:
            return {"at": _SCALARS[text], "lane": 0, "next": 1, "flags": flags}
        if text == "off":
            return {"at": NOWHERE, "lane": 0, "next": 1, "flags": OFF}
        if text == "null":
            return {"at": NOWHERE, "lane": 0, "next": 1, "flags": flags}
        if text in _APERTURES:
            return self._pool(_APERTURES[text] & 0xFFFFFFFF, _APERTURES[text], 0, flags)
        if re.match(r"-?\d+\.\d+(e-?\d+)?$", text):
            value = float(text)
            half = struct.unpack("<H", struct.pack("<e", value))[0]
            single, double = (struct.unpack(i, struct.pack(f, value))[0] for i, f in (("<I", "<f"), ("<Q", "<d")))
            return self._pool(single, double, half, flags)
        try:
            value = int(text, 0)
        except ValueError:
            raise Unknown(f"{name}: operand {text}") from None
        literal = "0x" in text
        if literal and "_f64" in name:
            return {**self._pool(value, value << 32, value & 0xFFFF, flags), "immediate": value}
        if literal and value >> 31 and re.search(r"_i64", name):
            value -= 1 << 32
        return self._constant(value, flags)

    def _constant(self, value: int, flags: int = 0) -> dict[str, Any]:
        return {**self._pool(value, value, value & 0xFFFF, flags), "immediate": value}

    def _pool(self, word: int, double: int, half: int, flags: int) -> dict[str, Any]:
        key = (word & 0xFFFFFFFF, double & 0xFFFFFFFF, double >> 32 & 0xFFFFFFFF, half)
        at = self.constants.setdefault(key, len(self.constants))
        return {"at": at, "lane": 0, "next": 0, "flags": flags | CONSTANT}

    def _append(self, line: Instruction, name: str, operands: list[dict[str, Any]], fields: dict[str, Any]) -> None:
        if "to" in fields:
            self.targets.append((len(self.lines), fields["to"]))
        if "words" in fields:
            modifiers.encode(fields, fields["words"], name)
        if name not in self.operations or len(operands) > 6:
            raise Unknown(f"{line.text}: there is no operation {name} of {len(operands)} operands")
        numbers = [fields.get(key, 0) for key in _NUMBERS]
        packed = [x for o in operands for x in (o["at"], o["lane"], o["next"], o["flags"], 0)]
        packed += [0] * (5 * (6 - len(operands)))
        extra = bytes(fields.get("extra", b""))
        op = self.operations[name]
        self.records += _PACKED.pack(
            op, len(operands), *numbers[:6], 0, extra, numbers[6], line.address, *numbers[7:], 0, *packed
        )
        self.lines.append(line)

    def program(self) -> Program:
        records = np.frombuffer(self.records, RECORD)
        start, last = self.lines[0].address, self.lines[-1]
        index = np.full((last.address - start) // 4 + len(last.words), -1, np.int32)
        for i in range(len(self.lines) - 1, -1, -1):
            index[(self.lines[i].address - start) // 4] = i
        for i, address in self.targets:
            records[i]["target"] = index[(address - start) // 4]
        constants = np.array(list(self.constants) or [(0, 0, 0, 0)], np.uint32)
        return Program(records, constants, index, start, self.lines, self.unknown)
