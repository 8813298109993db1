"""Engine that runs subgraphs as generated kernels."""
