"""Copies of the libraries' headers and other projects' code in a tree: read, and no work of the program's port."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from portadnn.migrate import check, reports
from portadnn.migrate.files.copies import below, copied, of_another_project

HEADER = """\
#define CUDNN_MAJOR 7
typedef enum { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1 } cudnnDataType_t;
typedef enum { CUDNN_TENSOR_NCHW = 0, CUDNN_TENSOR_NHWC = 1 } cudnnTensorFormat_t;
cudnnStatus_t CUDNNWINAPI cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensorDesc);
cudnnStatus_t CUDNNWINAPI cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format,
                                                     cudnnDataType_t dataType, int n, int c, int h, int w);
"""
FRONTEND = """\
// Copyright (c) NVIDIA CORPORATION.
namespace cudnn_frontend {
inline cudnnStatus_t create(cudnnHandle_t *handle) { return cudnnCreate(handle); }
inline void set(cudnnActivationDescriptor_t act) {
  cudnnSetActivationDescriptor(act, CUDNN_ACTIVATION_TANH, CUDNN_NOT_PROPAGATE_NAN, 0.0);
}
}
"""
OTHERS = "void set(cudnnTensorDescriptor_t x) {\n  cudnnCreateTensorDescriptor(&x);\n}\n"
OWN = """\
#include "cudnn.h"
void set(cudnnTensorDescriptor_t x) {
  cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 3, 8, 8);
  cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, (cudnnDataType_t)0, 1, 3, 8, 8);
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "include/cudnn.h": HEADER,
        "libs/cudnn-frontend/include/cudnn_frontend_shim.h": FRONTEND,
        "third_party/net/net.cpp": OTHERS,
        "src/set.cpp": OWN,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_copy_of_the_header_makes_no_number_of_an_enumerator(tree: Path) -> None:
    found = [(f.place.line, f.rule) for f in check([tree]).alarms if f.place.file.endswith("set.cpp")]
    assert found == [(4, "A24")]  # (cudnnDataType_t)0, and not CUDNN_DATA_FLOAT


def test_copies_are_counted_apart(tree: Path) -> None:
    report = check([tree])
    assert {(one.what, one.files, one.calls) for one in report.apart} == {
        ("cuDNN's header", 1, 0),
        ("cudnn-frontend", 1, 2),
        ("third_party/net", 1, 1),
    }
    effort = report.effort
    assert (effort.calls, effort.lines, effort.files) == (2, 4, 1)
    assert not [f for f in report.findings if "frontend" in f.place.file]  # V10: the library's, not the program's


@pytest.mark.parametrize("form", ["terminal", "md", "html"])
def test_every_report_says_so(tree: Path, form: str) -> None:
    text = " ".join(reports.write(check([tree]), form).split())
    assert "lines in 1 file of cudnn-frontend with 2 calls" in text


def test_json_says_so(tree: Path) -> None:
    checked = json.loads(reports.write(check([tree]), "json"))["files"]["checked"]
    assert {Path(one["file"]).name: one.get("apart", "") for one in checked} == {
        "cudnn.h": "cuDNN's header",
        "cudnn_frontend_shim.h": "cudnn-frontend",
        "net.cpp": "third_party/net",
        "set.cpp": "",
    }


def test_what_is_named_is_the_users(tree: Path) -> None:
    report = check([tree / "third_party"])
    assert (report.effort.calls, report.apart) == (1, [])


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("cudnn_ops_infer_v8.h", b"cudnnStatus_t CUDNNWINAPI\ncudnnCreate(cudnnHandle_t *handle);", "cuDNN's header"),
        ("cudnn_version.h", b"#define CUDNN_MAJOR 9", "cuDNN's header"),
        ("miopen.h", b"MIOPEN_EXPORT miopenStatus_t miopenCreate(miopenHandle_t* handle);", "MIOpen's header"),
        ("stub.h", b"cudnnStatus_t CUDNNWINAPI cudnnCreate(cudnnHandle_t *h) { return load(h); }", ""),
        ("load.cc", b"cudnnStatus_t CUDNNWINAPI cudnnCreate(cudnnHandle_t *h);", ""),
        ("layer.h", b"#if CUDNN_MAJOR >= 7\nvoid f(cudnnHandle_t);\n#endif", ""),
        ("cudnn_frontend_helpers.h", b"namespace mine { void f(cudnnHandle_t); }", ""),
    ],
)
def test_copies_are_told_by_what_they_hold(name: str, text: bytes, wanted: str) -> None:
    assert copied(name, text) == wanted


def test_folders_of_other_projects() -> None:
    assert of_another_project(below("tree/cpp/external/onednn/src/a.cpp", ["tree"])) == "cpp/external/onednn"
    assert of_another_project(below("/home/extern/tree/src/a.cpp", ["/home/extern/tree"])) == ""
    assert of_another_project(below("vendor/a.cpp", ["vendor/a.cpp"])) == ""
    assert of_another_project(below("src/external.cpp", ["."])) == ""
