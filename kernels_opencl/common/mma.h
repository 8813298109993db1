// Elements of products on matrix cores: AMD's.
#include "common/mma_elements.h"
