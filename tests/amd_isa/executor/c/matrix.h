// Matrix instructions: v_mfma_* and v_wmma_*.
