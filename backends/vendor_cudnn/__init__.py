"""cuDNN, NVIDIA's own library, through ctypes: what the backend ``cudnn`` and the benchmarks' peer share."""
