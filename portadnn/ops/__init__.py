"""The operations: one file per family with its Problems, validation and public functions."""
