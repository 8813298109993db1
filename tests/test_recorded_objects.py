"""What tells the C libraries' objects apart in a recording can be looked up: or each call would be described anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from portadnn import cudnn, miopen
from portadnn.recording.keys import MODES, OPAQUE, _held

CREATE = [
    getattr(library, name)
    for library, prefix in ((cudnn, "cudnn"), (miopen, "miopen"))
    for name in dir(library)
    if name.startswith(f"{prefix}Create") and "Descriptor" in name
]


@pytest.mark.parametrize("create", CREATE, ids=lambda create: create.__name__)
def test_objects_can_be_looked_up(create: Callable[[], Any]) -> None:
    try:
        made = create()
    except NotImplementedError:  # of operations that portadnn lacks
        return
    assert MODES[type(made)] == OPAQUE
    assert hash(_held(made)) == hash(_held(made))
