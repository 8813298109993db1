"""The state of a program between its calls: descriptors, handles, memory, and what was called before."""
