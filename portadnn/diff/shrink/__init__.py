"""Shrinking of a failing case to a small one."""
