"""Checks of the migration rules."""
