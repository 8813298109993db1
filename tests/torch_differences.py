"""Tests and cases in which PyTorch differs from the definition, as docs/torch-differences.md explains."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs" / "torch-differences.md").read_text("utf-8")

TESTS = {  # by the document's headings
    "test_large_means_cost_no_digits": "Large means",
    "test_one_element_has_no_unbiased_variance": "Large means",
    "test_which_maximum_wins[the first NaN-": "Which maximum gets the gradient",
    "test_windows_of_infinities[PROPAGATE_NAN-": "Which maximum gets the gradient",
    "test_nothing_is_read_outside": "Samples of nowhere",
    "test_what_a_table_takes_is_computed[torch-cpu-batch_normalization_backward]": "Large means",
    "test_what_a_table_takes_is_computed[torch-cpu-batch_normalization_forward_training]": "Large means",
    "test_arrays": "Arrays",
    "test_asarray[torch]": "Arrays",
    "test_raw_buffers[torch-cpu]": "Arrays",
    "test_views_are_remembered_as_long": "Arrays",
    "test_the_example_runs[torch]": "Arrays",
    "test_views_need_no_ml_dtypes[torch]": "Signalling NaN",
}


def lines():
    """Return the problem lines of the document by its headings."""
    found = {}
    for text in TEXT.splitlines():
        if text.startswith("## "):
            heading = text[3:]
        elif text.startswith("    "):
            found[text.strip()] = heading
    return found


def known(item):
    """Return the heading of what a test on the torch backend is known to find, if anything."""
    arguments = getattr(item, "funcargs", {}).values()
    if not any("torch" in (argument, getattr(argument, "backend", "")) for argument in arguments):
        return None
    known_lines = lines()
    found = [heading for line, heading in known_lines.items() for a in arguments if str(a).startswith(line)]
    found += [heading for name, heading in TESTS.items() if item.name.startswith(name)]
    return next(iter(found), None)
