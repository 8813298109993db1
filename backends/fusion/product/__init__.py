"""Products and convolutions with fused neighbours."""
