/* The second version of the interface, which "fields" and all that begins so have. "fields" works; "fields alone" has a profiler that allows
 * no others, "fields beside" one that does, "fields early" is not up until fake_up() is called. "fields refused" refuses the attribute and
 * "fields unset" every kind ("fields no-memory" that of memory alone), and both have the first version. "fields 13.3" takes calls out of a kind instead of asking for some, "fields 13.3
 * whole" refuses that, and "fields 13.2" is too early. Of the others the layouts that buffers come back with are odd: "silent" has none,
 * "brief" structs that are too short, "grown" longer ones, "few" only those of kinds below 10; of kernels "missing" has no end, "overlap" two
 * fields in one place, "beyond" one behind the record, "zero" one without bytes, "three" one of three bytes, "endless" too many, and
 * "moving" other places in each buffer. While fields are chosen, calls of the first version are refused, and written down. */

typedef struct { size_t size; int id; size_t at, bytes, alignment, later[2]; } field_layout;
typedef struct { size_t size; const void *fields; size_t count, record_bytes; } record_layout;
typedef struct { size_t size; uint64_t thread; const record_layout **layouts; size_t count, later[4]; } complete_info;
typedef struct { size_t size, count; const int *ids; } field_selection;
typedef struct { size_t size; const uint32_t *calls; size_t count; uint8_t on; } call_choice;
typedef struct { size_t size; const call_choice *calls; } api_options;
typedef struct { size_t size; field_selection fields; const api_options *options; } activity_config;
typedef void (*requested_2_fn)(uint8_t **, size_t *, size_t *, const size_t *);
typedef void (*completed_2_fn)(uint8_t *, size_t, size_t, const complete_info *);

/* Where a field lies in the records of the first version, and how long it is in both. */
#define FIELD(id, type, member, bytes) {id, offsetof(type, member), sizeof(((type *)0)->member), bytes}
typedef struct { int id; size_t at, bytes, bytes_2; } known_field;
static const struct { int kind; known_field fields[16]; } KNOWN[] = {
    {KERNEL, {FIELD(0, kernel_record, kind, 4), FIELD(7, kernel_record, start, 8), FIELD(8, kernel_record, end, 8),
              FIELD(10, kernel_record, device, 4), FIELD(11, kernel_record, context, 4), FIELD(12, kernel_record, stream, 4),
              FIELD(22, kernel_record, correlation, 8), FIELD(24, kernel_record, name, 8), FIELD(31, kernel_record, graph_node, 8),
              FIELD(33, kernel_record, graph, 4)}},
    {MEMCPY, {FIELD(0, memcpy_record, kind, 4), FIELD(1, memcpy_record, copy_kind, 1), FIELD(2, memcpy_record, src_kind, 1),
              FIELD(3, memcpy_record, dst_kind, 1), FIELD(6, memcpy_record, start, 8), FIELD(7, memcpy_record, end, 8),
              FIELD(8, memcpy_record, device, 4), FIELD(9, memcpy_record, context, 4), FIELD(10, memcpy_record, stream, 4),
              FIELD(11, memcpy_record, correlation, 8), FIELD(12, memcpy_record, graph_node, 8), FIELD(13, memcpy_record, graph, 4)}},
    {PEER, {FIELD(0, memcpy_peer_record, kind, 4), FIELD(6, memcpy_peer_record, start, 8), FIELD(7, memcpy_peer_record, end, 8),
            FIELD(8, memcpy_peer_record, device, 4), FIELD(9, memcpy_peer_record, context, 4), FIELD(10, memcpy_peer_record, stream, 4),
            FIELD(11, memcpy_peer_record, src_device, 4), FIELD(13, memcpy_peer_record, dst_device, 4),
            FIELD(15, memcpy_peer_record, correlation, 8), FIELD(16, memcpy_peer_record, graph_node, 8),
            FIELD(17, memcpy_peer_record, graph, 4)}},
    {MEMSET, {FIELD(0, memset_record, kind, 4), FIELD(3, memset_record, start, 8), FIELD(4, memset_record, end, 8),
              FIELD(5, memset_record, device, 4), FIELD(6, memset_record, context, 4), FIELD(7, memset_record, stream, 4),
              FIELD(8, memset_record, correlation, 8), FIELD(10, memset_record, memory_kind, 2), FIELD(11, memset_record, graph_node, 8),
              FIELD(12, memset_record, graph, 4)}},
    {RUNTIME, {FIELD(0, api_record, kind, 4), FIELD(1, api_record, cbid, 4), FIELD(2, api_record, start, 8), FIELD(3, api_record, end, 8),
               FIELD(5, api_record, thread, 8), FIELD(6, api_record, correlation, 8)}},
    {SYNC, {FIELD(0, sync_record, kind, 4), FIELD(1, sync_record, sort, 4), FIELD(2, sync_record, start, 8), FIELD(3, sync_record, end, 8),
            FIELD(4, sync_record, correlation, 8), FIELD(5, sync_record, context, 4), FIELD(6, sync_record, stream, 4)}},
    {OVERHEAD, {FIELD(0, overhead_record, kind, 4), FIELD(1, overhead_record, sort, 4), FIELD(4, overhead_record, start, 8),
                FIELD(5, overhead_record, end, 8)}},
    {MEMORY, {FIELD(0, memory_record, kind, 4), FIELD(1, memory_record, operation, 4), FIELD(2, memory_record, memory_kind, 4),
              FIELD(3, memory_record, correlation, 8), FIELD(4, memory_record, address, 8), FIELD(5, memory_record, bytes, 8),
              FIELD(6, memory_record, stamp, 8), FIELD(8, memory_record, device, 4), FIELD(10, memory_record, stream, 4),
              FIELD(12, memory_record, pool_type, 4), FIELD(13, memory_record, pool_address, 8), FIELD(15, memory_record, pool_size, 8)}},
    {EXTERNAL, {FIELD(0, external_record, kind, 4), FIELD(1, external_record, external_kind, 4),
                FIELD(2, external_record, external, 8), FIELD(3, external_record, correlation, 8)}},
};
enum { KNOWN_COUNT = sizeof KNOWN / sizeof KNOWN[0], PLACES = 16 };

/* What is chosen of a kind, and where it lies. */
static struct { size_t count, bytes, at[PLACES]; const known_field *fields[PLACES]; } laid[KINDS];
static int second, second_subscribed, fields_chosen;
static requested_2_fn requested_2;
static completed_2_fn completed_2;

static int is_13_3(void) { return strncmp(who(), "fields 13.3", 11) == 0; }

static int has_second(void) { return strncmp(who(), "fields", 6) == 0; }

/* Whether a call of the first version is refused. */
static int is_refused(const char *call) {
    if (fields_chosen)
        say(call);
    return fields_chosen || is("fields beside");
}

static const known_field *known_field_of(int kind, int id) {
    for (int i = 0; i < KNOWN_COUNT; i++)
        for (int f = 0; KNOWN[i].kind == (kind == DRIVER ? RUNTIME : kind) && KNOWN[i].fields[f].bytes; f++)
            if (KNOWN[i].fields[f].id == id)
                return &KNOWN[i].fields[f];
    return NULL;
}

/* A record with the fields that were chosen; how long it is. */
static size_t chosen_record(const uint8_t *record, uint8_t *to) {
    uint32_t kind = *(const uint32_t *)record;
    memset(to, 0xcd, laid[kind].bytes);
    for (size_t i = 0; i < laid[kind].count; i++) {
        const known_field *field = laid[kind].fields[i];
        memset(to + laid[kind].at[i], 0, field->bytes_2);
        memcpy(to + laid[kind].at[i], record + field->at, field->bytes);
    }
    return laid[kind].bytes;
}

static int is_laid(const void *record) {
    uint32_t kind = *(const uint32_t *)record;
    return fields_chosen && kind < KINDS && laid[kind].count;
}

/* What is said of a kind, in structs that stay. */
static const record_layout *layout_of(int kind) {
    size_t apart = is("fields grown") ? sizeof(field_layout) : 40, count = laid[kind].count;
    uint8_t *entries = malloc((count + 1) * apart);
    static int said;
    for (size_t i = 0; i < count; i++) {
        field_layout it = {apart, laid[kind].fields[i]->id, laid[kind].at[i], laid[kind].fields[i]->bytes_2, 8, {0xcc, 0xcc}};
        if (kind == KERNEL && it.id == 8) {
            if (is("fields missing")) it.id = 99;
            if (is("fields overlap")) it.at -= 8;
            if (is("fields beyond")) it.at = laid[kind].bytes;
            if (is("fields zero")) it.bytes = 0;
            if (is("fields three")) it.bytes = 3;
            if (is("fields moving") && said++) it.at = laid[kind].bytes, laid[kind].bytes += 8;
        }
        memcpy(entries + i * apart, &it, apart);
    }
    record_layout *layout = calloc(1, sizeof *layout);
    *layout = (record_layout){is("fields brief") ? 24 : sizeof *layout, entries, count, laid[kind].bytes};
    if (kind == KERNEL && is("fields endless"))
        layout->count = SIZE_MAX;
    return layout;
}

static void completed_by_second(uint8_t *memory, size_t size, size_t valid) {
    const record_layout *layouts[KINDS] = {0};
    for (int kind = 0; kind < KINDS; kind++)
        if (laid[kind].count)
            layouts[kind] = layout_of(kind);
    complete_info info = {is("fields grown") ? sizeof info : 32, 7, is("fields silent") ? NULL : layouts,
                          is("fields few") ? 10 : KINDS, {0xcc}};
    completed_2(memory, size, valid, &info);
}

static int as_subscriber(void *subscriber) {
    if (subscriber == &second && second_subscribed)
        return OK;
    say("a call of a stranger");
    return INVALID_PARAMETER;
}

int cuptiSubscribe_v2(void **subscriber, told_fn t, void *context, subscriber_params *params) {
    if (params->size != sizeof *params || !params->name || params->old_name_size < 64)
        return INVALID_PARAMETER;
    if (is("taken"))
        strncpy(params->old_name, "CUPTI for somebody else", params->old_name_size);
    if (is("fields alone"))
        strncpy(params->old_name, "Nsight Systems", params->old_name_size);
    if (is("fields beside"))
        strncpy(params->old_name, "CUPTI for monitor", params->old_name_size);
    if (is("taken") || is("fields alone") || (is("fields beside") && !params->multiple))
        return TAKEN;
    if (!has_second())
        return cuptiSubscribe(subscriber, t, context);
    if (second_subscribed)
        return TAKEN;
    second_subscribed = 1;
    told = t;
    *subscriber = &second;
    return OK;
}

int cuptiActivitySetAttribute_v2(void *subscriber, int attribute, size_t *size, void *value) {
    if (as_subscriber(subscriber) != OK || (attribute == 11 ? *size != 1 : *size != 4))
        return INVALID_PARAMETER;
    if (is("fields refused"))
        return NOT_COMPATIBLE;
    if (attribute == 11)
        fields_chosen = *(uint8_t *)value;
    if (attribute == 21)
        thread_ids = *(int *)value;
    return attribute == 11 || attribute == 21 ? OK : INVALID_PARAMETER;
}

int cuptiActivityRegisterCallbacks_v2(void *subscriber, requested_2_fn r, completed_2_fn c) {
    requested_2 = r;
    completed_2 = c;
    return as_subscriber(subscriber);
}

int cuptiActivityEnable_v2(void *subscriber, uint32_t kind, const activity_config *config) {
    if (as_subscriber(subscriber) != OK || kind >= KINDS || !config)
        return INVALID_PARAMETER;
    if (config->size != (is_13_3() ? offsetof(activity_config, options) : sizeof *config))
        return INVALID_PARAMETER;
    if (config->fields.size != sizeof config->fields || !config->fields.count || config->fields.ids[0] != 0)
        return INVALID_PARAMETER;
    if (is("fields unset"))
        return NOT_COMPATIBLE;
    if (is("fields no-memory") && kind == MEMORY)
        return INVALID_KIND;
    if (is("fields early") && !is_up)
        return NOT_INITIALIZED;
    memset(&laid[kind], 0, sizeof laid[kind]);
    for (size_t i = 0; i < config->fields.count; i++) {
        const known_field *field = known_field_of((int)kind, config->fields.ids[i]);
        if (!field || i == PLACES)
            return INVALID_PARAMETER;
        laid[kind].fields[i] = field;
        laid[kind].at[i] = (laid[kind].bytes + field->bytes_2 - 1) / field->bytes_2 * field->bytes_2;
        laid[kind].bytes = laid[kind].at[i] + field->bytes_2;
    }
    laid[kind].count = config->fields.count;
    laid[kind].bytes = (laid[kind].bytes + 7) / 8 * 8;
    const api_options *options = is_13_3() ? NULL : config->options;
    recorded[kind] = !options;
    if (kind == RUNTIME || kind == DRIVER)
        memset(left_out[kind == RUNTIME ? 2 : 1], 0, sizeof left_out[0]);
    if (options) {
        if (options->size != sizeof *options || options->calls->size != sizeof *options->calls || options->calls->on != 1)
            return INVALID_PARAMETER;
        for (size_t i = 0; i < options->calls->count; i++)
            chosen[kind == RUNTIME ? 2 : 1][options->calls->calls[i]] = 1;
    }
    return OK;
}

static int leave_out(void *subscriber, int domain, uint32_t cbid, uint8_t on) {
    if (as_subscriber(subscriber) != OK || cbid >= CALLS || on || !recorded[domain == 2 ? RUNTIME : DRIVER])
        return INVALID_PARAMETER;
    if (is("fields 13.3 whole"))
        return NOT_COMPATIBLE;
    left_out[domain][cbid] = 1;
    return OK;
}

int cuptiActivityEnableRuntimeApi_v2(void *subscriber, uint32_t cbid, uint8_t on) { return leave_out(subscriber, 2, cbid, on); }

int cuptiActivityEnableDriverApi_v2(void *subscriber, uint32_t cbid, uint8_t on) { return leave_out(subscriber, 1, cbid, on); }

int cuptiActivityDisable_v2(void *subscriber, uint32_t kind, const activity_config *config) {
    (void)config;
    if (as_subscriber(subscriber) != OK || kind >= KINDS)
        return INVALID_PARAMETER;
    recorded[kind] = 0;
    if (kind == RUNTIME || kind == DRIVER)
        memset(chosen[kind == RUNTIME ? 2 : 1], 0, sizeof chosen[0]);
    return OK;
}

int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *memory, size_t valid, uint8_t **record) {
    return as_subscriber(subscriber) == OK ? next_record(memory, valid, record) : INVALID_PARAMETER;
}

int cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context, uint32_t stream, size_t *count) {
    (void)context;
    (void)stream;
    if (as_subscriber(subscriber) != OK)
        return INVALID_PARAMETER;
    take_dropped(count);
    return OK;
}

int cuptiActivityPushExternalCorrelationId_v2(void *subscriber, int kind, uint64_t id) {
    return as_subscriber(subscriber) == OK ? push(kind, id) : INVALID_PARAMETER;
}

int cuptiActivityPopExternalCorrelationId_v2(void *subscriber, int kind, uint64_t *last) {
    return as_subscriber(subscriber) == OK ? pop(kind, last) : INVALID_PARAMETER;
}

int cuptiGetTimestamp_v2(void *subscriber, uint64_t *stamp) {
    if (as_subscriber(subscriber) != OK)
        return INVALID_PARAMETER;
    now(stamp);
    return OK;
}
