/*
 * A plugin for a device: what its profiler would tell, made up. Loaded by path, into any program that records itself:
 *
 *     cc -std=c99 -shared -fPIC plugin.c $(pkg-config --cflags rankscope) -o plugin.so
 *     RANKSCOPE_PLUGINS=./plugin.so ./launches out.rkr
 *
 * A launch of the "device" asks the recorder which span it belongs to and ties its number to that; when the session ends, calls
 * and kernels are handed over in whatever order. Nothing of the recorder is linked: it hands over what may be called.
 */
#include <stdlib.h>
#include <string.h>

#include <rankscope.h>

enum { LAUNCHES_MAX = 1024 };

/* What the made-up device knows of one launch. */
struct launch {
    uint64_t span;
    uint64_t thread;
    int64_t called_ns;
};

struct session {
    const rankscope_plugin_host *host;
    struct launch launches[LAUNCHES_MAX];
    uint32_t count;
    int is_on;
};

static struct session *running;

enum { REALTIME = 3 };

/* The device's own function, which a program calls: it finds it with dlsym. */
void fake_device_launch(uint64_t thread);
void fake_device_launch(uint64_t thread) {
    if (running == NULL || !running->is_on || running->count == LAUNCHES_MAX) {
        return;
    }
    struct launch *launch = &running->launches[running->count++];
    launch->span = running->host->current_correlation();
    launch->thread = thread;
    launch->called_ns = running->host->clock_ns(REALTIME);
}

static int32_t create(void *context, const rankscope_plugin_host *host, const rankscope_plugin_session_about *about, void **session) {
    (void)context;
    (void)about;
    if (running != NULL) {
        return 1;
    }
    running = calloc(1, sizeof *running);
    if (running == NULL) {
        return 2;
    }
    running->host = host;
    *session = running;
    return 0;
}

static size_t describe_error(void *session, char *text, size_t bytes) {
    static const char WORDS[] = "the device records one session at a time";
    const size_t length = sizeof WORDS - 1 < bytes ? sizeof WORDS - 1 : bytes;
    (void)session;
    memcpy(text, WORDS, length);
    return length;
}

static int32_t start(void *session) {
    ((struct session *)session)->is_on = 1;
    return 0;
}

static int32_t stop(void *session) {
    ((struct session *)session)->is_on = 0;
    return 0;
}

static int32_t hand_over(const rankscope_emit *emit, const struct launch *launch, uint64_t number) {
    static const char CALL[] = "fakeLaunchKernel";
    static const char KERNEL[] = "fake_gemm_128x128";
    rankscope_activity call = {0};
    call.struct_size = (uint32_t)sizeof call;
    call.category = RANKSCOPE_CATEGORY_PRIVATEUSE1_RUNTIME;
    call.name = CALL;
    call.name_bytes = sizeof CALL - 1;
    call.start_ns = launch->called_ns;
    call.end_ns = launch->called_ns + 500;
    call.stream = launch->thread;
    call.correlation = number;
    rankscope_activity kernel = {0};
    kernel.struct_size = (uint32_t)sizeof kernel;
    kernel.category = RANKSCOPE_CATEGORY_KERNEL;
    kernel.name = KERNEL;
    kernel.name_bytes = sizeof KERNEL - 1;
    kernel.start_ns = launch->called_ns + 800;
    kernel.end_ns = launch->called_ns + 2800;
    kernel.stream = 7;
    kernel.correlation = number;
    rankscope_tie tie = {0};
    tie.struct_size = (uint32_t)sizeof tie;
    tie.kind = RANKSCOPE_TIE_KIND_USER_ANNOTATION;
    tie.external_id = launch->span;
    tie.correlation = number;
    int32_t failed = emit->activity(emit->sink, &kernel) | emit->activity(emit->sink, &call) | emit->tie(emit->sink, &tie);
    tie.kind = RANKSCOPE_TIE_KIND_SPAN;
    return failed | emit->tie(emit->sink, &tie);
}

static int32_t collect(void *session, const rankscope_emit *emit) {
    static const char DEVICE[] = "Fake 9000";
    static const char STREAM[] = "compute";
    static const char KEY[] = "driver";
    static const char VERSION[] = "\"1.2.3\"";
    static const char WARNING[] = "clock of the device is made up";
    const struct session *from = session;
    rankscope_device_info device = {0};
    device.struct_size = (uint32_t)sizeof device;
    device.name = DEVICE;
    device.name_bytes = sizeof DEVICE - 1;
    rankscope_resource_info stream = {0};
    stream.struct_size = (uint32_t)sizeof stream;
    stream.id = 7;
    stream.name = STREAM;
    stream.name_bytes = sizeof STREAM - 1;
    int32_t failed = emit->device(emit->sink, &device) | emit->resource(emit->sink, &stream);
    failed |= emit->metadata(emit->sink, KEY, sizeof KEY - 1, VERSION, sizeof VERSION - 1);
    failed |= emit->problem(emit->sink, RANKSCOPE_PROBLEM_SEVERITY_WARNING, WARNING, sizeof WARNING - 1);
    for (uint32_t at = 0; at < from->count; at++) {
        failed |= hand_over(emit, &from->launches[at], at + 1);
    }
    return failed;
}

static void destroy(void *session) {
    running = NULL;
    free(session);
}

static const char NAME[] = "fake device";

static const rankscope_plugin PLUGIN = {
    (uint32_t)sizeof(rankscope_plugin),
    RANKSCOPE_PLUGIN_ABI_VERSION,
    NAME,
    sizeof NAME - 1,
    REALTIME,
    0,
    NULL,
    NULL,
    create,
    start,
    stop,
    collect,
    describe_error,
    destroy,
};

const rankscope_plugin *rankscope_plugin_entry(uint32_t abi_version);
const rankscope_plugin *rankscope_plugin_entry(uint32_t abi_version) {
    return abi_version == RANKSCOPE_PLUGIN_ABI_VERSION ? &PLUGIN : NULL;
}
