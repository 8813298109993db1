// The region of an image that a tile of TILE_H x TILE_W pixels reads, in local memory: pixels PITCH bytes apart, of each the
// BLOCK_GROUPS groups of channels that the work-group has. For grouped convolutions, whose few channels a group make the
// image, not the products, what has to be fetched.
//
//   HALO_H, HALO_W     pixels of the region; what lies outside of the image is zero
//   tap (r, s) of pixel (y, x) of the tile is at region pixel  y * STEP_H + r * TAP_H - lowest_h, likewise x
//
// TILES: tiles of all images (of a phase). BLOCKS: blocks of groups. SLOTS: work-groups of a block and phase, which take the
// tiles SLOTS apart, one copied while another is multiplied. Image offsets are kept modulo 2^32 (conv/geometry.h).
//
// Defines: those of conv/geometry.h, GROUPS BLOCK_GROUPS TILE_H TILE_W HALO_H HALO_W PITCH SLOTS COUNT (images).
// After common/types.h, common/mma.h, conv/geometry.h.

#define WAVES 8
#define ITEMS (32 * WAVES)
#define BLOCKS ((GROUPS + BLOCK_GROUPS - 1) / BLOCK_GROUPS)
#define BLOCK_CHUNKS ((BLOCK_GROUPS * CHANNELS + VE - 1) / VE)
#define TILES_W ((PIXELS_W + TILE_W - 1) / TILE_W)
#define TILES_H ((PIXELS_H + TILE_H - 1) / TILE_H)
#define TILES (COUNT * TILES_H * TILES_W)
#define TILE_PIXELS (TILE_H * TILE_W)
#define MTILES ((TILE_PIXELS + 15) / 16)
#define REGION_BYTES (HALO_H * HALO_W * PITCH)

typedef struct {
    int n, h, w;  // image, first pixel
} Tile;

DEVICE Tile tile_at(int index) {
    Tile tile;
    tile.w = index % TILES_W * TILE_W;
    tile.h = index / TILES_W % TILES_H * TILE_H;
    tile.n = index / (TILES_W * TILES_H);
    return tile;
}

DEVICE int lowest(int tap, int taps) { return tap < 0 && taps > 0 ? (taps - 1) * tap : 0; }

DEVICE void copy_region(u32 to, const E *image, const Tile *tile, int channel0, const Phase *phase, int item) {
    const int h0 = tile->h * STEP_H + phase->start_h + lowest(TAP_H, phase->taps_h);
    const int w0 = tile->w * STEP_W + phase->start_w + lowest(TAP_W, phase->taps_w);
    for (int i = item; i < HALO_H * HALO_W * BLOCK_CHUNKS; i += ITEMS) {
        const int chunk = i % BLOCK_CHUNKS, place = i / BLOCK_CHUNKS;
        const int h = h0 + place / HALO_W, w = w0 + place % HALO_W, channel = channel0 + chunk * VE;
        const bool reads = (u32)h < (u32)EXTENT_H && (u32)w < (u32)EXTENT_W && channel < GROUPS * CHANNELS;
        const u32 at = (u32)tile->n * IN_N + (u32)h * IN_H + (u32)w * IN_W + (u32)channel;
        copy_chunk(to + place * PITCH + chunk * 16, reads ? image + at : image, reads);
    }
}

// where pixel `p` of a tile has its tap 0, were that the lowest
DEVICE u32 region_place(int p) { return (u32)((p / TILE_W * STEP_H * HALO_W + p % TILE_W * STEP_W) * PITCH); }

// what tap `index` of the phase adds, and where it lies in a filter
DEVICE u32 region_tap(int index, const Phase *phase) {
    const int wide = phase->taps_w > 0 ? phase->taps_w : 1;
    const int h = index / wide * TAP_H - lowest(TAP_H, phase->taps_h), w = index % wide * TAP_W - lowest(TAP_W, phase->taps_w);
    return (u32)((h * HALO_W + w) * PITCH);
}
