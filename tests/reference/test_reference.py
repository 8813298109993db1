"""The generated reference has every public name, and every public name has something to say there."""

from __future__ import annotations

import html
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import portadnn as dnn

pytest.importorskip("pdoc")

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "reference.py"
_SPEC = importlib.util.spec_from_file_location("reference_script", SCRIPT)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

FRONT_ENDS = {"portadnn.cudnn": "cudnn", "portadnn.miopen": "miopen"}  # whose functions begin so


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages' texts, by module."""
    folder = tmp_path_factory.mktemp("reference")
    done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    files = {name: folder / f"{name.replace('.', '/')}.html" for name in reference.modules()}
    return {name: path.read_text(encoding="utf-8") for name, path in files.items()}


def public(module: str) -> list[str]:
    """Return the names that a module offers."""
    found = importlib.import_module(module)
    if module in FRONT_ENDS:
        return [name for name in dir(found) if name.startswith(FRONT_ENDS[module])]
    return list(getattr(found, "__all__", [])) or [
        name for name, value in vars(found).items() if not name.startswith("_") and _defined_in(value, module)
    ]


def _defined_in(value, module):
    return getattr(value, "__module__", None) == module and callable(value) and hasattr(value, "__name__")


def members(kind: type) -> dict[str, object]:
    """Return the public methods and properties of a class of portadnn's, inherited ones too."""
    found = {}
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "portadnn":
            for name, value in vars(base).items():
                if not name.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                    found.setdefault(name, getattr(kind, name))
    return found


@pytest.mark.long
def test_every_public_name_is_in_the_reference(pages):
    assert {"portadnn", "portadnn.mapping", "portadnn.recording"} <= pages.keys()
    for module, page in pages.items():
        found = importlib.import_module(module)
        names = [n for n in public(module) if n != "__version__" and not inspect.ismodule(getattr(found, n))]
        assert names
        assert [name for name in names if f'id="{name}"' not in page] == []
    text = html.unescape(re.sub(r"<[^>]+>", "", pages["portadnn"]))
    assert "1 + (h + 2*pad - ((r-1)*dilation + 1)) // stride" in text  # docstrings are there, not names alone
    assert "@public" not in text


@pytest.mark.parametrize("module", reference.modules())
def test_every_public_name_is_documented(module):
    found = importlib.import_module(module)
    silent = []
    for name in public(module):
        value = getattr(found, name)
        if not inspect.isroutine(value) and (module in FRONT_ENDS or not inspect.isclass(value)):
            continue  # constants, and the C libraries' types and numbers, which their modules explain
        own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        if not own or (inspect.isclass(value) and own.startswith(f"{name}(")):  # dataclasses write such a one
            silent.append(name)
        if inspect.isclass(value) and module == "portadnn":
            silent += [f"{name}.{member}" for member, method in members(value).items() if not inspect.getdoc(method)]
    assert silent == []


def test_functions_tell_their_parameters():
    """Each parameter of an operation is named in its docstring, or in that of the function that it refers to."""
    for name in dnn.__all__:
        function = getattr(dnn, name)
        if inspect.isfunction(function) and "Parameters\n" in function.__doc__:
            others = re.findall(r":func:`~?(?:\w+\.)*(\w+)`", function.__doc__)
            refers = "".join(getattr(dnn, other).__doc__ for other in others)
            told = function.__doc__ + refers
            missing = [p for p in inspect.signature(function).parameters if not re.search(rf"\b{p}\b", told)]
            assert not missing, f"{name}: {missing}"
