"""Functions and enumerations of cuDNN, written from the mapping table."""
