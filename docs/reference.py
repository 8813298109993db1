"""Writes the API reference: ``python docs/reference.py [FOLDER]`` makes a page of HTML for each public module.

pdoc makes the pages of the docstrings and signatures (``pip install "portadnn[docs]"``; ``make docs`` does it all).
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from portadnn.entry_points import foreign_records

PUBLIC = (
    "portadnn",
    "portadnn.cudnn",
    "portadnn.miopen",
    "portadnn.graph",
    "portadnn.capability",
    "portadnn.mapping",
    "portadnn.recording",
)


def modules() -> list[str]:
    """Return the public modules that there are, and those of other distributions' operations."""
    foreign = sorted({record.function.__module__ for record in foreign_records()})
    return [name for name in (*PUBLIC, *foreign) if importlib.util.find_spec(name) is not None]


def write(folder: Path, names: Sequence[str] | None = None) -> None:
    """Write the reference of these modules, by default of all public ones, and an index."""
    import pdoc
    import pdoc.render

    templates = Path(__file__).with_name("reference_template")
    pdoc.render.configure(docformat="numpy", show_source=False, template_directory=templates, footer_text="portadnn")
    wanted = modules() if names is None else list(names)
    patterns = []
    for name in wanted:  # with what each offers, but not with the modules inside, unless they are public themselves
        patterns += [name, f"!{name}\\."]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Error parsing type annotation")  # a variable of its file: printed as it is
        pdoc.pdoc(*patterns, output_directory=folder)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/reference")
    write(target)
    print(f"the reference is in {target / 'index.html'}")
