"""Kernel logic, written once in the common dialect that CUDA C++ and OpenCL C both compile."""
