"""The backends of portadnn, found through the entry-point group ``portadnn.backends``."""
