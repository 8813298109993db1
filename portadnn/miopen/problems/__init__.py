"""Find 2.0: problems, the solutions that are found for them, and their solvers."""
