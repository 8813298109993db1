"""Methods of :class:`~portadnn.graph.api.pygraph` for scaled dot-product attention."""
