"""Which files are found, in which order, and what is said of the others."""

from __future__ import annotations

import inspect
import io
import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from portadnn.errors import BadParam
from portadnn.migrate.files import discover
from portadnn.migrate.files.file_kinds import kind_of
from portadnn.migrate.wildcards import spec_of

CALL = "void f() { cudnnCreate(&h); }\n"
CUDNN_LOG = "I! CuDNN (v7501) function cudnnCreate() called:\ni!     handle: location=host; addr=0x1;\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    """Write some files."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def names(found: discover.Discovered, root: Path) -> list[str]:
    """Return what was found, by its path below a folder."""
    return [Path(one.shown).relative_to(root).as_posix() for one in found.found]


def test_a_folder_is_read_in_a_stable_order(tmp_path):
    files = ("b.cu", "a/z.hpp", "a/B.c", "c.cuh", "a.inl", "d.txt", "e.o", "f.py", "run.log", "Makefile")
    tree(tmp_path, dict.fromkeys(files, CALL) | {"run.log": CUDNN_LOG, "f.py": "import portadnn\n"})
    found = discover.sources([tmp_path])
    assert names(found, tmp_path) == ["a/B.c", "a/z.hpp", "a.inl", "b.cu", "c.cuh", "f.py", "run.log"]
    assert [one.kind for one in found.found][-2:] == ["python", "log"]
    assert found.skipped == []


def test_ignored_files_are_those_that_git_ignores(tmp_path):
    """git itself is the judge."""
    ignore = {
        ".gitignore": "*.tmp.cpp\n/build/\nout/\n!keep.tmp.cpp\ndeep/**/x.cpp\n[\nodd\\ \nbad\\\n",
        "sub/.gitignore": "!b.tmp.cpp\n*.cu\n\\#odd.cpp\n",
        "sub/deeper/.gitignore": "!c.cu\n",
    }
    sources = (
        *("a.cpp", "a.tmp.cpp", "keep.tmp.cpp", "build/a.cpp", "sub/build/a.cpp", "sub/out/a.cpp", "sub/b.tmp.cpp"),
        *("sub/c.cu", "sub/deeper/c.cu", "sub/deeper/d.cu", "deep/x.cpp", "deep/a/b/x.cpp", "sub/#odd.cpp"),
        *("out/keep.tmp.cpp", "odd /a.cpp", "odd/a.cpp"),
    )
    tree(tmp_path, dict.fromkeys(sources, CALL) | ignore)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    expected = sorted(name.strip('"') for name in listed if name.endswith((".cpp", ".cu")))
    assert sorted(names(discover.sources([tmp_path]), tmp_path)) == expected
    below = sorted(f"sub/{name}" for name in names(discover.sources([tmp_path / "sub"]), tmp_path / "sub"))
    assert below == [name for name in expected if name.startswith("sub/")]
    everything = names(discover.sources([tmp_path], gitignore=False), tmp_path)
    assert sorted(everything) == sorted(sources)


GIT = st.lists(
    st.sampled_from(
        (
            *(
                "*",
                "*.*",
                "*/",
                "*.cpp",
                "a",
                "a/",
                "/a",
                "a/b",
                "/a/*",
                "a/**",
                "**/b",
                "b/*.cu",
                "a/**/c.cpp",
                "?.cu",
            ),
            *("?.cu", "a*", "**", "/*", "a/b/", "\\!x", "# a", "", "c.cpp ", "/a/b/c.cpp", "[ab]", "x*.cpp"),
            *("*c*p*", "[!a]*", "*[!x]*.c?p", "*.***p", "a/*b*/*[a-c]*.c*", "*?*?*.cu", "***/a*.*", "*.c*[!a]*p"),
        )
    ).flatmap(lambda text: st.sampled_from((text, f"!{text}"))),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(above=GIT, below=st.one_of(st.none(), GIT))
@example(above=["*", "!*.*", "!*/"], below=None)  # what may be there is listed
@example(above=["*", "!a"], below=None)
def test_any_gitignore_means_what_git_says(above, below):
    sources = [f"{folder}{name}" for folder in ("", "a/", "a/b/", "b/", "b/a/") for name in ("c.cpp", "x.cpp", "a.cu")]
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        ignore = {".gitignore": "\n".join(above)} | ({"a/.gitignore": "\n".join(below)} if below is not None else {})
        tree(root, dict.fromkeys(sources, CALL) | ignore)
        subprocess.run(["git", "init", "-q", place], check=True)
        command = ["git", "-C", place, "ls-files", "--others", "--exclude-standard"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert sorted(names(discover.sources([root]), root)) == sorted(set(listed) & set(sources))


@pytest.mark.parametrize(
    "line", ["*" * 40 + "b", "*a" * 40 + "*b", "*[ab]?" * 30 + "*c", "*a*/" * 40 + "b", "**/a/" * 3 + "*a" * 40]
)
def test_stars_take_no_power_of_time(line, tmp_path):
    """Each took longer than a day: a star was tried at all places for each place of those before it."""
    (tmp_path / ".git").mkdir()
    tree(tmp_path, {".gitignore": f"{line}\n", f"{'a' * 240}.cpp": CALL, f"{'a/' * 60}{'a' * 200}.cpp": CALL})
    assert len(names(discover.sources([tmp_path]), tmp_path)) == 2


def test_patterns_are_matched_by_pythons_expressions(monkeypatch):
    """re2, which pathspec takes where it is installed, has no lookaheads."""
    init, asked = GitIgnoreSpec.__init__, []

    def noted(self, *args, **options):
        asked.append(options.get("backend"))
        init(self, *args, **options)

    monkeypatch.setattr(GitIgnoreSpec, "__init__", noted)
    assert spec_of(["*a*b*c"]).match_file("xaxbxc")
    assert set(asked) == {"simple" if "backend" in inspect.signature(init).parameters else None}


def test_products_and_what_is_excluded(tmp_path):
    tree(
        tmp_path,
        dict.fromkeys(
            (
                "a.cpp",
                "node_modules/a.cpp",
                ".git/a.cpp",
                "b/CMakeCache.txt",
                "b/a.cpp",
                "third_party/x/a.cpp",
                "c/a.cpp",
            ),
            CALL,
        ),
    )
    found = discover.sources([tmp_path], exclude=["third_party/"])
    assert names(found, tmp_path) == ["a.cpp", "c/a.cpp"]
    reasons = {Path(s.file).relative_to(tmp_path).as_posix(): s.reason for s in found.ignored}
    assert reasons["b"] == "a folder of build products"
    assert reasons["third_party"] == "excluded"


def test_sources_among_the_products_of_their_build(tmp_path):
    tree(
        tmp_path,
        dict.fromkeys(("a/CMakeLists.txt", "a/CMakeCache.txt", "a/x.cpp", "b/CMakeCache.txt", "b/y.cpp"), CALL),
    )
    assert names(discover.sources([tmp_path]), tmp_path) == ["a/x.cpp"]


def test_links_in_circles_end(tmp_path):
    tree(tmp_path, {"a/x.cpp": CALL, "outside/y.cpp": CALL})
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "a" / "self.cpp").symlink_to("self.cpp")
    (tmp_path / "a" / "gone.cpp").symlink_to("nowhere.cpp")
    (tmp_path / "a" / "same.cpp").symlink_to("x.cpp")
    found = discover.sources([tmp_path / "a"])
    assert len(found.found) == 2
    assert {one.path.resolve().name for one in found.found} == {"x.cpp", "y.cpp"}
    assert {Path(s.file).name for s in found.skipped} == {"self.cpp", "gone.cpp"}


def test_a_file_that_is_given_may_have_any_name(tmp_path):
    tree(tmp_path, {"snippet": CALL, "notes.txt": "nothing to see\n", "trace.data": CUDNN_LOG})
    found = discover.sources([tmp_path / name for name in ("snippet", "notes.txt", "trace.data")])
    assert [one.kind for one in found.found] == ["c++", "log"]
    assert [s.reason for s in found.skipped] == ["neither a source nor a log nor a recording"]


def test_what_cannot_be_read_is_listed(tmp_path, monkeypatch):
    tree(tmp_path, {"a.cpp": CALL, "closed.cpp": CALL, "shut/b.cpp": CALL, "large.cpp": CALL * 100})
    real_open, real_scan = Path.open, os.scandir

    def closed(self, *arguments, **keywords):  # root reads everything, so that file modes do not help
        if self.name == "closed.cpp":
            raise PermissionError(13, "Permission denied")
        return real_open(self, *arguments, **keywords)

    def shut(path):
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return real_scan(path)

    monkeypatch.setattr(Path, "open", closed)
    monkeypatch.setattr(os, "scandir", shut)
    os.mkfifo(tmp_path / "pipe.cpp")
    found = discover.sources([tmp_path], largest=1000)
    assert names(found, tmp_path) == ["a.cpp"]
    assert {(Path(s.file).name, s.reason) for s in found.skipped} == {
        ("closed.cpp", "permission denied"),
        ("shut", "permission denied"),
        ("large.cpp", "larger than 1000 bytes"),
        ("pipe.cpp", "not a regular file"),
    }


def test_a_path_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(BadParam, match=r"nowhere: no such file"):
        discover.sources([tmp_path / "nowhere"])


def test_standard_input_and_pipes(tmp_path):
    log = discover.sources(["-"], stdin=io.BytesIO(CUDNN_LOG.encode())).found[0]
    assert (log.shown, log.kind) == ("<stdin>", "log")
    assert log.read() == CUDNN_LOG.encode()
    assert discover.sources(["-"], stdin=io.BytesIO(CALL.encode())).found[0].kind == "c++"
    assert discover.sources(["-"], stdin=io.BytesIO(b"\x7fELF\0\0")).skipped[0].reason == "binary"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_text, args=(CALL,))
    writer.start()
    (found,) = discover.sources([fifo]).found
    assert found.read() == CALL.encode()
    writer.join()


def test_compile_commands(tmp_path):
    tree(
        tmp_path,
        {
            "src/a.cu": '#include "a.h"\n#include <missing.h>\n' + CALL,
            "src/b.cc": "#include <lib/b.h>\n" + CALL,
            "src/a.h": '#include "cycle.h"\n',
            "src/cycle.h": '#include "a.h"\n',
            "include/lib/b.h": "",
            "src/unused.cc": CALL,
        },
    )
    commands = [
        {"directory": str(tmp_path / "src"), "command": "nvcc -DUSE_X -D N=4 '-DS=\"a b\"' -DN2= a.cu", "file": "a.cu"},
        {"directory": "src", "arguments": ["cc", "-I", "../include", "-DQ", "-UQ", "b.cc"], "file": "b.cc"},
        {"directory": "src", "arguments": [], "file": "gone.cc"},
    ]
    file = tmp_path / "compile_commands.json"
    file.write_text(json.dumps(commands))
    found = discover.sources([file])
    assert names(found, tmp_path) == ["src/a.cu", "src/a.h", "src/cycle.h", "src/b.cc", "include/lib/b.h"]
    assert found.found[0].defines == {"USE_X": "1", "N": "4", "S": '"a b"', "N2": ""}
    assert found.found[3].defines == {}
    assert [Path(s.file).name for s in found.skipped] == ["gone.cc"]
    for wrong in ("{", '{"a": 1}', '[{"file": 3}]', "[" * 100000):
        file.write_text(wrong)
        with pytest.raises(BadParam, match="compile_commands"):
            discover.sources([file])


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (CUDNN_LOG, "log"),
        ("noise\n12 i! CuDNN (v91200 46) function cudnnBackendSetAttribute() called:\n", "log"),
        ("cuDNN (v90000) function cudnnSetActivationDescriptor() called:\n", "log"),
        ("MIOpen(HIP): miopenStatus_t miopenCreate(miopenHandle_t *){\n", "log"),
        ("MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 128\n", "log"),
        ('{"portadnn_recording": 1, "portadnn": "0.1"}\n', "recording"),
        ("#include <cudnn.h>\nint main() {\n", "c++"),
        ("import torch\n", "python"),
        ("#!/usr/bin/env python3\n", "python"),
        ("Dear reader, this is a letter.\n", None),
        ("\x7fELF\0", None),
    ],
)
def test_kinds_by_content(head, kind):
    assert kind_of("-", head.encode()) == kind
    assert kind_of("x.cu", head.encode()) == "c++"
