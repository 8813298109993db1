"""Command lines of MIOpenDriver, which times a problem by itself on an AMD GPU."""
