"""Compares the names of a cudnn-frontend with those of `portadnn.graph`, and prints what is missing. Fetches nothing.

    pip download nvidia-cudnn-frontend --no-deps && unzip -d frontend nvidia_cudnn_frontend-*.whl
    python tests/foreign/surface.py frontend

Read are the names of the module, the methods of `pygraph` and their keywords, the attributes of tensors, and the
members of enums with their numbers. The compiled module is loaded (by the Python it was made for; cuDNN is not
needed), the rest is read as text. DELIBERATE says what is not here on purpose; the exit status tells whether anything
else is missing.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import portadnn.graph as ours

DELIBERATE = {  # expressions that names match as a whole, and why
    r"causal_conv1d_.*|b2b_.*|.*fft_causal_.*": "functions of addresses; cudnn.ops has them for torch tensors",
    r"gnn_.*": "graph neural networks, by kernels for Blackwell",
    r"engines|conv|gemm|norm|sdpa|rope|QSA|load_cudnn|is_windows|module_name": "what the module is made of",
    r"jax|torch|fla": "an ImportError that says why",
    r"tensor\.(owner|validate|dim_assigned|stride_assigned|alignment_value|set_alignment_value)": "of its own lowering",
    r"pygraph\.build(_plans)?\(ctx\)": "of engines in Python",
    r"pygraph\.tensor_scalar\(.*\)": "overloads",
}
POSITIONAL = re.compile(r"arg\d*")  # arguments without a name
SAME = {  # keywords that a decorator renames
    "tensor_like": {"template", "input"},
    "build": {"heuristics"},
    "create_execution_plans": {"heuristics"},
    "deselect_workspace_greater_than": {"workspace_limit"},
    "deselect_engines": {"engine_names"},
    "deserialize": {"handle_", "pyobj"},
    "execute_plan_at_index": {"tensor_dict"},
}


def names_of_module(folder: Path) -> Iterator[str]:
    """Yield the names that the module imports, now or when they are asked for."""
    for node in ast.walk(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))):
        target = getattr(node, "targets", [None])[0] if isinstance(node, ast.Assign) else None
        listed = getattr(target, "id", "") in ("symbols_to_import", "_LAZY_OPTIONAL_IMPORTS", "_EAGER_PUBLIC_NAMES")
        parts = node.value.keys if listed and isinstance(node.value, ast.Dict) else [node.value] if listed else []
        for word in (one for part in parts if part is not None for one in ast.walk(part)):
            if isinstance(word, ast.Constant) and isinstance(word.value, str) and word.value.isidentifier():
                yield word.value


def missing_names(folder: Path) -> Iterator[str]:
    """Yield the names of the module that are not here; what is refused by name is here."""
    for name in sorted(set(names_of_module(folder))):
        try:
            getattr(ours, name)
        except ImportError:
            continue
        except AttributeError:
            yield name


def methods(folder: Path, file: str, cls: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the public methods of a class, read as text, and their keywords."""
    for node in ast.parse((folder / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == cls:
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                    given = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
                    yield one.name, {arg.arg for arg in given} - {"self"}


def operations(folder: Path) -> Iterator[str]:
    """Yield the operations that a table of 1.32 makes methods of."""
    for node in ast.walk(ast.parse((folder / "_pygraph.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                made = isinstance(value, ast.Call) and any(word.arg == "node_type" for word in value.keywords)
                if made and isinstance(key, ast.Constant):
                    yield key.value


def compiled(folder: Path) -> ModuleType | None:
    """Return the compiled module, None where this Python does not take it."""
    for file in folder.glob("_compiled_module*.so"):
        spec = importlib.util.spec_from_file_location("cudnn._compiled_module", file)
        if spec is not None and spec.loader is not None:
            try:
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
            except ImportError:
                continue
            return module
    return None


def compiled_methods(module: ModuleType) -> Iterator[tuple[str, set[str]]]:
    """Yield the methods of the compiled graph, and the keywords of each overload."""
    graph = getattr(module, "backend_graph", None) or module.pygraph
    for name in (one for one in dir(graph) if not one.startswith("_")):
        signatures = re.findall(rf"^\d*\.?\s*{name}\((.*)\)", getattr(graph, name).__doc__ or "", re.M)
        for text in signatures or [""]:
            yield name, {word for word in re.findall(r"(\w+):", text) if not POSITIONAL.fullmatch(word)} - {"self"}


def missing_methods(cls: Any, label: str, found: Iterator[tuple[str, set[str]]]) -> Iterator[str]:
    """Yield the methods that a class of ours lacks, and keywords that they do not take."""
    for name, keywords in found:
        own = getattr(cls, name, None)
        if own is None:
            yield f"{label}.{name}"
        elif callable(own) and keywords:
            parameters = inspect.signature(own).parameters
            if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
                continue
            for word in sorted(keywords - parameters.keys() - SAME.get(name, set())):
                yield f"{label}.{name}({word})"


def missing_members(module: ModuleType) -> Iterator[str]:
    """Yield members of enums that are not here or have other numbers."""
    for name in dir(module):
        members = getattr(getattr(module, name), "__members__", None)
        if members is None:
            continue
        own = {key: int(value) for key, value in getattr(getattr(ours, name, None), "__members__", {}).items()}
        for key, value in members.items():
            number = int(getattr(value, "value", value))  # of Python's enums, or pybind's
            if own.get(key) != number:
                yield name if not own else f"{name}.{key}"


def lacking(folder: Path) -> Iterator[str]:
    """Yield all that is missing, deliberate or not."""
    yield from missing_names(folder)
    yield from (f"pygraph.{name}" for name in operations(folder) if not hasattr(ours.pygraph, name))
    yield from missing_methods(ours.pygraph, "pygraph", methods(folder, "_pygraph.py", "pygraph"))
    setters = ((name, set()) for name, _ in methods(folder, "graph_types.py", "Tensor"))
    yield from missing_methods(ours.tensor, "tensor", setters)
    yield from missing_methods(ours.Graph, "Graph", methods(folder, "wrapper.py", "Graph"))
    module = compiled(folder)
    if module is None:
        print("its compiled module is of another Python: keywords of operations and enums were not compared")
        return
    yield from missing_methods(ours.pygraph, "pygraph", compiled_methods(module))
    yield from missing_members(module)


def main() -> int:
    """Print what is missing; return 1 where it is not deliberate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where cudnn-frontend is unpacked: the folder with cudnn/ in it")
    folder = parser.parse_args().folder / "cudnn"
    if not (folder / "_pygraph.py").exists():
        parser.error(f"{folder} has no _pygraph.py: versions before 1.32 are compiled as a whole")
    wrong = 0
    for name in dict.fromkeys(lacking(folder)):
        why = next((why for pattern, why in DELIBERATE.items() if re.fullmatch(pattern, name)), None)
        wrong += why is None
        print(f"{name}: {why or 'MISSING'}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
