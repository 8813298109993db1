// AMD's matrix cores by clang's builtins: MFMA (gfx908, gfx90a, gfx942) and WMMA (gfx11, gfx12). After common/mma.h.
//
//   FRAG    rows of a and columns of b in a step of the product, 32 (MFMA) or 16 (WMMA); K of a step is two chunks
//   SUMS    sums of a lane
//
//   acc = multiply(a, b, acc)       lane l has of a the row in place l % FRAG, of b the column l % FRAG, and of either chunk
//                                   FRAG_CHUNK(l) of the step's two (gfx11: both, FRAG_BOTH); of acc the column l % FRAG and
//                                   the SUMS neighbouring rows from l / FRAG * SUMS on.
//   FRAG_PLACE(row)                 where a row of a has to lie for that: an instruction's sums of one lane are of rows apart
//
// Which elements of K one instruction takes of a chunk does not matter, as long as a and b agree.
// Layouts: the instruction set manuals of AMD Instinct MI100, MI200 and MI300, RDNA3 and RDNA4, and AMD's matrix instruction calculator.
//
// Defines: WAVE (lanes), FRAG; XF32: floats rounded to 10 bits by the instruction (gfx942).

#define SUMS (FRAG * FRAG / WAVE)
typedef u32 Chunk __attribute__((ext_vector_type(4)));
typedef u32 Half __attribute__((ext_vector_type(2)));  // of a chunk
typedef float Sums __attribute__((ext_vector_type(SUMS)));

#if FRAG == 32
#define FRAG_CHUNK(lane) ((lane) / FRAG)
#define FRAG_PLACE(row) ((row) / 32 * 32 + (row) / 4 % 4 * 8 + (row) / 16 % 2 * 4 + (row) % 4)
#elif defined(__GFX11__)
#define FRAG_CHUNK(lane) 0
#define FRAG_PLACE(row) ((row) / 16 * 16 + (row) % 8 * 2 + (row) / 8 % 2)
#else
#define FRAG_CHUNK(lane) ((lane) / FRAG)
#define FRAG_PLACE(row) (row)
#endif
#include "common/mma_builtins.h"
