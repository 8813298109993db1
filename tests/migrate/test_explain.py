"""The pages of rules and functions."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from portadnn import mapping
from portadnn.errors import BadParam
from portadnn.migrate.rules import explain
from portadnn.migrate.rules.table import rules


def shown(name: str) -> str:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    explain.show(explain.page(name), console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["PD-S01", "pd-s01", "S01"])
def test_a_rule(name: str) -> None:
    page = explain.page(name)
    assert isinstance(page, explain.RulePage)
    assert (page.name, page.title) == ("PD-S01", rules()["S01"].title)
    text = " ".join(shown(name).split())
    for part in ("breaks: does not compile", "Was find executed", "MIOpen 1 or MIOpen 3.6", "cudnnConvolutionForward"):
        assert part in text
    assert "miopenFindConvolutionForwardAlgorithm" in page.after
    assert "cudnnConvolutionForward(" in page.before


@pytest.mark.parametrize("name", list(rules()))
def test_every_rule_has_a_page(name: str) -> None:
    page = explain.page(name)
    assert isinstance(page, explain.RulePage)
    assert page.why and page.source and page.applies and bool(page.before) == bool(page.after)
    assert page.after or not name.startswith("S")
    assert f"# {page.name}: {page.title}" in explain.as_markdown(page)
    assert shown(name)


def test_a_rule_that_is_true_of_every_call_says_so() -> None:
    assert "no alarm" in shown("S04")
    assert "no alarm" not in shown("S01")


def test_a_function() -> None:
    page = explain.page("cudnnpoolingbackward()")
    assert isinstance(page, explain.FunctionPage)
    assert (page.name, page.library) == ("cudnnPoolingBackward", "cuDNN")
    text = shown("cudnnPoolingBackward")
    for part in ("miopenPoolingBackward(", "adds workspace", "PD-S17", "pooling_backward("):
        assert part in text
    assert [rule for rule, _, _ in page.rules if rule == "PD-S26"] == []


def test_rules_of_a_function_that_is_gone() -> None:
    page = explain.page("cudnnGetRNNParamsSize")
    assert isinstance(page, explain.FunctionPage)
    assert "PD-S26" in [rule for rule, _, _ in page.rules]


def test_every_function_has_a_page() -> None:
    for name in mapping.table().functions:
        page = explain.page(name)
        assert isinstance(page, explain.FunctionPage) and page.name == name
        assert explain.as_markdown(page).startswith(f"# {name} (")


def test_code_in_markdown_is_fenced() -> None:
    text = explain.as_markdown(explain.page("S16"))
    assert "## Write\n\n```c\nmiopenInitConvolutionDescriptor(" in text


@pytest.mark.parametrize(("name", "near"), [("cudnnPoolngForward", "cudnnPoolingForward"), ("PD-S99", "PD-S")])
def test_what_there_is_not(name: str, near: str) -> None:
    with pytest.raises(BadParam, match=f"did you mean .*{near}"):
        explain.page(name)
