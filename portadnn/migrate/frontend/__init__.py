"""Graphs of cudnn_frontend in C++ sources: what they are made of, what MIOpen has for them, and who takes them."""
