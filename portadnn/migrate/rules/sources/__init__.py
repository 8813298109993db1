"""Checks of source files, for what no call shows: tables of types, dropped arguments, tests of a status."""
