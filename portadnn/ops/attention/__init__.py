"""Multi-head attention of cuDNN 7.5: descriptor and layouts, Problems, public functions."""
