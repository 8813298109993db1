"""Checks of graphs of cudnn_frontend."""
