"""Methods of :class:`~portadnn.graph.api.pygraph` that add nodes, attention aside."""
