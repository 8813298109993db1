"""Records of portadnn's operations: a module for each family, with a tuple ``RECORDS``."""
