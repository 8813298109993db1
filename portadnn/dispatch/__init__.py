"""From a call to a launch: Problems of arguments, plans, calls that are repeated, captured sequences.

docs/internals.md shows how a call runs. Backends import nothing of this.
"""
