/* A library that stands for CUPTI's. FAKE_CUPTI says which: "12.9", "13.1", "13.2" and "13.3" are versions as they are without a
 * device, "old" is one that nobody reads, "taken" one that another profiler has, "incompatible" one that is in another mode, "early" one
 * that is not up until fake_up() is called, "elsewhen" one with a clock of its own, "26" one that cannot be refused a buffer, "no-memory" one
 * without records of memory. What
 * begins with "fields" has the second version of the interface (second.h). Anything else works, and does what fake_play() is told, line by line. FAKE_CUPTI_SAYS is a file to which each call that must not be made is written. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "records.h"

enum { OK = 0, INVALID_PARAMETER = 1, NO_MORE = 12, NOT_COMPATIBLE = 14, NOT_INITIALIZED = 15, INVALID_KIND = 21, TAKEN = 39, UNKNOWN = 999 };
enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, KERNEL = 10, OVERHEAD = 17, PEER = 22, SYNC = 38, EXTERNAL = 39, MEMORY = 49 };
enum { KINDS = 64, CALLS = 512, BUFFERS = 4096, RECORDS_MAX = 4096 };

typedef void (*requested_fn)(uint8_t **, size_t *, size_t *);
typedef void (*completed_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*told_fn)(void *, int, uint32_t, const call_data *);

/* A buffer in use: where its records begin. */
typedef struct {
    uint8_t *memory;
    size_t size, used;
    size_t at[RECORDS_MAX];
    int records;
} buffer;

static requested_fn requested;
static completed_fn completed;
static told_fn told;
static int subscribed, is_up, recorded[KINDS], chosen[3][CALLS], left_out[3][CALLS], told_of[3][CALLS], thread_ids, hold_ties, keep;
static size_t dropped;
static buffer *kept[BUFFERS];
static int kept_count;
static external_record held[BUFFERS];
static int held_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The buffer that a thread fills; a flush takes it from any thread. */
typedef struct {
    pthread_mutex_t lock;
    buffer *current;
} slot;

static slot *slots[64];
static int slot_count;
static __thread slot *own;
static __thread struct {
    uint64_t ids[64];
    int depth;
} pushed[8];

static const char *who(void) {
    const char *name = getenv("FAKE_CUPTI");
    return name ? name : "works";
}

static int is(const char *name) { return strcmp(who(), name) == 0; }

static void say(const char *call) {
    const char *path = getenv("FAKE_CUPTI_SAYS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", call);
        fclose(file);
    }
}

static void now(uint64_t *);
static int next_record(uint8_t *, size_t, uint8_t **), push(int, uint64_t), pop(int, uint64_t *);
static void take_dropped(size_t *);
int cuptiSubscribe(void **, told_fn, void *);

/* 26 is older than the second version. */
#ifndef OLD
#include "second.h"
#else
enum { second_subscribed, fields_chosen };
static int has_second(void) { return 0; }
static int is_13_3(void) { return 0; }
static int is_refused(const char *call) { return !call; }
static int is_laid(const void *record) { return !record; }
#endif

/* How a version without a device answers: 13.2 does not, and whichever call it is. */
static int answer(int of_12_9, int of_13_1) {
    if (is("13.2"))
        raise(SIGSEGV);
    if (is("13.3"))
        return UNKNOWN;
    if (is("12.9"))
        return of_12_9;
    if (is("13.1"))
        return of_13_1;
    return OK;
}

int cuptiGetVersion(uint32_t *version) {
    say("cuptiGetVersion");
    int status = answer(OK, OK);
    *version = is("13.1") ? 130101 : is("old") ? 18 : is("26") ? 26 : is_13_3() ? 130301 : is("fields 13.2") ? 130200 : is("taken") || has_second() ? 130500 : 28;
    return status;
}

static void now(uint64_t *stamp) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *stamp = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (is("elsewhen") ? 5000000000u : 0);
}

int cuptiGetTimestamp(uint64_t *stamp) {
    if (is_refused("cuptiGetTimestamp"))
        return NOT_COMPATIBLE;
    now(stamp);
    return answer(OK, OK);
}

int cuptiGetResultString(int result, const char **text) {
    (void)result;
    *text = NULL;
    return UNKNOWN;
}

int cuptiFinalize(void) {
    say("cuptiFinalize");
    return OK;
}

int cuptiActivityRegisterCallbacks(requested_fn r, completed_fn c) {
    if (is_refused("cuptiActivityRegisterCallbacks"))
        return NOT_COMPATIBLE;
    requested = r;
    completed = c;
#ifndef OLD
    completed_2 = NULL;
#endif
    return answer(OK, OK);
}

static int may_enable(void) {
    if (is("incompatible") || is_refused("cuptiActivityEnable"))
        return NOT_COMPATIBLE;
    if (is("early") && !is_up)
        return NOT_INITIALIZED;
    return answer(NOT_INITIALIZED, UNKNOWN);
}

int cuptiActivityEnable(uint32_t kind) {
    int status = may_enable();
    if (status == OK && kind == MEMORY && is("no-memory"))
        return INVALID_KIND;
    if (status == OK && kind < KINDS)
        recorded[kind] = 1;
    return status;
}

int cuptiActivityDisable(uint32_t kind) {
    if (is_refused("cuptiActivityDisable"))
        return NOT_COMPATIBLE;
    if (kind < KINDS)
        recorded[kind] = 0;
    return OK;
}

/* 26 is older than these. */
#ifndef OLD
static int choose(int domain, uint32_t cbid, uint8_t on) {
    int status = may_enable();
    if (status == OK && cbid < CALLS)
        chosen[domain][cbid] = on;
    return status;
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t on) { return choose(2, cbid, on); }
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on) { return choose(1, cbid, on); }
#endif

int cuptiSetThreadIdType(int type) {
    if (is_refused("cuptiSetThreadIdType"))
        return NOT_COMPATIBLE;
    thread_ids = type;
    return OK;
}

static void take_dropped(size_t *count) {
    pthread_mutex_lock(&lock);
    *count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count) {
    (void)context;
    (void)stream;
    if (is_refused("cuptiActivityGetNumDroppedRecords"))
        return NOT_COMPATIBLE;
    take_dropped(count);
    return OK;
}

static int push(int kind, uint64_t id) {
    if (kind < 0 || kind >= 8 || pushed[kind].depth == 64)
        return INVALID_PARAMETER;
    pushed[kind].ids[pushed[kind].depth++] = id;
    return answer(NOT_INITIALIZED, UNKNOWN);
}

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id) {
    return is_refused("cuptiActivityPushExternalCorrelationId") ? NOT_COMPATIBLE : push(kind, id);
}

static int pop(int kind, uint64_t *last) {
    if (kind < 0 || kind >= 8 || pushed[kind].depth == 0)
        return INVALID_PARAMETER;
    *last = pushed[kind].ids[--pushed[kind].depth];
    return OK;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last) {
    return is_refused("cuptiActivityPopExternalCorrelationId") ? NOT_COMPATIBLE : pop(kind, last);
}

static const struct {
    int domain;
    uint32_t cbid;
    const char *name;
} NAMES[] = {
    {2, 3, "cudaGetDevice_v3020"},      {2, 41, "cudaMemcpyAsync_v3020"},         {2, 51, "cudaMemsetAsync_v3020"},
    {2, 60, "cudaLaunchKernel_v7000"},  {2, 61, "cudaStreamSynchronize_v3020"},   {2, 62, "cudaGraphLaunch_v10000"},
    {1, 7, "cuLaunchKernel"},           {1, 8, "cuCtxGetCurrent"},
    {2, 20, "cudaMalloc"}, {2, 22, "cudaFree"},
};
enum { NAMES_COUNT = sizeof NAMES / sizeof NAMES[0] };

int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name) {
    for (int i = 0; i < NAMES_COUNT; i++)
        if (NAMES[i].domain == domain && NAMES[i].cbid == cbid) {
            *name = NAMES[i].name;
            return OK;
        }
    *name = NULL;
    return INVALID_PARAMETER;
}

int cuptiSubscribe(void **subscriber, told_fn t, void *context) {
    (void)context;
    if (is("taken") || is("fields alone") || is("fields beside") || subscribed || second_subscribed)
        return TAKEN;
    int status = answer(NOT_INITIALIZED, OK);
    if (status == OK) {
        subscribed = 1;
        told = t;
        *subscriber = &subscribed;
        return OK;
    }
    return status;
}

int cuptiUnsubscribe(void *subscriber) {
#ifndef OLD
    if (subscriber == &second)
        second_subscribed = fields_chosen = 0;
#endif
    if (subscriber == &subscribed)
        subscribed = 0;
    memset(told_of, 0, sizeof told_of);
    return OK;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t cbid) {
    (void)subscriber;
    if (cbid < CALLS)
        told_of[domain][cbid] = (int)on;
    return OK;
}

/* Buffers. */

static buffer *known(const uint8_t *memory, buffer *add) {
    static buffer *all[BUFFERS];
    static int count;
    buffer *found = add;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        if (all[i]->memory == memory) {
            if (add)
                all[i] = add; /* the memory is used again */
            else
                found = all[i];
            add = NULL;
        }
    if (add)
        all[count++] = add;
    pthread_mutex_unlock(&lock);
    return found;
}

static buffer *fresh(void) {
    buffer *b = calloc(1, sizeof *b);
    size_t records_max = 77;
#ifndef OLD
    size_t info = sizeof info;
    if (fields_chosen)
        requested_2(&b->memory, &b->size, &records_max, &info);
    else
#endif
        requested(&b->memory, &b->size, &records_max);
    if (records_max != 0)
        say("a bound on records");
    if (!b->memory) {
        if (b->size)
            say("a refusal with a size");
        free(b);
        return NULL;
    }
    if ((uintptr_t)b->memory % 8)
        say("a buffer that is not aligned");
    known(b->memory, b);
    return b;
}

static void complete(uint8_t *memory, size_t size, size_t used) {
#ifndef OLD
    if (completed_2) {
        completed_by_second(memory, size, used);
        return;
    }
#endif
    completed(NULL, 0, memory, size, used);
}

static void finish(buffer *b) {
    if (b)
        complete(b->memory, b->size, b->used);
}

static slot *own_slot(void) {
    if (!own) {
        own = calloc(1, sizeof *own);
        pthread_mutex_init(&own->lock, NULL);
        pthread_mutex_lock(&lock);
        slots[slot_count++] = own;
        pthread_mutex_unlock(&lock);
    }
    return own;
}

/* With the slot locked. */
static void swap_slot(slot *of) {
    if (keep && of->current)
        kept[kept_count++] = of->current;
    else
        finish(of->current);
    of->current = NULL;
}

static void swap(void) {
    slot *of = own_slot();
    pthread_mutex_lock(&of->lock);
    swap_slot(of);
    pthread_mutex_unlock(&of->lock);
}

/* With the slot locked: whether there was room. */
static int put_into(slot *of, const void *record, size_t size) {
    if (of->current && (of->current->used + size > of->current->size || of->current->records == RECORDS_MAX))
        swap_slot(of);
    if (!of->current)
        of->current = fresh();
    buffer *to = of->current;
    if (!to || to->used + size > to->size)
        return 0;
    memcpy(to->memory + to->used, record, size);
    to->at[to->records++] = to->used;
    to->used += size;
    return 1;
}

static void put(const void *record, size_t size) {
    if (!requested && !fields_chosen)
        return;
    uint8_t fields[512];
    if (is_laid(record)) {
#ifndef OLD
        size = chosen_record(record, fields);
#endif
        record = fields;
    }
    slot *of = own_slot();
    pthread_mutex_lock(&of->lock);
    int had_room = put_into(of, record, (size + 7) / 8 * 8);
    pthread_mutex_unlock(&of->lock);
    if (!had_room) {
        pthread_mutex_lock(&lock);
        dropped++;
        pthread_mutex_unlock(&lock);
    }
}

static int next_record(uint8_t *memory, size_t valid, uint8_t **record) {
    buffer *b = known(memory, NULL);
    if (!b || b->used != valid)
        return INVALID_PARAMETER;
    for (int i = 0; i < b->records; i++)
        if (!*record || memory + b->at[i] > *record) {
            *record = memory + b->at[i];
            uint32_t kind;
            memcpy(&kind, *record, sizeof kind);
            return kind == 0xdead ? 21 : OK; /* INVALID_KIND */
        }
    return NO_MORE;
}

int cuptiActivityGetNextRecord(uint8_t *memory, size_t valid, uint8_t **record) {
    return is_refused("cuptiActivityGetNextRecord") ? NOT_COMPATIBLE : next_record(memory, valid, record);
}

int cuptiActivityFlushAll(uint32_t flag) {
    if (flag)
        say("a forced flush");
    pthread_mutex_lock(&lock);
    int count = slot_count;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&slots[i]->lock);
        swap_slot(slots[i]);
        pthread_mutex_unlock(&slots[i]->lock);
    }
    return answer(NOT_INITIALIZED, UNKNOWN);
}

#include "script.h"
