"""Fuzzing of the whole check, run by hand: ``python tests/migrate/fuzz.py --minutes 60``.

Programs, logs and the files that are given are changed at random (bytes, lines, tokens, brackets, lengths, pieces of
others), checked, reported on and ported. What raises or takes too long is written into a folder with the
number that makes it again (``--seed N --once``).
"""

from __future__ import annotations

import argparse
import io
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import checking

from portadnn.migrate.checker import check
from portadnn.migrate.config import Config
from portadnn.migrate.port.files import port
from portadnn.migrate.port.following import follow
from portadnn.migrate.reports import FORMATS, write

HERE = Path(__file__).parent
TARGETS = ("miopen-1", "miopen-3", "hipdnn", "cudnn-9", "portadnn-opencl", "portadnn-cuda")
PIECES = (
    *(
        b"(",
        b")",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"'",
        b"/*",
        b"*/",
        b"//",
        b"\\\n",
        b"#if 0\n",
        b"#else\n",
        b"#endif\n",
    ),
    *(
        b"<",
        b">",
        b"<<<",
        b">>>",
        b"::",
        b"->",
        b";",
        b",",
        b"=",
        b"&",
        b"*",
        b"?",
        b":",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
    ),
    *(
        b"template <",
        b"class A : public A {",
        b"namespace {",
        b"#define X(a) X(X(a))\n",
        b'#include "a.h"\n',
        b"for (;;) ",
        b"goto a; a:",
    ),
    *(
        b"x = x + x;",
        b"return f(f(f(",
        b"cudnnCreate(",
        b"miopenCreate(",
        b"CUDNN_",
        b"0x",
        b"1e999",
        b"99999999999999999999",
        b'R"(',
    ),
)
_MANY_MIB = 200  # by which the peak rises: told, with the number of the text
LARGEST = 24_000_000  # bytes of a text
SECONDS_PER_MB = 15  # a text of nothing but calls takes about 9 to check
TOKEN = re.compile(rb"\w+|\s+|.", re.DOTALL)


def corpus(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    """Return what is changed: name and text."""
    found = [("program.cpp", program.text.encode()) for program in checking.programs()]
    found += [("api.log", path.read_bytes()[:60_000]) for path in HERE.parent.glob("cudnn9_log.txt")]
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        wanted = (".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".cuh", ".py", ".log")
        texts = [(p.name, p.read_bytes()) for p in files if p.suffix in wanted and p.stat().st_size < 200_000]
        found += [(name, text) for name, text in texts if b"cudnn" in text.lower() or b"miopen" in text]
    return found


def changed(rng: random.Random, text: bytes, others: Sequence[tuple[str, bytes]]) -> bytes:
    """Return a text with a few changes."""
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        text = rng.choice(CHANGES)(rng, text, rng.choice(others)[1])[:LARGEST]
    return text


def _at(rng: random.Random, text: bytes) -> int:
    return rng.randrange(len(text) + 1)


def _insert(rng: random.Random, text: bytes, other: bytes) -> bytes:
    at = _at(rng, text)
    return text[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 2, 50)) + text[at:]


def _delete(rng: random.Random, text: bytes, other: bytes) -> bytes:
    a = _at(rng, text)
    return text[:a] + text[a + rng.choice((1, 2, 10, 200)) :]


def _flip(rng: random.Random, text: bytes, other: bytes) -> bytes:
    at = _at(rng, text)
    return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]


def _cut(rng: random.Random, text: bytes, other: bytes) -> bytes:
    return text[: _at(rng, text)]


def _lines(rng: random.Random, text: bytes, other: bytes) -> bytes:
    lines = text.split(b"\n")
    a, b = sorted((rng.randrange(len(lines)), rng.randrange(len(lines))))
    piece = lines[a : min(b, a + 20)]
    change = rng.randrange(3)
    if change == 0:
        lines[a:a] = piece * rng.choice((1, 2, 20))
    elif change == 1:
        del lines[a : a + len(piece)]
    else:
        lines[a : a + len(piece)] = rng.sample(piece, len(piece))
    return b"\n".join(lines)


def _splice(rng: random.Random, text: bytes, other: bytes) -> bytes:
    a, b = _at(rng, text), _at(rng, other)
    return text[:a] + other[b : b + rng.choice((20, 200, 2000))] + text[a:]


def _tokens(rng: random.Random, text: bytes, other: bytes) -> bytes:
    tokens = TOKEN.findall(text, 0, 200_000)[:20_000]
    if len(tokens) < 2:
        return text
    for _ in range(rng.choice((1, 5, 50))):
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[i] = tokens[j] if rng.random() < 0.5 else rng.choice(PIECES)
    return b"".join(tokens)


def _deep(rng: random.Random, text: bytes, other: bytes) -> bytes:
    at, depth = _at(rng, text), rng.choice((100, 3000, 50_000))
    opening, closing = rng.choice(
        ((b"(", b")"), (b"{", b"}"), (b"[", b"]"), (b"f(", b")"), (b"if(x){", b"}"), (b"-", b""))
    )
    return text[:at] + opening * depth + closing * rng.choice((0, depth)) + text[at:]


def _long(rng: random.Random, text: bytes, other: bytes) -> bytes:
    times = min(rng.choice((1, 1, 30)), 1 + LARGEST // (len(text) + 1))
    return text.replace(b"\n", b" ", rng.choice((5, 1000))) * times


CHANGES: tuple[Callable[[random.Random, bytes, bytes], bytes], ...] = (
    *(_insert, _insert, _delete, _flip, _flip, _cut, _lines, _lines, _splice, _tokens, _tokens, _deep, _long),
)


class TooLong(Exception):
    """A text takes longer than it may."""


def _alarm(signum: int, frame: object) -> None:
    raise TooLong


def one(seed: int, texts: Sequence[tuple[str, bytes]], folder: Path, seconds: int) -> str:
    """Check one changed text; returns "" or what went wrong."""
    rng = random.Random(seed)
    name, text = rng.choice(texts)
    text = changed(rng, text, texts)
    config = Config(target=rng.choice(TARGETS))
    signal.setitimer(signal.ITIMER_PROF, seconds + len(text) * SECONDS_PER_MB / 1e6)
    try:
        report = check(["-"], config, jobs=1, stdin=io.BytesIO(text), stdin_name=name)
        write(report, rng.choice(sorted(FORMATS)))
        if config.target.startswith("miopen") and not name.endswith((".log", ".py")):
            port({name: text}, config.target, follow)
    except BaseException as error:  # also TooLong, wherever it comes up
        if isinstance(error, KeyboardInterrupt):
            raise
        kind = type(error).__name__
        (folder / f"{seed}-{kind}-{name}").write_bytes(text)
        (folder / f"{seed}-{kind}.txt").write_text(traceback.format_exc())
        return kind
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def main() -> None:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="more files to start from")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--seconds", type=int, default=30, help="of the processor for one text, and more by size")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGPROF, _alarm)
    texts, seed, begun, longest = corpus(options.paths), options.seed, time.monotonic(), 0.0
    found: dict[str, int] = {}
    most = 0
    while True:
        start = time.monotonic()
        wrong = one(seed, texts, options.out, options.seconds)
        longest = max(longest, time.monotonic() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        if peak > most + _MANY_MIB:
            print(f"seed {seed}: {peak} MiB", flush=True)
            most = peak
        if wrong:
            found[wrong] = found.get(wrong, 0) + 1
        seed += 1
        if options.once or time.monotonic() - begun > 60 * options.minutes:
            break
    count, minutes = seed - options.seed, (time.monotonic() - begun) / 60
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    said = f"the slowest {longest:.1f} s, {peak} MiB at most"
    print(f"{count} texts in {minutes:.1f} minutes, {said}; wrong: {found or 'none'}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
