"""What tells the C libraries' objects apart in a recording can be looked up: or each call would be described anew."""

from __future__ import annotations

import pytest

from portadnn import cudnn, miopen
from portadnn.recording.keys import MODES, OPAQUE, _held

CREATE = {
    name: getattr(library, name)
    for library, prefix in ((cudnn, "cudnn"), (miopen, "miopen"))
    for name in dir(library)
    if name.startswith(f"{prefix}Create") and "Descriptor" in name
}


@pytest.mark.parametrize("name", sorted(CREATE))
def test_objects_can_be_looked_up(name: str) -> None:
    made = CREATE[name]()
    assert MODES[type(made)] == OPAQUE
    assert hash(_held(made)) == hash(_held(made))
