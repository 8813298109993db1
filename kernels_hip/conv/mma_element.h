// Elements of what text computes: as stored, which AMD's matrix cores take.
#include "conv/mma_stored.h"
