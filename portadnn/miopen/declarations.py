"""What the mapping table says of MIOpen's functions.

``python -m portadnn.miopen.declarations`` writes ``declarations.json`` anew. A test demands that it is up to date.
"""

from __future__ import annotations

from pathlib import Path

from ..c_names.declarations import Declarations

DECLARATIONS = Declarations("miopen", Path(__file__).parent)

if __name__ == "__main__":
    DECLARATIONS.write()
