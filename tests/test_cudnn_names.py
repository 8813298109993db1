"""portadnn.cudnn has the names, the arguments and the values of cuDNN, as the guide and the mapping table have them."""

from __future__ import annotations

from portadnn.cudnn import declarations


def test_declarations_are_up_to_date():
    text = declarations.FILE.read_text(encoding="utf-8")
    assert text == declarations.generate(), "run python -m portadnn.cudnn.declarations"
