// The outputs of the kernels whose rows are keys: gradients to keys (DK_T), to values (DV_T), or to both

#ifdef DK_T
#define OF_KEYS
#define DK_ARGUMENT , PLACED(ELEMENT(DK_T), dk)
#define DK_BIND BIND(ELEMENT(DK_T), dk);
#else
#define DK_ARGUMENT
#define DK_BIND
#endif
#ifdef DV_T
#define OF_KEYS
#define DV_ARGUMENT , PLACED(ELEMENT(DV_T), dv)
#define DV_BIND BIND(ELEMENT(DV_T), dv);
#else
#define DV_ARGUMENT
#define DV_BIND
#endif
