"""Engines of convolutions in space on CPUs, through OpenCL."""
