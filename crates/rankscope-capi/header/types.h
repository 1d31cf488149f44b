/* A span that is open. All zero: one that is not recorded, which may be ended like any other. */
typedef struct rankscope_span {
    uint32_t epoch;
    /* Its correlation id. */
    uint64_t id;
} rankscope_span;

/* As the length of a text: it ends before its first zero byte. */
#define RANKSCOPE_NUL_TERMINATED SIZE_MAX
