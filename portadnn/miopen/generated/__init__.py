"""Functions and enumerations of MIOpen, written from the mapping table."""
