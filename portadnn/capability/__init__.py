"""Capability tables: what each backend and each foreign library implements, and why not."""

from .tables import Answer, Rule, Table, Verdict, check, read, table, table_names

__all__ = ["Answer", "Rule", "Table", "Verdict", "check", "read", "table", "table_names"]
