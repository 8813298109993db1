"""Writing the translation where it is certain."""
