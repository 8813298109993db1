"""AMD's machine code without an AMD GPU: sources compiled by clang, and what the machine code needs."""
