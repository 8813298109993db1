"""How tensors of graphs lie in memory: host memory, packed bits, scales in tiles, sequences of several lengths."""
