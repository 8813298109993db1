# ruff: noqa: E501
"""Faults of migration, seeded into code: calls that keep their place, but ask for what the target does otherwise.

``python tests/migrate/mutants.py FOLDER [--number 300] [--seed 1]`` plants faults one by one into the sources of a
folder, checks each, and lists those that were not found. The shapes are those of programs, not of the rules' own tests: values
behind helpers, switches, members, tables and other files, calls behind macros, templates and pointers.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from portadnn import mapping, migrate
from portadnn.migrate.cpp.text import Text

SUFFIXES = {".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".hh", ".inl", ".txt"}
_CALL = re.compile(rb"(?<![\w.>])(cudnn[A-Z]\w*)\s*\(")
_POOLING = r"cudnnSetPooling(?:2d|Nd)Descriptor"
_BACKWARD = r"cudnnConvolutionBackward(?:Data|Filter)"
_BLENDED = r"cudnnPooling(?:Forward|Backward)|cudnnActivation(?:Forward|Backward)"


@dataclass(frozen=True)
class Fault:
    """A breach of a rule: the functions, the parameter at fault, and what it gets."""

    rule: str
    functions: str  # a pattern
    parameter: str  # names, with | between
    value: str  # an enumerator, or a number for what a scalar points to
    others: tuple[str, ...] = ()  # harmless values of the same type

    @property
    def is_scalar(self) -> bool:
        """Whether the parameter points to a number."""
        return not self.value.startswith("CUDNN_")


FAULTS = (
    Fault("V01", r"cudnnSetConvolution(?:2d|Nd)Descriptor", "mode", "CUDNN_CONVOLUTION", ("CUDNN_CROSS_CORRELATION",)),
    Fault("V10", "cudnnSetActivationDescriptor", "mode", "CUDNN_ACTIVATION_TANH",
          ("CUDNN_ACTIVATION_RELU", "CUDNN_ACTIVATION_SIGMOID", "CUDNN_ACTIVATION_ELU", "CUDNN_ACTIVATION_CLIPPED_RELU")),
    Fault("V13", "cudnnSetActivationDescriptor", "mode", "CUDNN_ACTIVATION_SWISH",
          ("CUDNN_ACTIVATION_RELU", "CUDNN_ACTIVATION_SIGMOID", "CUDNN_ACTIVATION_ELU", "CUDNN_ACTIVATION_CLIPPED_RELU")),
    Fault("V15", _POOLING, "mode", "CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING",
          ("CUDNN_POOLING_MAX", "CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING")),
    Fault("V16", _POOLING, "mode", "CUDNN_POOLING_MAX_DETERMINISTIC",
          ("CUDNN_POOLING_MAX", "CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING")),
    Fault("A08", "cudnnSetTensor4dDescriptor", "format", "CUDNN_TENSOR_NHWC", ("CUDNN_TENSOR_NCHW",)),
    Fault("V40", "cudnnSetTensor4dDescriptor", "format", "CUDNN_TENSOR_NCHW_VECT_C", ("CUDNN_TENSOR_NCHW",)),
    Fault("V28", "cudnnBatchNormalizationForwardTraining", "mode", "CUDNN_BATCHNORM_SPATIAL_PERSISTENT",
          ("CUDNN_BATCHNORM_SPATIAL", "CUDNN_BATCHNORM_PER_ACTIVATION")),
    Fault("V22", "cudnnSoftmax(?:Forward|Backward)", "algo", "CUDNN_SOFTMAX_LOG", ("CUDNN_SOFTMAX_ACCURATE",)),
    Fault("V53", r"cudnnSetRNNDescriptor(?:_v\d)?", "inputMode", "CUDNN_SKIP_INPUT", ("CUDNN_LINEAR_INPUT",)),
    Fault("S14", "cudnnConvolutionForward", "algo", "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM",
          ("CUDNN_CONVOLUTION_FWD_ALGO_GEMM", "CUDNN_CONVOLUTION_FWD_ALGO_FFT")),
    Fault("V03", _BACKWARD, "beta", "1"),
    Fault("V02", "cudnnConvolutionForward", "beta", "1"),
    Fault("V04", _BLENDED, "beta", "1"),
    Fault("V04", _BLENDED, "alpha", "2"),
    Fault("V07", "cudnnAddTensor", "beta", "1"),
    Fault("V04", "cudnnBatchNormalizationBackward", "betaDataDiff", "1"),
    Fault("V05", "cudnnLRNCrossChannel(?:Forward|Backward)", "beta", "1"),
)  # fmt: skip


@dataclass(frozen=True)
class Site:
    """A call in a text: where it is, and where the argument at fault and the statement around it begin and end."""

    function: str
    start: int
    end: int
    arguments: tuple[tuple[int, int], ...]
    place: int
    statement: int  # -1 where nothing can be put before it
    fault: Fault


@dataclass(frozen=True)
class Mutant:
    """A text with a fault in it."""

    rule: str
    function: str
    shape: str
    file: str
    texts: tuple[tuple[str, bytes], ...]  # the files to check
    line: int
    lines: range  # those of the call in the original


def sites(raw: bytes) -> Iterator[Site]:
    """Yield the arguments of a source that a fault can be planted in."""
    mask = _compiled(Text(raw).mask)
    for match in _CALL.finditer(mask):
        name = match.group(1).decode()
        fitting = [fault for fault in FAULTS if re.fullmatch(fault.functions, name)]
        line = mask[mask.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        if not fitting or b"#" in line or b"\\" in mask[match.start() : mask.find(b"\n", match.start())]:
            continue
        arguments, end = _arguments(mask, match.end() - 1)
        declared = mapping.table().functions[name]
        signature = next((s for s in declared.signatures if len(s) == len(arguments)), None)
        before = mask[max(0, match.start() - 80) : match.start()].split()
        if signature is None or (before and re.fullmatch(rb"[\w*&]+_t|\w*API|int|void", before[-1])):
            continue
        names = [parameter.name for parameter in signature]
        for fault in fitting:
            if fault.parameter in names:
                place = names.index(fault.parameter)
                yield Site(name, match.start(1), end, tuple(arguments), place, _statement(mask, match.start()), fault)


def _compiled(mask: bytes) -> bytes:
    """Return a text with what stands under ``#if 0`` blanked."""
    lines, depth, result = mask.split(b"\n"), 0, []
    for line in lines:
        word = line.replace(b"#", b" # ").split()[:3]
        if depth:
            depth += word[:1] == [b"#"] and word[1:2] in ([b"if"], [b"ifdef"], [b"ifndef"])
            depth -= word[:2] == [b"#", b"endif"] or (depth == 1 and word[:2] == [b"#", b"else"])
        elif word == [b"#", b"if", b"0"]:
            depth = 1
        result.append(b" " * len(line) if depth else line)
    return b"\n".join(result)


def _arguments(mask: bytes, opening: int) -> tuple[list[tuple[int, int]], int]:
    result, depth, last = [], 0, opening + 1
    for place in range(opening, len(mask)):
        letter = mask[place : place + 1]
        if letter in (b"(", b"[", b"{"):
            depth += 1
        elif letter in (b")", b"]", b"}"):
            depth -= 1
            if depth == 0:
                result.append((last, place))
                return result, place + 1
        elif letter == b"," and depth == 1:
            result.append((last, place))
            last = place + 1
    return [], len(mask)


def _statement(mask: bytes, start: int) -> int:
    """Return where the statement around a call begins; -1 where nothing can go before it."""
    place = start
    while place > 0 and mask[place - 1 : place] not in (b";", b"{", b"}"):
        place -= 1
    between = mask[place:start]
    if b"#" in between or between.count(b")") > between.count(b"(") or between.split()[:1] == [b"else"]:
        return -1
    depth = sum(mask[:place].count(o) - mask[:place].count(c) for o, c in ((b"(", b")"),))
    if depth > 0 or re.search(rb"\b(?:enum|struct|class|=)\s*\w*\s*\{\Z", mask[:place]) or b"?" in between:
        return -1
    return -1 if re.match(rb"\s*(?::|,|case\b|default\b)", between) else place


# Shapes: each returns what goes to the top of the file, before the statement, in the argument's place, in a header ----

Shape = Callable[[Site, str, str], tuple[str, str, str, str] | None]


def _type(site: Site) -> str:
    declared = mapping.table().functions[site.function]
    signature = next(s for s in declared.signatures if len(s) == len(site.arguments))
    return signature[site.place].type.replace("const", "").strip()


def _values(site: Site, old: str) -> list[str]:
    return [*site.fault.others, site.fault.value]


MODES: dict[str, Shape] = {
    "local": lambda s, old, t: ("", f"const auto mutant_mode = {s.fault.value};", "mutant_mode", ""),
    "assigned": lambda s, old, t: ("", f"{t} mutant_mode; mutant_mode = {s.fault.value};", "mutant_mode", ""),
    "choice": lambda s, old, t: (
        "", "", f"(mutant_level() > 3 ? {s.fault.value} : {s.fault.others[0]})", ""),
    "branches": lambda s, old, t: (
        "", f"{t} mutant_mode = {s.fault.others[0]}; if (mutant_level() > 2) mutant_mode = {s.fault.value};", "mutant_mode", ""),
    "macro": lambda s, old, t: (f"#define MUTANT_MODE {s.fault.value}\n", "", "MUTANT_MODE", ""),
    "helper": lambda s, old, t: (
        f"static inline {t} mutant_mode() {{ return {s.fault.value}; }}\n", "", "mutant_mode()", ""),
    "lambda": lambda s, old, t: ("", f"auto mutant_mode = [] {{ return {s.fault.value}; }};", "mutant_mode()", ""),
    "switch": lambda s, old, t: (
        f"static {t} mutant_mode(int k) {{ switch (k) {{ "
        + "".join(f"case {i}: return {v}; " for i, v in enumerate(_values(s, old)))
        + f"default: return {s.fault.others[0]}; }} }}\n", "", "mutant_mode(mutant_kind)", ""),
    "member": lambda s, old, t: (
        f"struct MutantConfig {{ {t} mode = {s.fault.value}; int level = 3; }};\nstatic MutantConfig mutant_config;\n",
        "", "mutant_config.mode", ""),
    "table": lambda s, old, t: (
        f"static const {t} kMutants[] = {{{', '.join(_values(s, old))}}};\n", "", f"kMutants[{len(s.fault.others)}]", ""),
    "cast": lambda s, old, t: ("", "", f"static_cast<{t}>({s.fault.value})", ""),
    "template": lambda s, old, t: (
        f"template <int> struct MutantMode;\ntemplate <> struct MutantMode<1> {{ static const {t} value = {s.fault.value}; }};\n",
        "", "MutantMode<1>::value", ""),
    "other file": lambda s, old, t: (
        '#include "mutant.h"\n', "", "mutant::kMode", f"namespace mutant {{ constexpr {t} kMode = {s.fault.value}; }}\n"),
    "other file's helper": lambda s, old, t: (
        '#include "mutant.h"\n', "", "mutant::chosen(mutant_kind)",
        f"namespace mutant {{ inline {t} chosen(int k) {{ if (k == 1) return {s.fault.others[0]}; "
        f"return {s.fault.value}; }} }}\n"),
}  # fmt: skip
SCALARS: dict[str, Shape] = {
    "local": lambda s, old, t: ("", f"const float mutant_b = {s.fault.value}.0f;", "&mutant_b", ""),
    "counted": lambda s, old, t: (
        "", f"float mutant_b = 0; mutant_b += {s.fault.value};", "&mutant_b", ""),
    "global": lambda s, old, t: (f"static const float kMutantB = {s.fault.value}.f;\n", "", "&kMutantB", ""),
    "pair": lambda s, old, t: ("", f"float mutant_ab[2] = {{0.f, {s.fault.value}.f}};", "&mutant_ab[1]", ""),
    "offset": lambda s, old, t: ("", f"float mutant_ab[2] = {{0.f, {s.fault.value}.f}};", "mutant_ab + 1", ""),
    "struct": lambda s, old, t: (
        f"struct MutantScale {{ float a; float b; }};\nstatic const MutantScale mutant_s = {{0.f, {s.fault.value}.f}};\n",
        "", "&mutant_s.b", ""),
    "helper": lambda s, old, t: (
        f"static const float *mutant_b() {{ static const float value = {s.fault.value}.f; return &value; }}\n",
        "", "mutant_b()", ""),
    "traits": lambda s, old, t: (
        "template <typename T> struct MutantOnes { static const T b; };\n"
        f"template <> const float MutantOnes<float>::b = {s.fault.value};\n", "", "&MutantOnes<float>::b", ""),
    "choice": lambda s, old, t: (
        "", f"float mutant_b = mutant_level() > 1 ? {s.fault.value}.f : 0.f;", "&mutant_b", ""),
    "pointer": lambda s, old, t: (
        "", f"float mutant_b = {s.fault.value}.f; const void *mutant_p = &mutant_b;", "mutant_p", ""),
    "other file": lambda s, old, t: (
        '#include "mutant.h"\n', "", "&mutant::kB", f"namespace mutant {{ const float kB = {s.fault.value}.f; }}\n"),
}  # fmt: skip
CALLS: dict[str, tuple[str, str, str]] = {  # what goes to the top, before the statement, and the call
    "macro with the function": (
        "#define MUTANT_EXEC(fn, ...) do { cudnnStatus_t st_ = fn(__VA_ARGS__); if (st_) mutant_fail(#fn); } while (0)\n",
        "", "MUTANT_EXEC({name}, {arguments})"),
    "pasted name": (
        "#define MUTANT_DNN(f, ...) mutant_check(cudnn##f(__VA_ARGS__), #f)\n", "", "MUTANT_DNN({short}, {arguments})"),
    "template": (
        "template <class F, class... A> void mutant_call(F f, A... args) { mutant_check(f(args...)); }\n",
        "", "mutant_call({name}, {arguments})"),
    "pointer": ("", "auto mutant_fn = &{name};", "mutant_fn({arguments})"),
    "table": (
        "struct MutantApi { decltype(&{name}) call_{short}; };\nextern MutantApi mutant_api;\n",
        "", "mutant_api.call_{short}({arguments})"),
}  # fmt: skip


def mutants(raw: bytes, file: str) -> Iterator[tuple[str, Callable[[], Mutant]]]:
    """Yield the mutants of a source, each made when it is wanted."""
    for site in sites(raw):
        first, last = site.arguments[site.place]
        old = raw[first:last].decode("utf-8", "replace").strip()
        if site.fault.rule == "A08" and _is_flat(raw, site):
            continue  # both formats are the same in memory
        if site.fault.rule == "V15" and not _pads(raw, site):
            continue  # without padding there is nothing to count
        if site.fault.value in old or (site.fault.is_scalar and not re.fullmatch(r"[&\w.>:()*<\- ]+", old)):
            continue
        type_ = _type(site)
        shapes = SCALARS if site.fault.is_scalar else MODES
        for name, shape in shapes.items():
            made = shape(site, old, type_)
            if site.fault.rule == "S14" and made is not None and made[2].endswith("(mutant_kind)"):
                continue  # a translation of the program's own names, which may be of what Find chose
            if made is not None and not (made[1] and site.statement < 0):
                yield name, _maker(raw, file, site, name, made)
        value = "&mutant_b" if site.fault.is_scalar else site.fault.value
        before = f"float mutant_b = {site.fault.value}.f;" if site.fault.is_scalar else ""
        for name, (top, local, call) in CALLS.items():
            if site.statement >= 0 and not _used(raw, site):
                yield f"call: {name}", _maker(raw, file, site, f"call: {name}", (top, before + local, value, ""), call)


def _is_flat(raw: bytes, site: Site) -> bool:
    """Whether a tensor has one channel, or height and width of one: as numbers, or as variables that nearby are 1."""
    c, h, w = (raw[a:b].strip() for a, b in site.arguments[-3:])
    near = raw[max(0, site.start - 1500) : site.start]
    one = [
        part == b"1" or re.search(rb"\b" + re.escape(part) + rb"\s*=\s*1\s*[;,]", near) is not None
        for part in (c, h, w)
    ]
    return one[0] or (one[1] and one[2])


def _pads(raw: bytes, site: Site) -> bool:
    """Whether a pooling's padding is other than the number 0."""
    signature = next(s for s in mapping.table().functions[site.function].signatures if len(s) == len(site.arguments))
    pads = [raw[a:b].strip() for p, (a, b) in zip(signature, site.arguments, strict=True) if "adding" in p.name]
    return any(pad != b"0" for pad in pads)


def _used(raw: bytes, site: Site) -> bool:
    """Whether the call's status is used: such a call cannot become a statement."""
    return re.match(rb"\s*(?:\w+\s*\(\s*)?\Z", raw[site.statement : site.start]) is None


def _maker(
    raw: bytes, file: str, site: Site, shape: str, made: tuple[str, str, str, str], call: str = ""
) -> Callable[[], Mutant]:
    def make() -> Mutant:
        top, before, value, header = (part.encode() for part in made)
        first, last = site.arguments[site.place]
        text = raw
        if call:
            given = [raw[a:b].strip() for a, b in site.arguments]
            given[site.place] = value
            short = site.function.removeprefix("cudnn")
            words = {"name": site.function, "short": short, "arguments": b", ".join(given).decode("utf-8", "replace")}

            def filled(text: str) -> bytes:
                for word, new in words.items():
                    text = text.replace("{" + word + "}", new)
                return text.encode()

            closing = raw.find(b";", site.end)
            closing = site.end if closing < 0 else closing
            text = raw[: site.statement] + b"\n" + filled(call) + raw[closing:]
            top, before = filled(made[0]), filled(made[1])
        else:
            text = raw[:first] + b" " + value + raw[last:]
        if before:
            text = text[: site.statement] + b"\n" + before + text[site.statement :]
        line = (top + text[: site.statement if site.statement >= 0 else first]).count(b"\n") + 1
        name = Path(file).name.removesuffix(".txt")
        name = name if Path(name).suffix in SUFFIXES else f"{name}.cu"
        texts = [(name, top + text)] + ([("mutant.h", b"#include <cudnn.h>\n" + header)] if header else [])
        lines = range(raw.count(b"\n", 0, site.start) + 1, raw.count(b"\n", 0, site.end) + 2)
        return Mutant(site.fault.rule, site.function, shape, file, tuple(texts), line, lines)

    return make


def found(texts: Iterable[tuple[str, bytes]], rule: str) -> list[int]:
    """Return the lines where the checker tells of a rule."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts:
            (Path(folder) / name).write_bytes(text)
        report = migrate.check([folder], jobs=1)
        return [finding.place.line for finding in report.findings if finding.rule == rule]


def is_found(mutant: Mutant, original: bytes) -> bool | None:
    """Whether the checker tells of the fault: once more than in the original. None where that had it already."""
    before = found([(mutant.texts[0][0], original)], mutant.rule)
    if any(line in mutant.lines for line in before):
        return None
    return len(found(mutant.texts, mutant.rule)) > len(before)


def collect(folder: Path) -> list[tuple[str, bytes, str, Callable[[], Mutant]]]:
    """Return all mutants of a folder's sources."""
    result = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size < 400_000:
            raw = path.read_bytes()
            result += [(str(path), raw, shape, make) for shape, make in mutants(raw, str(path))]
    return result


def chosen(
    all_: Sequence[tuple[str, bytes, str, Callable[[], Mutant]]], number: int, seed: int
) -> list[tuple[Mutant, bytes]]:
    """Return some mutants, every shape and every rule about equally often."""
    source = random.Random(seed)
    made = [(make(), raw) for _, raw, _, make in all_]
    groups: dict[tuple[str, str], list[tuple[Mutant, bytes]]] = collections.defaultdict(list)
    for mutant, raw in made:
        groups[mutant.rule, mutant.shape].append((mutant, raw))
    keys = sorted(groups)
    source.shuffle(keys)
    for key in keys:
        source.shuffle(groups[key])
    result: list[tuple[Mutant, bytes]] = []
    while len(result) < number and any(groups.values()):
        for key in keys:
            if groups[key] and len(result) < number:
                result.append(groups[key].pop())
    return result


def _judged(pair: tuple[Mutant, bytes]) -> bool | None:
    return is_found(*pair)


def main() -> None:
    """Plant faults into the sources of a folder, and tell which of them the checker misses."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="where missed mutants are written")
    given = parser.parse_args()
    pairs = chosen([one for folder in given.folder for one in collect(folder)], given.number, given.seed)
    with ProcessPoolExecutor(given.jobs) as pool:
        said = list(pool.map(_judged, pairs, chunksize=4))
    for number, ((mutant, _), hit) in enumerate(zip(pairs, said, strict=True)):
        if hit is False:
            print(f"missed {number}: {mutant.rule} {mutant.function} ({mutant.shape}) in {mutant.file}:{mutant.line}")
            for name, text in mutant.texts if given.keep else ():
                (given.keep / f"{number}.{name}").write_bytes(text)
    valid = [hit for hit in said if hit is not None]
    print(
        f"{sum(valid)} of {len(valid)} found: {sum(valid) / max(1, len(valid)):.1%}; {len(said) - len(valid)} had it before"
    )
    sys.exit(0 if sum(valid) >= 0.95 * len(valid) else 1)


if __name__ == "__main__":
    main()
