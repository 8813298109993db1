"""Engine that runs a graph node by node."""
