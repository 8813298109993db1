"""Intel's OpenCL for CPUs from pip is found beside others; where a part is missing, that is said."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from portadnn.diff.targets import Target
from portadnn.errors import BadParam
from portadnn.registry import get_backend
from portadnn_backends.opencl import intel_cpu

FILES = {
    "intel_opencl_rt": ("lib/libintelocl.so",),
    "intel_cmplr_lib_rt": ("lib/libintlc.so.5", "lib/libimf.so", "lib/libirng.so", "lib/libsvml.so"),
    "tbb": ("lib/libtbb.so.12",),
}


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder in which the three distributions are installed, of empty files; a function takes one out."""
    loaded = []
    monkeypatch.setattr(intel_cpu.ctypes, "CDLL", lambda path: loaded.append(Path(path).name))
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    for package, names in FILES.items():
        info = tmp_path / f"{package}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: 1\n")
        (info / "RECORD").write_text("".join(f"{name},,\n" for name in names))
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
    others = [folder for folder in sys.path if not list(Path(folder or ".").glob("intel_*.dist-info"))]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *others])
    return tmp_path, loaded


def test_loader_finds_it_beside_the_systems(wheels, tmp_path, monkeypatch):
    folder, loaded = wheels
    other = tmp_path / "vendor.icd"
    other.write_text("libvendor.so.1\n")
    monkeypatch.setattr(intel_cpu, "_others", lambda: iter([other]))
    with intel_cpu.starting():
        found = Path(os.environ["OCL_ICD_VENDORS"])
        texts = {path.name: path.read_text().strip() for path in found.glob("*.icd")}
    assert texts["vendor.icd"] == "libvendor.so.1"
    assert str(folder / "lib/libintelocl.so") in texts.values()
    assert sorted(loaded) == sorted(Path(n).name for names in (*FILES.values(),) for n in names if "ocl" not in n)
    assert "OCL_ICD_VENDORS" not in os.environ
    assert not found.exists()


def test_what_somebody_set_is_left_alone(wheels, monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", "/somewhere")
    with intel_cpu.starting():
        assert os.environ["OCL_ICD_VENDORS"] == "/somewhere"
    assert "OCL_ICD_VENDORS is set" in intel_cpu.remark(iter(["Portable Computing Language"]))


@pytest.mark.parametrize("missing", ["intel_cmplr_lib_rt", "tbb"])
def test_missing_part_is_named(wheels, missing):
    folder, _ = wheels
    for path in (folder / f"{missing}-1.dist-info").iterdir():
        path.unlink()
    (folder / f"{missing}-1.dist-info").rmdir()
    said = intel_cpu.remark(iter([]))
    assert missing.replace("_", "-") in said
    assert "portadnn[intel]" in said
    with intel_cpu.starting():
        assert "OCL_ICD_VENDORS" not in os.environ


def test_nothing_is_said_where_all_is_well(wheels):
    assert intel_cpu.remark(iter(["Portable Computing Language", "Intel(R) OpenCL"])) == ""
    folder, _ = wheels
    (folder / "lib/libintelocl.so").unlink()
    assert "libintelocl.so" in intel_cpu.remark(iter([]))


def test_files_that_lead_nowhere_are_left_out(tmp_path, monkeypatch):
    folder = tmp_path / "etc/OpenCL/vendors"
    folder.mkdir(parents=True)
    (tmp_path / "conda-meta").mkdir()
    (folder / "a.icd").write_text("libvendor.so.1\n")
    (folder / "b.icd").write_text("/no/such/libvendor.so\n")
    (folder / "c.icd").write_text("/opt/conda/lib/libintelocl.so\n")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert [path.name for path in intel_cpu._others() if path.parent == folder] == ["a.icd"]


def test_targets_are_named_by_platform():
    backend = get_backend("opencl")
    if backend.why_unavailable() is not None:
        pytest.skip("no OpenCL device")
    for number, info in reversed(list(enumerate(backend.devices()))):
        word = next(part for part in info.platform.split() if part.isalpha())
        first = next(n for n, other in enumerate(backend.devices()) if word in f"{other.platform} {other.version}")
        assert Target.parse(f"opencl:{word.lower()}").device == first <= number
    with pytest.raises(BadParam, match="nowhere"):
        Target.parse("opencl:nowhere")
