/*
 * A program records itself: spans with arguments, a counter, an arrow between two threads, memory, and what it leaves.
 *
 *     cc -std=c99 record.c $(pkg-config --cflags --libs rankscope) -lpthread -o record
 *     ./record out            leaves out/record.rkr, out/record.json.gz and out/record.pftrace (open it on ui.perfetto.dev)
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <rankscope.h>

RANKSCOPE_SITE(forward, "forward");
RANKSCOPE_SITE(load, "load batch");
RANKSCOPE_SITE(ready, "batch is ready");
RANKSCOPE_SITE(loss, "loss");
RANKSCOPE_KEY(batch, "batch");
RANKSCOPE_KEY(shape, "shape");
RANKSCOPE_KEY(source, "source");

static void need(rankscope_status status, const char *what) {
    if (status != RANKSCOPE_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, rankscope_last_error());
        exit(1);
    }
}

/* A thread that loads a batch, from which an arrow goes to the step that uses it. */
static void *loader(void *unused) {
    (void)unused;
    (void)rankscope_set_thread_name("loader", RANKSCOPE_NUL_TERMINATED);
    const rankscope_arg from = rankscope_text(&source, "shard-0");
    const rankscope_span span = rankscope_begin_with(&load, &from, 1);
    void *block = malloc(4096);
    rankscope_alloc(block, 4096);
    rankscope_flow_begin(&ready, 1);
    rankscope_free(block, 4096);
    free(block);
    rankscope_end(span);
    return NULL;
}

static void step(int64_t number) {
    static const int64_t dims[] = {32, 128, 768};
    const rankscope_span whole = rankscope_begin_step(number);
    const rankscope_arg args[] = {rankscope_i64(&batch, number), rankscope_i64_list(&shape, dims, 3)};
    const rankscope_span span = rankscope_begin_with(&forward, args, 2);
    if (number == 0) {
        rankscope_flow_end(&ready, 1);
    }
    rankscope_end(span);
    rankscope_counter_f64(&loss, 1.0 / (double)(number + 1));
    rankscope_end(whole);
}

static void save(uint64_t session, const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    need(rankscope_export(session, NULL, path), path);
    printf("wrote %s\n", path);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: %s FOLDER\n", argv[0]);
        return 0;
    }
    uint64_t session = 0;
    const rankscope_session_options options = RANKSCOPE_SESSION_OPTIONS_INIT;
    need(rankscope_session_start(&options, &session), "start");
    need(rankscope_set_metadata("model", RANKSCOPE_NUL_TERMINATED, "\"tiny\"", RANKSCOPE_NUL_TERMINATED), "metadata");

    pthread_t thread;
    if (pthread_create(&thread, NULL, loader, NULL) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    for (int64_t number = 0; number < 3; number++) {
        step(number);
    }

    need(rankscope_session_stop(session), "stop");
    rankscope_session_report report = {0};
    report.struct_size = (uint32_t)sizeof report;
    need(rankscope_session_get_report(session, &report), "report");
    printf("%" PRIu64 " events of %" PRIu32 " threads, %" PRIu64 " dropped\n", report.events, report.threads, report.dropped);
    save(session, argv[1], "record.rkr");
    save(session, argv[1], "record.json.gz");
    save(session, argv[1], "record.pftrace");
    need(rankscope_session_close(session), "close");
    return 0;
}
