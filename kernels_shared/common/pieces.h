// Pieces of work that the work-groups of one launch share out among themselves, before all of them go on (a filter is
// packed that all of them read) or once all of them have come so far (what all of them wrote is added up).
//
// A piece goes to a work-group that runs, and a work-group waits only when no piece is left that nobody has begun, and all
// that it waits for have begun. So the launch ends in whatever order, and however few at a time, its work-groups are
// started. shares_pieces (backends/engines/pieces.py) names the devices that can.
//
//   counters      PIECE_COUNTERS zeros of a CountersArg, which the last work-group to leave makes zeros again
//   slot          an int in local memory, for nothing else
//   groups        work-groups that share the pieces: NGRP(0), or so many as have counters of their own
//
// Before all go on:
//
//   int piece = first_piece(counters, slot, item, pieces);
//   if (piece != ALL_DONE) {
//       while (piece < pieces) {
//           const int next = reserve_piece(counters, item);
//           ...
//           piece = finish_piece(counters, slot, item, next);
//       }
//       wait_for_pieces(counters, item, pieces);
//   }
//   ... read what the pieces are ...
//   const int place = leave_pieces(counters, item);
//   close_pieces(counters, place, groups);

#include "common/counters.h"

#define PIECES_GIVEN 0  // pieces that a work-group has; eight apart, so that they lie in sectors of their own
#define PIECES_DONE 8
#define GROUPS_STARTED 16
#define GROUPS_ARRIVED 24
#define GROUPS_LEFT 32
#define ALL_DONE (-1)
#define NO_PIECE 0x7fffffff
#define PATIENCE 100  // looks at the counters before a work-group helps that was not meant to

// A piece; ALL_DONE when there is nothing to wait for; at least `pieces` when others still work on the last ones. The
// first work-groups are meant to do the pieces: they start first. The others help only where these do not come.
DEVICE int first_piece(GLOBAL int *counters, LOCAL_ARG int *slot, int item, int pieces) {
    if (item == 0) {
        int piece = NO_PIECE;
        if (GRP(0) < pieces) piece = ATOMIC_INC(counters + PIECES_GIVEN);
        int done = READ_COUNTER(counters + PIECES_DONE);
        if (GRP(0) >= pieces) {
            _Pragma("unroll 1") for (int looks = 0; done < pieces && looks < PATIENCE; ++looks) {
                PAUSE(200);
                done = READ_COUNTER(counters + PIECES_DONE);
            }
            if (done < pieces) piece = ATOMIC_INC(counters + PIECES_GIVEN);
        }
        slot[0] = done == pieces ? ALL_DONE : piece;
    }
    GLOBAL_BARRIER();
    return slot[0];
}

// The number of the next piece, for item 0: asked for before there is time for it, which hides the way to memory.
DEVICE int reserve_piece(GLOBAL int *counters, int item) {
    return item == 0 ? ATOMIC_INC(counters + PIECES_GIVEN) : 0;
}

// After a piece: what this work-group wrote is there for all. The next one.
DEVICE int finish_piece(GLOBAL int *counters, LOCAL_ARG int *slot, int item, int next) {
    GLOBAL_BARRIER();
    if (item == 0) {
        COUNT_WRITTEN(counters + PIECES_DONE);
        slot[0] = next;
    }
    BARRIER();
    return slot[0];
}

DEVICE void wait_for_pieces(GLOBAL int *counters, int item, int pieces) {
    if (item == 0) {
        while (READ_COUNTER(counters + PIECES_DONE) < pieces) PAUSE(50);
    }
    GLOBAL_BARRIER();
}

// The work-group's place in the order of leaving, for item 0.
DEVICE int leave_pieces(GLOBAL int *counters, int item) {
    return item == 0 ? ATOMIC_INC(counters + GROUPS_LEFT) : -1;
}

DEVICE void close_pieces(GLOBAL int *counters, int place, int groups) {
    if (place != groups - 1) return;
    counters[PIECES_GIVEN] = 0;
    counters[PIECES_DONE] = 0;
    counters[GROUPS_STARTED] = 0;
    counters[GROUPS_ARRIVED] = 0;
    counters[GROUPS_LEFT] = 0;
}

// Once all have come so far:
//
//   start_group(counters, item);
//   ... write ...
//   int piece = gather_groups(counters, slot, item, groups);
//   while (piece < pieces) {
//       const int next = reserve_piece(counters, item);
//       ... read what all wrote ...
//       piece = next_piece(slot, item, next);
//   }
//   close_pieces(counters, leave_pieces(counters, item), groups);
//
// A work-group that comes while others have not even started does not wait for them: it leaves the pieces to them.

DEVICE void start_group(GLOBAL int *counters, int item) {
    if (item == 0) ATOMIC_INC(counters + GROUPS_STARTED);
}

// A piece, when all work-groups have come here and what they wrote is there; or NO_PIECE.
DEVICE int gather_groups(GLOBAL int *counters, LOCAL_ARG int *slot, int item, int groups) {
    GLOBAL_BARRIER();
    if (item == 0) {
        int piece = NO_PIECE;
        COUNT_WRITTEN(counters + GROUPS_ARRIVED);
        if (READ_COUNTER(counters + GROUPS_STARTED) == groups) {
            piece = ATOMIC_INC(counters + PIECES_GIVEN);
            while (READ_COUNTER(counters + GROUPS_ARRIVED) < groups) PAUSE(50);
        }
        slot[0] = piece;
    }
    GLOBAL_BARRIER();
    return slot[0];
}

DEVICE int next_piece(LOCAL_ARG int *slot, int item, int next) {
    BARRIER();
    if (item == 0) slot[0] = next;
    BARRIER();
    return slot[0];
}
