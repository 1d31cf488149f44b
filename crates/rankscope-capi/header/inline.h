#ifndef RANKSCOPE_INLINE
#define RANKSCOPE_INLINE
/*
 * What is inlined into the program: the switch is looked at, and a call is made only where something is recorded.
 */

#ifdef __cplusplus
#define RANKSCOPE_ZEROED {}
extern "C" {
#else
#define RANKSCOPE_ZEROED {0}
#endif

/* Where the switch lies: categories that are recorded at the moment, a bit each, in the lower half. */
extern const uint64_t *const rankscope_state;

/* The bit of a category, for `rankscope_session_options.categories`. */
#define RANKSCOPE_BIT(category) (UINT32_C(1) << (category))

/* Defines `static rankscope_site variable`, a place that records. `text` is a string literal. */
#define RANKSCOPE_SITE_IN(variable, text, category, scope) \
    static rankscope_site variable = {(uint32_t)sizeof(rankscope_site), 0, "" text, sizeof(text) - 1, (uint32_t)(category), (uint32_t)(scope)}

/* A range that the program names itself: what most programs want. */
#define RANKSCOPE_SITE(variable, text) \
    RANKSCOPE_SITE_IN(variable, text, RANKSCOPE_CATEGORY_USER_ANNOTATION, RANKSCOPE_SCOPE_USER_SCOPE)

/* The key of an argument. */
#define RANKSCOPE_KEY(variable, text) RANKSCOPE_SITE_IN(variable, text, RANKSCOPE_CATEGORY_CPU_OP, RANKSCOPE_SCOPE_FUNCTION)

/* The default options: `rankscope_session_options options = RANKSCOPE_SESSION_OPTIONS_INIT;` */
#define RANKSCOPE_SESSION_OPTIONS_INIT {(uint32_t)sizeof(rankscope_session_options), 0, NULL, 0, 0, 0, 0, 0}

/* Not zero while events of the category are recorded. One load and a test. */
static inline int rankscope_is_on(uint32_t category) {
    return (int)((uint32_t)__atomic_load_n(rankscope_state, __ATOMIC_RELAXED) >> (category & 31u) & 1u);
}

/* A span that is not recorded. */
static inline rankscope_span rankscope_no_span(void) {
    rankscope_span none = RANKSCOPE_ZEROED;
    return none;
}

/* Begins a span. End it once, on this thread. */
static inline rankscope_span rankscope_begin(rankscope_site *site) {
    return site && rankscope_is_on(site->category) ? rankscope_begin_at(site) : rankscope_no_span();
}

/* Begins a span with arguments. */
static inline rankscope_span rankscope_begin_with(rankscope_site *site, const rankscope_arg *args, size_t count) {
    return site && rankscope_is_on(site->category) ? rankscope_begin_at_with(site, args, count) : rankscope_no_span();
}

/* Ends a span. */
static inline void rankscope_end(rankscope_span span) {
    if (span.epoch) {
        rankscope_end_span(span);
    }
}

/* Ends a span with arguments that are known only now. */
static inline void rankscope_end_with(rankscope_span span, const rankscope_arg *args, size_t count) {
    if (span.epoch) {
        rankscope_end_span_with(span, args, count);
    }
}

/* Records a moment. */
static inline void rankscope_instant(rankscope_site *site, const rankscope_arg *args, size_t count) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_instant_at(site, args, count);
    }
}

/* Records a whole number. */
static inline void rankscope_counter_i64(rankscope_site *site, int64_t value) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_counter_i64_at(site, value);
    }
}

/* Records a number. */
static inline void rankscope_counter_f64(rankscope_site *site, double value) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_counter_f64_at(site, value);
    }
}

/* An arrow starts in the innermost open span. Its other points have the same site's name and the same id, on any thread. */
static inline void rankscope_flow_begin(rankscope_site *site, uint64_t id) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_flow_at(site, id, RANKSCOPE_FLOW_STAGE_START);
    }
}

/* An arrow passes through the innermost open span. */
static inline void rankscope_flow_step(rankscope_site *site, uint64_t id) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_flow_at(site, id, RANKSCOPE_FLOW_STAGE_STEP);
    }
}

/* An arrow ends in the innermost open span. */
static inline void rankscope_flow_end(rankscope_site *site, uint64_t id) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_flow_at(site, id, RANKSCOPE_FLOW_STAGE_END);
    }
}

/* Memory of the host: `bytes` of it, negative when given back. */
static inline void rankscope_host_memory(const void *block, int64_t bytes) {
    rankscope_memory event = RANKSCOPE_ZEROED;
    event.struct_size = (uint32_t)sizeof event;
    event.address = (uint64_t)(uintptr_t)block;
    event.bytes = bytes;
    event.device_index = -1;
    event.total_allocated = -1;
    event.total_reserved = -1;
    rankscope_memory_event(&event);
}

/* Memory of the host was taken. */
static inline void rankscope_alloc(const void *block, size_t bytes) {
    if (rankscope_is_on(RANKSCOPE_CATEGORY_CPU_INSTANT_EVENT)) {
        rankscope_host_memory(block, (int64_t)bytes);
    }
}

/* Memory of the host was given back. */
static inline void rankscope_free(const void *block, size_t bytes) {
    if (rankscope_is_on(RANKSCOPE_CATEGORY_CPU_INSTANT_EVENT)) {
        rankscope_host_memory(block, -(int64_t)bytes);
    }
}

static inline rankscope_arg rankscope_arg_of(rankscope_site *key, uint32_t kind, size_t count) {
    rankscope_arg arg = RANKSCOPE_ZEROED;
    arg.key = key;
    arg.kind = kind;
    arg.count = count;
    return arg;
}

/* An argument: a whole number. */
static inline rankscope_arg rankscope_i64(rankscope_site *key, int64_t value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_I64, 0);
    arg.value.i64 = value;
    return arg;
}

/* An argument: a whole number that is not negative. */
static inline rankscope_arg rankscope_u64(rankscope_site *key, uint64_t value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_U64, 0);
    arg.value.u64 = value;
    return arg;
}

/* An argument: a number. */
static inline rankscope_arg rankscope_f64(rankscope_site *key, double value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_F64, 0);
    arg.value.f64 = value;
    return arg;
}

/* An argument: yes or no. */
static inline rankscope_arg rankscope_bool(rankscope_site *key, int value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_BOOL, 0);
    arg.value.u64 = value != 0;
    return arg;
}

/* An argument: a text that ends in zero. It is copied when the event is recorded. */
static inline rankscope_arg rankscope_text(rankscope_site *key, const char *value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_TEXT, RANKSCOPE_NUL_TERMINATED);
    arg.value.pointer = value;
    return arg;
}

/* An argument: JSON text that ends in zero. */
static inline rankscope_arg rankscope_json(rankscope_site *key, const char *value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_JSON, RANKSCOPE_NUL_TERMINATED);
    arg.value.pointer = value;
    return arg;
}

/* An argument: bytes. */
static inline rankscope_arg rankscope_bytes(rankscope_site *key, const void *value, size_t count) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_BYTES, count);
    arg.value.pointer = value;
    return arg;
}

/* An argument: whole numbers, as of a tensor's shape. */
static inline rankscope_arg rankscope_i64_list(rankscope_site *key, const int64_t *value, size_t count) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_I64_LIST, count);
    arg.value.pointer = value;
    return arg;
}

#ifdef __cplusplus
}
#endif

#endif /* RANKSCOPE_INLINE */
