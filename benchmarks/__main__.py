"""``python -m benchmarks`` is ``portadnn bench``."""

from .cli import app

app()
