// Numbers that work-groups of a launch send to one of them, on devices with the feature grid_fence: each comes in words of
// which one half says that it is there, so no fence has to order anything. Words are zeros before and after (a CountersArg's).
// Who takes the numbers waits for them, so their senders must have begun. Include after a define of POSTS, how many they are.

#include "common/counters.h"

#define POST_WORDS ((int)(sizeof(real) / 4))
#define IS_THERE ((u64)1 << 32)

typedef union {
    real number;
    u32 words[POST_WORDS];
} posted_t;

// The number with that place among them.
DEVICE void post(GLOBAL u64 *posts, int place, real v) {
    posted_t post;
    post.number = v;
    UNROLL for (int i = 0; i < POST_WORDS; ++i) WRITE_WORD(posts + place * POST_WORDS + i, IS_THERE | post.words[i]);
}

// The sum of all in their order, with the `own` number of the one who takes them in its place, where none is sent.
DEVICE real sum_of_posts(GLOBAL u64 *posts, int place, real own) {
    u64 words[POSTS * POST_WORDS];
    bool there;
    do {
        there = true;
        UNROLL for (int i = 0; i < POSTS * POST_WORDS; ++i)
            words[i] = i / POST_WORDS == place ? IS_THERE : READ_WORD(posts + i);
        UNROLL for (int i = 0; i < POSTS * POST_WORDS; ++i) there = there && (words[i] & IS_THERE);
    } while (!there);
    real sum = 0;
    UNROLL for (int k = 0; k < POSTS; ++k) {
        posted_t post;
        UNROLL for (int i = 0; i < POST_WORDS; ++i) {
            post.words[i] = (u32)words[k * POST_WORDS + i];
            posts[k * POST_WORDS + i] = 0;
        }
        sum = sum + (k == place ? own : post.number);
    }
    return sum;
}
