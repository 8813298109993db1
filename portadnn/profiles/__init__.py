"""Profiles: what another library would say to this program, told while it runs (docs/profiles.md)."""
