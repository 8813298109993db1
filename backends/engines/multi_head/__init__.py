"""Multi-head attention: products, the kernels of attention, and small kernels around them."""
