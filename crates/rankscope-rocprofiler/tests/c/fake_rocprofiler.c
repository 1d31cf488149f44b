/* A library that stands for rocprofiler-sdk. FAKE_ROCPROFILER says which: "0.6" and "2.0" are other versions, "no-gpu" has a CPU alone,
 * "locked" was configured before, "deaf" says that it was configured and asks nobody, "refuses" records no kernels, "poor" records kernels
 * and nothing else, "silent" starts no context, "elsewhen" has a clock of its own, "no-time" shows none, "wall" stamps with the wall clock,
 * "short-agent" describes agents in fewer words, "streams" tells streams of HIP, "renumbered" has other services under the numbers of that
 * and of memory, "no-memory" has none of memory. Anything else works, and does what fake_play() is told, line by line. Compiled with
 * -DINCOMPLETE it lacks a function. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, NOT_FOUND = 2, LOCKED = 16, NOT_IMPLEMENTED = 17, INVALID = 19, FINALIZED = 21 };
enum { HIP = 5, COPY = 10, KERNEL = 11, SCRATCH = 12, MEMORY = 16, GRAPH = 21, CODE_OBJECT = 10, HIP_STREAM = 20 };
enum { KINDS = 32, OPERATIONS = 16, RECORDS_MAX = 65536 };

typedef struct {
    uint64_t handle;
} id;

typedef struct {
    uint32_t category, kind;
    void *payload;
} header;

typedef struct {
    id context;
    uint64_t thread;
    uint64_t internal, external, ancestor;
    int kind, operation, phase;
    void *payload;
} callback_record;

typedef struct {
    uint64_t size, kernel, code_object;
    const char *name;
    uint64_t object, segments[4], offset, address;
} symbol_data;

typedef struct {
    uint64_t size;
    uint32_t kind;
    int operation;
    uint64_t internal, external;
#ifndef WITHOUT_ANCESTOR
    uint64_t ancestor;
#endif
    uint64_t start, end, thread;
} hip_record;

typedef struct {
    uint64_t size;
    uint32_t kind;
    int operation;
    uint64_t internal, external;
#ifndef WITHOUT_ANCESTOR
    uint64_t ancestor;
#endif
    uint64_t thread, start, end, agent, address, bytes;
} memory_record;

typedef struct {
    uint64_t size;
    uint32_t kind;
    int operation;
    uint64_t internal, external;
#ifndef WITHOUT_ANCESTOR
    uint64_t ancestor;
#endif
    uint64_t agent, queue, thread, start, end;
    uint32_t flags;
} scratch_record;

#ifndef WITHOUT_ANCESTOR
typedef struct {
    uint64_t size;
    uint32_t kind;
    int operation;
    uint64_t internal, external, ancestor, start, end, thread, args[11], returned[3];
} graph_record;
#endif

typedef struct {
    uint64_t size;
    uint32_t kind;
    int operation;
    uint64_t internal, external, thread, start, end, to_agent, from_agent, bytes, to_address, from_address;
} copy_record;

typedef struct {
    uint64_t size;
    uint32_t kind;
    int operation;
    uint64_t internal, external, thread, start, end;
    struct {
        uint64_t size, agent, queue, kernel, dispatch;
        uint32_t private_bytes, group_bytes, workgroup[3], grid[3];
        uint8_t reserved[56];
    } info;
} kernel_record;

typedef struct {
    uint64_t size, id;
    uint32_t sort, counts[7], more[14];
    uint16_t vendor, device;
    uint32_t location, domain, other[15];
    uint64_t memory, hive, gpu;
    uint32_t workgroup[3], grid[3];
    void *banks, *caches, *links;
    const char *name, *vendor_name, *product_name, *model_name;
    uint32_t node;
    int32_t logical, of_type;
    uint32_t visibility;
    uint8_t uuid[16];
} agent;

typedef struct {
    const char *name;
    uint32_t handle;
} client;

typedef struct {
    size_t size;
    int (*initialize)(void (*)(client), void *);
    void (*finalize)(void *);
    void *data;
} configured;

typedef configured *(*configure_fn)(uint32_t, const char *, uint32_t, client *);
typedef void (*received_fn)(id, id, header **, size_t, void *, uint64_t);
typedef void (*told_fn)(callback_record, uint64_t *, void *);
typedef int (*asked_fn)(uint64_t, id, int, int, uint64_t, uint64_t *, void *);
typedef void (*registered_fn)(int, uint64_t, uint64_t, void **, uint64_t, void *);

_Static_assert(sizeof(callback_record) == 64 && sizeof(kernel_record) == 184 && sizeof(copy_record) == 96, "as in 1.x");
_Static_assert(sizeof(agent) == 312 && sizeof(symbol_data) >= 32, "as in 1.x");

/* 0: not configured, -1: being configured, 1: configured. */
static int status_now, ended, contexts;
static int started[64];
static struct {
    uint64_t context;
    received_fn received;
    size_t bytes, used;
    header headers[RECORDS_MAX];
    size_t count;
    uint64_t dropped;
    int kinds[KINDS];
    int operations[OPERATIONS], operations_count;
} buffers[4];
static int buffer_count;
static struct {
    uint64_t context;
    told_fn told;
} symbols[4];
static int symbols_count;
static struct {
    uint64_t context;
    told_fn told;
} streams[4];
static int streams_count;
static asked_fn asked[64];
static registered_fn registered[4];
static int registered_count, runtimes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *name) {
    const char *who = getenv("FAKE_ROCPROFILER");
    return who && strcmp(who, name) == 0;
}

int rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch) {
    *major = is("0.6") ? 0 : is("2.0") ? 2 : 1;
    *minor = is("0.6") ? 6 : 0;
    *patch = 3;
    return OK;
}

int rocprofiler_get_timestamp(uint64_t *stamp) {
    struct timespec now;
    clock_gettime(is("wall") ? CLOCK_REALTIME : CLOCK_BOOTTIME, &now);
    *stamp = is("no-time") ? 0 : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (is("elsewhen") ? 5000000000u : 0);
    return OK;
}

int rocprofiler_query_available_agents(int version, int (*told)(int, const void **, size_t, void *), size_t bytes, void *data) {
    static agent agents[4];
    const void *all[4];
    size_t count = is("no-gpu") ? 1 : 4;
#ifdef WITHOUT_ANCESTOR
    enum { AGENT_BYTES = offsetof(agent, uuid) };
#else
    enum { AGENT_BYTES = sizeof(agent) };
#endif
    if (version != 1 || bytes > AGENT_BYTES)
        return INVALID;
    for (size_t i = 0; i < count; i++) {
        agents[i] = (agent){.size = is("short-agent") ? 280 : AGENT_BYTES, .id = 1000 + i, .sort = i ? 2 : 1, .node = (uint32_t)i,
                            .logical = (int)i, .of_type = (int)(i ? i - 1 : 0), .location = (uint32_t)(0xc0 + i) << 8,
                            .product_name = i ? "AMD Instinct" : "a CPU"};
        uint64_t unique = i == 2 ? 0 : 0x89abcdef01234500u + i; /* some have none */
        memcpy(agents[i].uuid, &unique, sizeof unique);
        all[i] = &agents[i];
    }
    return told(1, all, count, data);
}

int rocprofiler_create_context(id *context) {
    if (status_now != -1)
        return LOCKED;
    if (context->handle)
        return INVALID;
    context->handle = (uint64_t)++contexts;
    return OK;
}

int rocprofiler_start_context(id context) {
    if (!context.handle || context.handle > (uint64_t)contexts)
        return NOT_FOUND;
    if (is("silent") && status_now == 1)
        return 11;
    started[context.handle] = 1;
    return OK;
}

int rocprofiler_stop_context(id context) {
    started[context.handle] = 0;
    return OK;
}

int rocprofiler_create_buffer(id context, size_t bytes, size_t watermark, int policy, received_fn r, void *data, id *buffer) {
    (void)data;
    if (status_now != -1)
        return LOCKED;
    if (policy != 2 || watermark >= bytes)
        return INVALID;
    buffers[buffer_count].context = context.handle;
    buffers[buffer_count].received = r;
    buffers[buffer_count].bytes = bytes;
    buffer->handle = (uint64_t)++buffer_count;
    return OK;
}

int rocprofiler_configure_buffer_tracing_service(id context, int kind, const int *operations, size_t count, id buffer) {
    if (status_now != -1)
        return LOCKED;
    if (is("no-memory") && (kind == MEMORY || kind == SCRATCH))
        return 4;
    if (kind == GRAPH && (count != 1 || operations[0] != 5)) /* launches of graphs and no other calls */
        return INVALID;
    if ((is("refuses") && kind == KERNEL) || (is("poor") && kind != KERNEL))
        return NOT_IMPLEMENTED;
    if (buffers[buffer.handle - 1].context != context.handle)
        return INVALID;
    buffers[buffer.handle - 1].kinds[kind] = 1;
    for (size_t i = 0; kind == HIP && i < count; i++)
        buffers[buffer.handle - 1].operations[operations[i]] = 1;
    buffers[buffer.handle - 1].operations_count += (int)count;
    return OK;
}

int rocprofiler_configure_callback_tracing_service(id context, int kind, const int *operations, size_t count, told_fn t, void *data) {
    (void)data;
    if (status_now != -1)
        return LOCKED;
    if (kind == HIP_STREAM && !is("streams") && !is("renumbered"))
        return 4;
    if (kind == HIP_STREAM && count == 1 && operations[0] == 3) {
        streams[streams_count].context = context.handle;
        streams[streams_count++].told = t;
        return OK;
    }
    if (kind != CODE_OBJECT || count != 1 || operations[0] != 2)
        return INVALID;
    symbols[symbols_count].context = context.handle;
    symbols[symbols_count++].told = t;
    return OK;
}

int rocprofiler_query_buffer_tracing_kind_name(int kind, const char **name, uint64_t *length) {
    *name = is("no-memory") ? NULL : kind == SCRATCH ? "SCRATCH_MEMORY" : kind == MEMORY ? "MEMORY_ALLOCATION" : NULL;
    if (is("renumbered"))
        *name = kind == SCRATCH ? "PAGE_MIGRATION" : kind == MEMORY ? "OMPT" : NULL;
#ifndef WITHOUT_ANCESTOR
    if (kind == GRAPH && !is("renumbered"))
        *name = "HIP_RUNTIME_API_EXT";
#endif
    *length = *name ? strlen(*name) : 0;
    return *name ? OK : 4;
}

#ifndef WITHOUT_ANCESTOR
int rocprofiler_query_callback_tracing_kind_name(int kind, const char **name, uint64_t *length) {
    *name = kind == HIP_STREAM ? (is("renumbered") ? "ROCJPEG_API" : "HIP_STREAM") : NULL;
    *length = *name ? strlen(*name) : 0;
    return *name ? OK : 4;
}
#endif

int rocprofiler_configure_external_correlation_id_request_service(id context, const int *kinds, size_t count, asked_fn a, void *data) {
    (void)data;
    (void)kinds;
    if (status_now != -1)
        return LOCKED;
    if (is("poor") || count != 3)
        return NOT_IMPLEMENTED;
    asked[context.handle] = a;
    return OK;
}

#ifndef INCOMPLETE
static const char *const NAMES[] = {NULL, "hipGetDevice", "hipLaunchKernel", "hipMemcpyAsync", "hipStreamSynchronize", "hipGraphLaunch"};
enum { NAMES_COUNT = sizeof NAMES / sizeof NAMES[0] };

int rocprofiler_iterate_buffer_tracing_kind_operations(int kind, int (*told)(int, int, void *), void *data) {
    for (int i = 1; i < NAMES_COUNT && kind == HIP; i++)
        told(kind, i, data);
    return OK;
}

int rocprofiler_query_buffer_tracing_kind_operation_name(int kind, int operation, const char **name, uint64_t *length) {
    *name = kind == HIP && operation > 0 && operation < NAMES_COUNT ? NAMES[operation] : NULL;
    *length = *name ? strlen(*name) : 0;
    return *name ? OK : 5;
}
#endif

int rocprofiler_at_intercept_table_registration(registered_fn r, int tables, void *data) {
    (void)tables;
    (void)data;
    registered[registered_count++] = r;
    return OK;
}

static void configure(configure_fn tool) {
    client who = {NULL, 7};
    configured *answer = tool(10003, "a fake", 0, &who);
    if (!answer || answer->size != sizeof *answer || !who.name)
        return;
    answer->initialize(NULL, answer->data);
}

static void finalize(void) {
    ended = 1;
}

/* As a runtime does when it comes up: tools that ROCP_TOOL_LIBRARIES names are loaded, and nobody is asked any more. */
static void initialize(configure_fn forced) {
    status_now = -1;
    atexit(finalize);
    if (forced)
        configure(forced);
    char *tools = getenv("ROCP_TOOL_LIBRARIES"), *rest = NULL, *copy = tools ? strdup(tools) : NULL;
    for (char *file = copy ? strtok_r(copy, ":", &rest) : NULL; file; file = strtok_r(NULL, ":", &rest)) {
        void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
        configure_fn tool = NULL;
        if (library)
            *(void **)&tool = dlsym(library, "rocprofiler_configure");
        if (tool)
            configure(tool);
    }
    free(copy);
    status_now = 1;
}

int rocprofiler_force_configure(configure_fn tool) {
    if (is("locked") || status_now)
        return LOCKED;
    if (is("deaf"))
        return OK;
    initialize(tool);
    return OK;
}

/* Hands records over; afterwards there is nothing any more where they were. */
int rocprofiler_flush_buffer(id buffer) {
    if (ended)
        return FINALIZED;
    pthread_mutex_lock(&lock);
    size_t at = buffer.handle - 1, count = buffers[at].count;
    header **pointers = calloc(count + 1, sizeof *pointers);
    for (size_t i = 0; i < count; i++)
        pointers[i] = &buffers[at].headers[i];
    if (count)
        buffers[at].received((id){buffers[at].context}, buffer, pointers, count, NULL, buffers[at].dropped);
    for (size_t i = 0; i < count; i++) {
        free(buffers[at].headers[i].payload);
        memset(&buffers[at].headers[i], 0xdd, sizeof buffers[at].headers[i]);
    }
    buffers[at].count = buffers[at].used = 0;
    pthread_mutex_unlock(&lock);
    free(pointers);
    return OK;
}

static void put(size_t at, uint32_t category, uint32_t kind, const void *record, size_t bytes) {
    pthread_mutex_lock(&lock);
    void *copy = malloc(bytes); /* exactly, so that reading beyond it can be seen */
    memcpy(copy, record, bytes);
    buffers[at].headers[buffers[at].count++] = (header){category, kind, copy};
    buffers[at].used += bytes;
    int is_full = buffers[at].used >= buffers[at].bytes || buffers[at].count == RECORDS_MAX;
    pthread_mutex_unlock(&lock);
    if (is_full)
        rocprofiler_flush_buffer((id){at + 1});
}

#include "script.h"
