// Packed and mixed math: v_pk_*, v_fma_mix*, v_dot*, v_pack_b32_f16.
