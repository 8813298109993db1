"""Profiles: enforce another library's rules at run time (docs/profiles.md)."""
