"""Sources in C, C++ and CUDA, by tree-sitter."""
