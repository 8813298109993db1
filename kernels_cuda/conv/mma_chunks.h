// Where conv/mma.cu and conv/mma_filter.cu have chunks for the products of sub-groups, in place of conv/mma_warpgroups.h.

#define AHEAD (STAGES - 1)  // slices on their way
#define BOUNDS __launch_bounds__(ITEMS)
#define PANELS_AT(tiles) local_address(tiles)
#define A_AT(row, chunk) PLACE(row, chunk, A_SPREAD(row))
#define B_AT(row, chunk) PLACE(row, chunk, B_SPREAD(row))
#define PLANE_AT(k, chunk) ((k) * A_PITCH + ((chunk) ^ ((k) % 8)) * 16)
#define ACROSS_DOWN B_PITCH  // bytes from a row to the next
#define ACROSS_AT(k, chunk) ((k) * B_PITCH + (((chunk) ^ B_TURN(k)) * 16))
