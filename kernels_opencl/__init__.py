"""The dialect header for OpenCL, and the kernels that only OpenCL needs."""
