// Executes the records of one kernel: work-groups one after the other, the waves of a group in turns from barrier to
// barrier. docs/amd-executor.md explains it.
#include "state.h"

#include "control.h"
#include "scalar.h"
#include "vector.h"
#include "compare.h"
#include "memory.h"
#include "lds.h"
#include "packed.h"
#include "matrix.h"
#include "lanes.h"
#include "modifiers.h"

extern const entry __start_amd_ops[], __stop_amd_ops[];

int operations(void) { return __stop_amd_ops - __start_amd_ops; }
const char *operation_name(int i) { return __start_amd_ops[i].name; }
int record_size(void) { return sizeof(record); }
int launch_size(void) { return sizeof(launch); }

enum { SLICE = 100000 };  // instructions, after which the next wave has its turn

static void step(wave *w) {
    const record *r = w->launch->records + w->pc++;
    if (w->pc > w->launch->records_count) fail(w, r - 1, NO_CODE, 0, 0, 0);
    const function f = __start_amd_ops[r->op].function;
    w->file[NOWHERE] = w->file[NOWHERE + 1] = 0;
    if (r->modifier) run_modified(w, r, f); else f(w, r);
    if (++w->executed > w->launch->limit) fail(w, r, TOO_LONG, 0, 0, 0);
}

static void start_wave(wave *w, launch *n, int number, const u32 id[3]) {
    for (int i = 0; i < FILE_WORDS; i++) w->file[i] = 0x7fdead00;  // a NaN for what nobody wrote
    memcpy(w->file, n->sgprs, n->sgprs_count * 4);
    int at = n->group_ids;
    for (int i = 0; i < 3; i++) if (n->group_id_on[i]) w->file[at++] = id[i];
    w->file[TTMP + 9] = id[0], w->file[TTMP + 7] = id[1] | id[2] << 16;  // where gfx12 has them
    const u32 size = n->group[0] * n->group[1] * n->group[2], first = number * n->width;
    const u32 lanes = size - first < (u32)n->width ? size - first : (u32)n->width;
    for (u32 l = 0; l < (u32)n->width; l++) {
        const u32 i = first + l, x = i % n->group[0], y = i / n->group[0] % n->group[1], z = i / n->group[0] / n->group[1];
        w->file[VGPRS + l] = x | y << 10 | z << 20;
    }
    w->width = n->width;
    put_mask(w, EXEC, lanes == 64 ? ~0ull : (1ull << lanes) - 1);
    if (n->width == 32) w->file[EXEC + 1] = 0;
    w->file[SCC] = 0;
    w->launch = n, w->number = number, w->pc = n->entry, w->flush32 = n->flush32;
    w->ended = w->waiting = 0, w->executed = 0, w->epoch = 1, w->last = 0;
}

static void run_group(launch *n, wave *waves, int count, u8 *lds, shadow *shadows, u8 *scratch, jmp_buf *failed) {
    const u64 index = n->group_index;
    const u32 id[3] = {index % n->grid[0], index / n->grid[0] % n->grid[1], index / n->grid[0] / n->grid[1]};
    memset(lds, 0xdd, n->lds_bytes);
    memset(shadows, 0, n->lds_bytes * sizeof(shadow));
    for (int i = 0; i < count; i++) {
        wave *w = waves + i;
        start_wave(w, n, i, id);
        w->lds = lds, w->shadow = shadows, w->failed = failed, w->scratch = scratch + (u64)i * n->width * n->scratch_bytes;
    }
    for (int running = count; running;) {
        int waiting = 0;
        running = 0;
        for (int i = 0; i < count; i++) {
            wave *w = waves + (n->reverse ? count - 1 - i : i);
            for (int j = 0; j < SLICE && !w->ended && !w->waiting; j++) step(w);
            running += !w->ended, waiting += !w->ended && w->waiting;
        }
        if (waiting == running)
            for (int i = 0; i < count; i++) waves[i].waiting = 0, waves[i].epoch++;
    }
    for (int i = 0; i < count; i++) n->executed += waves[i].executed;
}

int execute(launch *n) {
    const int size = n->group[0] * n->group[1] * n->group[2], count = (size + n->width - 1) / n->width;
    wave *waves = malloc(count * sizeof(wave));
    u8 *lds = malloc(n->lds_bytes + 1), *scratch = malloc((u64)count * n->width * n->scratch_bytes + 1);
    shadow *shadows = malloc((n->lds_bytes + 1) * sizeof(shadow));
    const u64 groups = (u64)n->grid[0] * n->grid[1] * n->grid[2];
    jmp_buf failed;
    n->error = OK, n->executed = 0;
    if (!waves || !lds || !scratch || !shadows) n->error = -1;
    else if (setjmp(failed) == 0)
        for (u64 i = 0; i < groups; i++) {
            n->group_index = n->reverse ? groups - 1 - i : i;
            run_group(n, waves, count, lds, shadows, scratch, &failed);
        }
    free(waves), free(lds), free(scratch), free(shadows);
    return n->error;
}
