"""The dialect header for CUDA, and the kernels that only CUDA can express."""
