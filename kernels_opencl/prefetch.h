// Asks for the line at p, which may lie outside of its buffer; OpenCL's own prefetch does nothing on PoCL
#ifdef __x86_64__
#define PREFETCH(p) __builtin_prefetch((const void *)(size_t)(p), 0, 3)
#else
#define PREFETCH(p)
#endif
