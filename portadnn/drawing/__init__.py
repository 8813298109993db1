"""Drawing problems: random choices by whole numbers, strata, sizes, layouts, and the plainest tensors of a choice.

Records of operations (:mod:`portadnn.operation`) draw with it; it knows none of them.
"""
