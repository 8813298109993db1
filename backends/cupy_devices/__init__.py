"""GPUs through CuPy: what CUDA's and HIP's devices have in common."""
