// Of fusion/fused.h: vectors of LANES numbers are for CPUs, which CUDA has none of.
#error "LANES is 1 in CUDA"
