// Units of conv/channels_last_cpu.cl: a group whose channels of x meet all lanes, or the groups of a vector (GROUP_CH), whose
// lanes of x meet their own group's weights.

#ifdef GROUP_CH
#define UNIT_GROUPS (VW / GROUP_CH)
#define UNIT_CH VW
#else
#define UNIT_GROUPS 1
#define UNIT_CH CH
#endif

#define SUMS_M (TILE_UNITS * TILE_M)
// Runs of channels in c and dst: the units of a tile, or all as one where c has no gaps between them
#define RUNS (UNIT_GROUPS * M == TILE_M ? 1 : TILE_UNITS)
#define RUN (UNIT_GROUPS * M == TILE_M ? TILE_UNITS * TILE_M : UNIT_GROUPS * M)
