"""From a call to its launches: Problems, plans, the call cache, captured steps.

docs/internals.md shows how a call runs. Backends import nothing of this.
"""
