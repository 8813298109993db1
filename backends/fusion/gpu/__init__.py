"""Schedules of fused kernels on GPUs."""
