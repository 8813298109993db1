// Control flow, and what needs no action here: waits, hints, caches.
#define NOTHING(name) OP(name) { (void)w, (void)r; }
NOTHING(s_nop) NOTHING(s_waitcnt) NOTHING(s_waitcnt_vscnt) NOTHING(s_waitcnt_depctr) NOTHING(s_delay_alu)
NOTHING(s_clause) NOTHING(s_set_inst_prefetch_distance) NOTHING(s_sendmsg) NOTHING(s_sleep) NOTHING(s_setprio)
NOTHING(s_inst_prefetch) NOTHING(s_code_end) NOTHING(s_sethalt) NOTHING(s_icache_inv) NOTHING(s_dcache_wb)
NOTHING(s_waitcnt_vmcnt) NOTHING(s_waitcnt_lgkmcnt) NOTHING(s_waitcnt_expcnt) NOTHING(s_round_mode) NOTHING(v_nop)
NOTHING(s_wait_loadcnt) NOTHING(s_wait_storecnt) NOTHING(s_wait_dscnt) NOTHING(s_wait_kmcnt) NOTHING(s_wait_idle)
NOTHING(s_wait_loadcnt_dscnt) NOTHING(s_wait_storecnt_dscnt) NOTHING(s_wait_alu) NOTHING(s_dcache_inv)
NOTHING(buffer_gl0_inv) NOTHING(buffer_gl1_inv) NOTHING(buffer_wbl2) NOTHING(buffer_inv) NOTHING(s_ttracedata)
NOTHING(global_inv) NOTHING(global_wb) NOTHING(global_wbinv) NOTHING(buffer_wbinvl1) NOTHING(buffer_wbinvl1_vol)

OP(s_endpgm) { (void)r; w->ended = 1; }
OP(s_barrier) { (void)r; w->waiting = 1; }
OP(unimplemented) { fail(w, r, UNSUPPORTED, 0, 0, 0); }
OP(s_trap) { fail(w, r, TRAP, 0, 0, 0); }

static inline void branch(wave *w, const record *r, int taken) { if (taken) w->pc = r->target; }
OP(s_branch) { branch(w, r, 1); }
OP(s_cbranch_scc0) { branch(w, r, !w->file[SCC]); }
OP(s_cbranch_scc1) { branch(w, r, w->file[SCC]); }
OP(s_cbranch_execz) { branch(w, r, !exec_of(w)); }
OP(s_cbranch_execnz) { branch(w, r, exec_of(w) != 0); }
OP(s_cbranch_vccz) { branch(w, r, !(pair(w->file + VCC) & all_lanes(w))); }
OP(s_cbranch_vccnz) { branch(w, r, (pair(w->file + VCC) & all_lanes(w)) != 0); }

static inline u64 next_address(const wave *w) { return w->launch->load + w->launch->records[w->pc].address; }
static inline void jump(wave *w, const record *r, u64 address) {
    const u64 word = (address - w->launch->load - w->launch->text) / 4;
    if (word >= w->launch->text_words || w->launch->index[word] < 0) fail(w, r, NO_CODE, 0, address, 0);
    w->pc = w->launch->index[word];
}
OP(s_getpc_b64) { put_U64(destination_of(w, r, 0), 0, next_address(w)); }
OP(s_setpc_b64) { jump(w, r, get_U64(source_of(w, r, 0), 0)); }
OP(s_swappc_b64) {
    const u64 to = get_U64(source_of(w, r, 1), 0), from = next_address(w);
    jump(w, r, to);
    put_U64(destination_of(w, r, 0), 0, from);
}
OP(s_call_b64) { put_U64(destination_of(w, r, 0), 0, next_address(w)); branch(w, r, 1); }
