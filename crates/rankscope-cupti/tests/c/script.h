/* What a script has the library do: a line is a call of the program's, a record, or something that goes wrong. */

static int is_recorded(int kind, int domain, uint32_t cbid) {
    if (domain && cbid < CALLS && left_out[domain][cbid])
        return 0;
    return recorded[kind] || (domain && cbid < CALLS && chosen[domain][cbid]);
}

static void put_ties(uint32_t correlation) {
    for (uint32_t kind = 1; kind < 8; kind++) {
        if (!pushed[kind].depth || !recorded[EXTERNAL])
            continue;
        external_record tie = {EXTERNAL, kind, pushed[kind].ids[pushed[kind].depth - 1], correlation, 0};
        if (hold_ties)
            held[held_count++] = tie;
        else
            put(&tie, sizeof tie);
    }
}

/* A call from its begin to its end, with whatever is told in between. */
static void call(int domain, uint32_t cbid, uint32_t correlation, uint64_t start, uint64_t end) {
    uint64_t shared = 0;
    call_data data = {.function = "call", .shared = &shared, .correlation = correlation};
    int is_told = told && cbid < CALLS && told_of[domain][cbid];
    if (is_told)
        told(NULL, domain, cbid, &data);
    if (is_recorded(domain == 2 ? RUNTIME : DRIVER, domain, cbid)) {
        put_ties(correlation);
        uint32_t thread = thread_ids == 1 ? (uint32_t)gettid() : (uint32_t)pthread_self();
        api_record record = {domain == 2 ? RUNTIME : DRIVER, cbid, start, end, (uint32_t)getpid(), thread, correlation, 0};
        put(&record, sizeof record);
    }
    data.site = 1;
    if (is_told)
        told(NULL, domain, cbid, &data);
}

static void *thread(void *correlations) {
    uint32_t first = *(uint32_t *)correlations;
    for (uint32_t i = 0; i < 1000; i++) {
        kernel_record record = {.kind = KERNEL, .start = 1000 + i, .end = 2000 + i, .correlation = first + i, .name = "threads"};
        put(&record, 208);
        if (i % 16 == 15)
            swap();
    }
    swap();
    return NULL;
}

static uint64_t base_ns;

/* A time of the script: so many nanoseconds after it began, but for "none". */
static uint64_t at(const char *word) { return strcmp(word, "none") == 0 ? 0 : base_ns + (uint64_t)atoll(word); }

static void line(char *text) {
    char word[12][64] = {{0}};
    int words = 0;
    char *rest = NULL;
    for (char *next = strtok_r(text, " ", &rest); next && words < 12; next = strtok_r(NULL, " ", &rest))
        strncpy(word[words++], next, 63);
    const char *what = word[0];
#define N(i) ((uint32_t)atoll(word[i]))
    if (!strcmp(what, "call")) {
        call((int)N(1), N(2), N(3), at(word[4]), at(word[5]));
    } else if (!strcmp(what, "kernel") && recorded[KERNEL]) {
        kernel_record record = {.kind = KERNEL, .correlation = N(1), .start = at(word[2]), .end = at(word[3]), .device = N(4),
                                .context = N(4) + 1, .stream = N(5), .graph = N(7), .graph_node = N(8), .name = strdup(word[9])};
        memset(record.later, 0xab, sizeof record.later);
        put(&record, N(6));
    } else if (!strcmp(what, "memcpy") && recorded[MEMCPY]) {
        memcpy_record record = {.kind = MEMCPY, .correlation = N(1), .start = at(word[2]), .end = at(word[3]), .device = N(4),
                                .context = N(4) + 1, .stream = N(5), .copy_kind = 1, .src_kind = 2, .dst_kind = 3, .bytes = 64};
        put(&record, sizeof record);
    } else if (!strcmp(what, "peer") && recorded[PEER]) {
        memcpy_peer_record record = {.kind = PEER, .correlation = N(1), .start = at(word[2]), .end = at(word[3]), .device = N(4),
                                     .context = N(4) + 1, .stream = N(5), .src_device = N(4), .dst_device = N(6)};
        put(&record, sizeof record);
    } else if (!strcmp(what, "memset") && recorded[MEMSET]) {
        memset_record record = {.kind = MEMSET, .correlation = N(1), .start = at(word[2]), .end = at(word[3]), .device = N(4),
                                .context = N(4) + 1, .stream = N(5), .memory_kind = 3};
        put(&record, sizeof record);
    } else if (!strcmp(what, "wait") && recorded[SYNC]) {
        sync_record record = {.kind = SYNC, .correlation = N(1), .start = at(word[2]), .end = at(word[3]), .context = N(4) + 1,
                              .stream = N(5), .sort = N(6)};
        put(&record, sizeof record);
    } else if (!strcmp(what, "overhead") && recorded[OVERHEAD]) {
        overhead_record record = {.kind = OVERHEAD, .sort = N(1), .start = at(word[2]), .end = at(word[3])};
        put(&record, sizeof record);
    } else if (!strcmp(what, "memory") && recorded[MEMORY]) {
        /* operation kind correlation time address bytes device stream [pool-type pool-size [length]] */
        memory_record record = {.kind = MEMORY, .operation = N(1), .memory_kind = N(2), .correlation = N(3), .stamp = at(word[4]),
                                .address = strtoull(word[5], NULL, 0), .bytes = strtoull(word[6], NULL, 0),
                                .process = (uint32_t)getpid(), .device = N(7), .context = N(7) + 1, .stream = N(8),
                                .pool_type = N(9), .pool_address = 0x9000, .pool_size = strtoull(word[10], NULL, 0)};
        put(&record, word[11][0] ? N(11) : sizeof record);
    } else if (!strcmp(what, "raw")) {
        uint32_t record[64] = {N(1)};
        put(record, N(2));
    } else if (!strcmp(what, "tie")) {
        external_record record = {EXTERNAL, N(1), (uint64_t)atoll(word[2]), N(3), 0};
        put(&record, sizeof record);
    } else if (!strcmp(what, "hold-ties")) {
        hold_ties = 1;
    } else if (!strcmp(what, "ties")) {
        for (hold_ties = 0; held_count > 0; held_count--)
            put(&held[held_count - 1], sizeof held[0]);
    } else if (!strcmp(what, "swap")) {
        swap();
    } else if (!strcmp(what, "keep")) {
        keep = (int)N(1);
    } else if (!strcmp(what, "give-back")) {
        for (; kept_count > 0; kept_count--)
            finish(kept[kept_count - 1]);
    } else if (!strcmp(what, "stranger")) {
        complete(malloc(64), 64, 0);
    } else if (!strcmp(what, "dropped")) {
        dropped += N(1);
    } else if (!strcmp(what, "threads")) {
        pthread_t threads[16];
        uint32_t first[16];
        for (uint32_t i = 0; i < N(1); i++) {
            first[i] = 1000000 + i * 1000;
            pthread_create(&threads[i], NULL, thread, &first[i]);
        }
        for (uint32_t i = 0; i < N(1); i++)
            pthread_join(threads[i], NULL);
    }
}

/* Plays the lines of a script on the calling thread, and returns when the first was played, by CLOCK_REALTIME. */
uint64_t fake_play(const char *script) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!base_ns)
        base_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    char *copy = strdup(script), *rest = NULL;
    for (char *next = strtok_r(copy, "\n", &rest); next; next = strtok_r(NULL, "\n", &rest))
        line(next);
    free(copy);
    return base_ns;
}

/* CUDA is up from now on. */
void fake_up(void) { is_up = 1; }

/* How many ids the calling thread has pushed and not popped. */
int fake_pushed(void) {
    int all = 0;
    for (int kind = 0; kind < 8; kind++)
        all += pushed[kind].depth;
    return all;
}

/* Whether any kind is recorded. */
int fake_records(void) {
    int all = 0;
    for (int kind = 0; kind < KINDS; kind++)
        all += recorded[kind];
    for (int i = 0; i < CALLS; i++)
        all += chosen[1][i] + chosen[2][i];
    return all;
}
