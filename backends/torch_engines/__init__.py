"""How PyTorch computes portadnn's Problems: one module for each family of operators, and the engine that runs them.

Nothing here imports torch before a plan is made.
"""
