/* What a script has the library do: a line is a call of the program's, a record, or something that goes wrong. All of it happens in every
 * buffer whose context runs. */

static uint64_t base_ns;

/* A time of the script: so many nanoseconds after it began, but for "none". */
static uint64_t at(const char *word) { return strcmp(word, "none") == 0 ? 0 : base_ns + (uint64_t)atoll(word); }

static uint64_t external(uint64_t context, int kind, int operation, uint64_t internal) {
    uint64_t answer = 0xdeadbeef;
    if (!asked[context])
        return 0;
    return asked[context]((uint64_t)gettid(), (id){context}, kind, operation, internal, &answer, NULL) ? 0 : answer;
}

static void *thread(void *first) {
    for (uint64_t i = 0; i < 1000; i++) {
        kernel_record record = {.size = sizeof record, .kind = KERNEL, .operation = 2, .internal = *(uint64_t *)first + i,
                                .start = 1000 + i, .end = 2000 + i};
        record.info.agent = 1001;
        put(0, 1, KERNEL, &record, sizeof record);
    }
    return NULL;
}

static void kernel(size_t b, char word[12][64]) {
    uint64_t internal = (uint64_t)atoll(word[1]);
    kernel_record record = {.size = sizeof record, .kind = KERNEL, .operation = 2, .internal = internal,
                            .external = external(buffers[b].context, KERNEL, 2, internal), .start = at(word[2]), .end = at(word[3])};
    record.info.agent = (uint64_t)atoll(word[4]) + 1001;
    record.info.queue = 0x7f0000000000u + (uint64_t)atoll(word[5]);
    record.info.kernel = (uint64_t)atoll(word[6]);
    size_t bytes = word[7][0] ? (size_t)atoll(word[7]) : sizeof record;
    record.size = bytes;
    uint8_t room[512];
    memset(room, 0xab, sizeof room);
    memcpy(room, &record, sizeof record);
    put(b, 1, KERNEL, room, bytes);
}

/* A call about a stream begins or ends: what a tool keeps in between is kept as deep as calls are in each other. */
static void stream(int phase, uint64_t number) {
    static uint64_t kept[8][4];
    static int depth;
    depth -= phase == 2;
    for (int i = 0; i < streams_count; i++) {
        struct {
            uint64_t size, stream, value;
        } data = {sizeof data, number, 0x7f00};
        callback_record record = {.kind = HIP_STREAM, .operation = 3, .phase = phase, .payload = &data};
        if (started[streams[i].context])
            streams[i].told(record, &kept[depth][i], NULL);
    }
    depth += phase == 1;
}

static void line(char *text) {
    char word[12][64] = {{0}};
    int words = 0;
    char *rest = NULL;
    for (char *next = strtok_r(text, " ", &rest); next && words < 12; next = strtok_r(NULL, " ", &rest))
        strncpy(word[words++], next, 63);
    const char *what = word[0];
#define N(i) ((uint64_t)atoll(word[i]))
    if (!strcmp(what, "now")) {
        rocprofiler_get_timestamp(&base_ns);
    } else if (!strcmp(what, "hip-up")) {
        runtimes++;
        if (!status_now)
            initialize(NULL);
        for (int i = 0; i < registered_count; i++)
            registered[i](2, 70000, 0, NULL, 0, NULL);
    } else if (!strcmp(what, "symbol")) {
        symbol_data symbol = {.size = sizeof symbol, .kernel = N(1), .name = word[2]};
        callback_record record = {.kind = CODE_OBJECT, .operation = 2, .phase = 1, .payload = &symbol};
        uint64_t data = 0;
        for (int i = 0; i < symbols_count; i++)
            if (started[symbols[i].context])
                symbols[i].told(record, &data, NULL);
        memset(word[2], 'x', sizeof word[2]); /* a name is the code object's, and goes with it */
    } else if (!strcmp(what, "stream")) {
        stream(1, N(1));
    } else if (!strcmp(what, "stream-end")) {
        stream(2, 0);
    } else if (!strcmp(what, "threads")) {
        pthread_t threads[16];
        uint64_t first[16];
        for (uint64_t i = 0; i < N(1); i++) {
            first[i] = 1000000 + i * 1000;
            pthread_create(&threads[i], NULL, thread, &first[i]);
        }
        for (uint64_t i = 0; i < N(1); i++)
            pthread_join(threads[i], NULL);
    }
    for (size_t b = 0; b < (size_t)buffer_count; b++) {
        if (!started[buffers[b].context])
            continue;
        if (!strcmp(what, "hip") && buffers[b].kinds[HIP] && buffers[b].operations[N(1)]) {
            hip_record record = {.size = sizeof record, .kind = HIP, .operation = (int)N(1), .internal = N(2),
                                 .external = external(buffers[b].context, HIP, (int)N(1), N(2)), .start = at(word[3]),
                                 .end = at(word[4]), .thread = (uint64_t)gettid()};
            put(b, 1, HIP, &record, sizeof record);
        } else if (!strcmp(what, "kernel") && buffers[b].kinds[KERNEL]) {
            kernel(b, word);
        } else if (!strcmp(what, "copy") && buffers[b].kinds[COPY]) {
            copy_record record = {.size = sizeof record, .kind = COPY, .operation = (int)N(4), .internal = N(1),
                                  .external = external(buffers[b].context, COPY, (int)N(4), N(1)), .start = at(word[2]),
                                  .end = at(word[3]), .from_agent = 1001 + N(5), .to_agent = 1001 + N(6), .bytes = 64};
            put(b, 1, COPY, &record, sizeof record);
#ifndef WITHOUT_ANCESTOR
        } else if (!strcmp(what, "graph") && buffers[b].kinds[GRAPH]) {
            /* call graph [length] */
            graph_record record = {.size = sizeof record, .kind = GRAPH, .operation = 5, .internal = N(1), .args = {N(2), 0x7f00}};
            record.size = word[3][0] ? N(3) : sizeof record;
            put(b, 1, GRAPH, &record, record.size);
#endif
        } else if (!strcmp(what, "memory") && buffers[b].kinds[MEMORY]) {
            /* operation call start end gpu address bytes [length]; the CPU is -1, and nobody is none */
            memory_record record = {.size = sizeof record, .kind = MEMORY, .operation = (int)N(1), .internal = N(2), .start = at(word[3]),
                                    .end = at(word[4]), .thread = (uint64_t)gettid(),
                                    .agent = strcmp(word[5], "none") ? (uint64_t)atoll(word[5]) + 1001 : 0,
                                    .address = strtoull(word[6], NULL, 0), .bytes = strtoull(word[7], NULL, 0)};
            record.size = word[8][0] ? N(8) : sizeof record;
            put(b, 1, MEMORY, &record, record.size);
        } else if (!strcmp(what, "scratch") && buffers[b].kinds[SCRATCH]) {
            /* operation call start end gpu queue */
            scratch_record record = {.size = sizeof record, .kind = SCRATCH, .operation = (int)N(1), .internal = N(2),
                                     .start = at(word[3]), .end = at(word[4]), .thread = (uint64_t)gettid(),
                                     .agent = (uint64_t)atoll(word[5]) + 1001, .queue = 0x7f0000000000u + (uint64_t)atoll(word[6])};
            put(b, 1, SCRATCH, &record, sizeof record);
        } else if (!strcmp(what, "raw")) {
            uint64_t record[64] = {N(3), N(2)};
            put(b, (uint32_t)N(1), (uint32_t)N(2), record, N(3) < 16 ? 16 : N(3));
        } else if (!strcmp(what, "dropped")) {
            buffers[b].dropped += N(1);
        } else if (!strcmp(what, "flush")) {
            rocprofiler_flush_buffer((id){b + 1});
        }
    }
}

/* Plays the lines of a script on the calling thread, and returns when the first was played, or the last "now", by this library's clock. */
uint64_t fake_play(const char *script) {
    if (!base_ns)
        rocprofiler_get_timestamp(&base_ns);
    char *copy = strdup(script), *rest = NULL;
    for (char *next = strtok_r(copy, "\n", &rest); next; next = strtok_r(NULL, "\n", &rest))
        line(next);
    free(copy);
    return base_ns;
}

/* This library's clock. */
uint64_t fake_now(void) {
    uint64_t now = 0;
    rocprofiler_get_timestamp(&now);
    return now;
}

/* How many contexts run: that of names, of every tool. */
int fake_contexts(void) {
    int all = 0;
    for (int i = 0; i < 64; i++)
        all += started[i];
    return all;
}
