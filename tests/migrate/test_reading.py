"""Reading many sources: what one of them does harms no other."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from portadnn.migrate import cpp
from portadnn.migrate.files import reading
from portadnn.migrate.files.discover import Found
from portadnn.migrate.files.reading import looks, read_all, touched

CALL = b"#include <cudnn.h>\nvoid f(cudnnHandle_t h) {\n  cudnnDestroy(h);\n}\n"


def tree(folder: Path, **texts: bytes) -> list[Found]:
    for name, text in texts.items():
        (folder / f"{name}.cpp").write_bytes(text)
    return [Found(str(path), "c++", path) for path in sorted(folder.iterdir())]


def names(looked):
    return sorted(Path(one.name).stem for one in looked if one.unit is not None)


@pytest.mark.parametrize("jobs", [1, 2])
def test_only_what_names_a_library_becomes_a_unit(tmp_path, jobs):
    sources = tree(tmp_path, plain=b"int x;\nint y;", call=CALL)
    found = {Path(one.name).stem: one for one in looks(sources, jobs=jobs)}
    assert found["plain"].unit is None and found["plain"].lines == 2
    assert found["call"].unit.mentions[0][0] == "cudnnDestroy" and found["call"].lines == 4


def test_what_is_bound_to_a_library_is_read_too(tmp_path):
    sources = tree(
        tmp_path,
        layer=b'#include "sizes.cpp"\nstruct Layer { void run(cudnnHandle_t h) { cudnnDestroy(h); } };\n',
        sizes=b"const int batch = 3;\n",
        user=b"void g(Layer& layer) { layer.run(h); }\n",
        other=b"void k() {}\n",
    )
    assert names(read_all(sources)) == ["layer", "sizes", "user"]


def test_a_source_that_cannot_be_read_is_listed(tmp_path, monkeypatch):
    sources = tree(tmp_path, call=CALL, gone=CALL, odd=CALL)
    (tmp_path / "gone.cpp").unlink()

    def read(text, file, **_):
        if "odd" in file:
            raise RuntimeError("what a day")
        return original(text, file)

    original = cpp.read
    monkeypatch.setattr(reading.cpp, "read", read)
    found = list(looks(sources))
    assert names(found) == ["call"]
    reasons = {Path(item.file).stem: item.reason for one in found for item in one.skipped}
    assert reasons == {"gone": "No such file or directory", "odd": "cannot be read: RuntimeError: what a day"}


def test_a_source_that_ends_the_process_harms_no_other(tmp_path, monkeypatch):
    sources = tree(tmp_path, a=CALL, b=CALL, bad=CALL, c=CALL)

    def read(text, file, **_):
        if "bad" in file:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(text, file)

    original = cpp.read
    monkeypatch.setattr(reading.cpp, "read", read)
    found = list(looks(sources, jobs=2))
    assert names(found) == ["a", "b", "c"]
    (item,) = (item for one in found for item in one.skipped)
    assert Path(item.file).stem == "bad" and "ended the process" in item.reason


def test_a_source_that_takes_too_long_is_left(tmp_path, monkeypatch):
    sources = tree(tmp_path, call=CALL, slow=CALL)

    def read(text, file, **_):
        if "slow" in file:
            time.sleep(60)
        return original(text, file)

    original = cpp.read
    monkeypatch.setattr(reading.cpp, "read", read)
    monkeypatch.setattr(reading, "LIMIT", 2.0)
    found = list(looks(sources, jobs=2))
    assert names(found) == ["call"]
    assert ["seconds" in item.reason for one in found for item in one.skipped] == [True]


def test_lines_that_name_the_library():
    text = b"""// cudnnCreate in a comment
#include <cudnn.h>
int x; // cudnnDestroy
cudnnHandle_t a; cudnnHandle_t b;
  * cudnnFind
miopenHandle_t c;
f(CUDNN_TENSOR_NCHW,
  mycudnn_helper(x));
"""
    assert touched(text) == 3
    assert touched(b"miopenHandle_t a;\n") == 1
    assert touched(b"int x;") == 0


def test_progress_counts_every_source(tmp_path):
    sources = tree(tmp_path, a=CALL, b=b"int x;", c=CALL)
    for jobs in (1, 2):
        told: list[int] = []
        list(looks(sources, jobs=jobs, done=told.append))
        assert sum(told) == 3


def test_functions_that_give_arguments_are_read_in_the_headers_of_others(tmp_path):
    header = (
        b"template <class T> struct Unused { T t; };\n"
        b"inline const float *the_one() { static const float v = 1.0f; return &v; }\n"
        b"inline int other() { return 3; }\n"
    )
    user = b'#include <cudnn.h>\n#include "h.cpp"\nvoid f(cudnnHandle_t h, cudnnTensorDescriptor_t d, void *y) {\n'
    user += b"  cudnnScaleTensor(h, d, y, the_one());\n}\n"
    looked = {Path(one.name).stem: one for one in read_all(tree(tmp_path, h=header, user=user), jobs=1)}
    assert [function.name for function in looked["h"].unit.functions] == ["the_one"]
    assert looked["h"].unit.unread == {"other"}


def test_a_source_in_utf_16_is_listed_if_it_names_a_library(tmp_path):
    sources = tree(tmp_path, call=CALL, plain=b"int f();\n")
    for source in sources:
        source.path.write_bytes(source.path.read_text().encode("utf-16"))
    found = [item for one in looks(sources) if one.unit is not None for item in one.unit.skipped]
    assert [(Path(item.file).stem, "UTF-16" in item.reason) for item in found] == [("call", True)]
