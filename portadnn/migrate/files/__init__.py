"""Which files are checked, and reading them."""
