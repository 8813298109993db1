// Several convolutions of one kind in one launch of conv/mma.cu, each on tensors of its own: JOINED tells how many, 2 to 4. After
// conv/epilogue.h.
//
//   JOINED_TENSORS    the parameters of all but the first: image_i, filter_i, out_i, and with EPILOGUE addend_i and bias_i
//   SHARE(rest)       `split`, which is what a work-group's number leaves; 0 where that tells whose tensors it takes

#ifdef JOINED
#ifdef EPILOGUE
#define EPILOGUE_OF(i) , const T *addend_##i, const T *bias_##i
#define TAKE_EPILOGUE(i) \
    addend = addend_##i; \
    bias = bias_##i;
#else
#define EPILOGUE_OF(i)
#define TAKE_EPILOGUE(i)
#endif
#define TENSORS_OF(i) , const E *image_##i, const E *filter_##i, T *out_##i EPILOGUE_OF(i)
#define TAKE(i)              \
    if (which == i) {        \
        image = image_##i;   \
        filter = filter_##i; \
        out = out_##i;       \
        TAKE_EPILOGUE(i)     \
    }
#define SHARE(rest)                          \
    const int which = (rest), split = 0;     \
    TAKE_OWN
#if JOINED == 2
#define JOINED_TENSORS TENSORS_OF(1)
#define TAKE_OWN TAKE(1)
#elif JOINED == 3
#define JOINED_TENSORS TENSORS_OF(1) TENSORS_OF(2)
#define TAKE_OWN TAKE(1) TAKE(2)
#else
#define JOINED_TENSORS TENSORS_OF(1) TENSORS_OF(2) TENSORS_OF(3)
#define TAKE_OWN TAKE(1) TAKE(2) TAKE(3)
#endif
#else
#define JOINED_TENSORS
#define SHARE(rest) const int split = (rest);
#endif
