"""Find: measure the engines of a problem, and keep the results."""
