/* Whatever C can get wrong without breaking its own memory: refused with a code, or ignored and counted. */
#include <pthread.h>
#include <string.h>

#include <rankscope.h>

#include "check.h"

RANKSCOPE_SITE(site, "site");
RANKSCOPE_KEY(key, "key");

static uint64_t refused(void) {
    rankscope_stats stats = {0};
    stats.struct_size = (uint32_t)sizeof stats;
    CHECK(rankscope_get_stats(&stats) == RANKSCOPE_STATUS_OK);
    return stats.calls_refused;
}

/* Everything that takes pointers, with none. */
static void null_pointers(void) {
    const rankscope_status invalid = RANKSCOPE_STATUS_INVALID_ARGUMENT;
    const uint64_t before = refused();
    CHECK(rankscope_begin(NULL).epoch == 0);
    CHECK(rankscope_begin_at(NULL).epoch == 0);
    CHECK(rankscope_begin_at_with(NULL, NULL, 0).epoch == 0);
    CHECK(rankscope_begin_at_with(&site, NULL, 3).epoch == 0);
    CHECK(rankscope_begin_named(0, NULL, 0).epoch == 0);
    rankscope_instant(NULL, NULL, 0);
    rankscope_instant_at(NULL, NULL, 0);
    rankscope_counter_i64_at(NULL, 1);
    rankscope_counter_f64_at(NULL, 1.0);
    rankscope_flow_at(NULL, 1, 0);
    rankscope_memory_event(NULL);
    rankscope_phase_begin(0);
    rankscope_phase_begin(5);
    rankscope_phase_end(RANKSCOPE_PHASE_CHECKPOINT);
    CHECK(rankscope_intern(NULL, 0, 0, 0) == 0);
    CHECK(rankscope_site_prepare(NULL) == 0);
    CHECK(refused() >= before + 13);
    CHECK(rankscope_set_thread_name(NULL, 0) == invalid);
    CHECK(rankscope_set_process_name(NULL, RANKSCOPE_NUL_TERMINATED) == invalid);
    CHECK(rankscope_set_metadata(NULL, 0, NULL, 0) == invalid);
    CHECK(rankscope_session_start(NULL, NULL) == invalid);
    CHECK(rankscope_session_snapshot(1, NULL) == invalid);
    CHECK(rankscope_join_run(NULL) == invalid);
    CHECK(rankscope_export(1, NULL, NULL) == invalid);
    CHECK(rankscope_get_stats(NULL) == invalid);
    CHECK(rankscope_plugin_register(NULL) == invalid);
    CHECK(strlen(rankscope_last_error()) > 0);
    rankscope_text_free(NULL);
}

/* Sites that are none. */
static void sites(void) {
    static rankscope_site small = {8, 0, "small", 5, 0, 0};
    static rankscope_site nameless = {(uint32_t)sizeof(rankscope_site), 0, NULL, 0, 0, 0};
    static rankscope_site endless = {(uint32_t)sizeof(rankscope_site), 0, "endless", (size_t)-3, 0, 0};
    static rankscope_site strange = {(uint32_t)sizeof(rankscope_site), 0, "strange", 7, 77, 0};
    static rankscope_site layered = {(uint32_t)sizeof(rankscope_site), 0, "layered", 7, 0, 1000};
    static rankscope_site mended = {(uint32_t)sizeof(rankscope_site), 0, "not \xff\xfe UTF-8", 12, 0, 0};
    rankscope_site *const none[] = {&small, &nameless, &endless, &strange, &layered};
    for (size_t at = 0; at < sizeof none / sizeof *none; at++) {
        CHECK(rankscope_begin(none[at]).epoch == 0);
        CHECK(rankscope_begin_at(none[at]).epoch == 0);
        CHECK(rankscope_site_prepare(none[at]) == 0);
    }
    rankscope_end(rankscope_begin(&mended));
    CHECK(mended.id != 0);
    CHECK(rankscope_intern("name", (size_t)1 << 40, 0, 0) == 0);
    CHECK(rankscope_intern("name", 4, 29, 0) == 0);
    CHECK(rankscope_begin_named(UINT32_MAX, NULL, 0).epoch == 0);
}

/* Arguments that are none are left out; the event is recorded. */
static void arguments(void) {
    const int64_t list[] = {1, 2};
    rankscope_arg args[9] = {
        rankscope_text(&key, NULL),
        rankscope_text(&key, "\xc3\x28 is not UTF-8"),
        rankscope_i64(NULL, 1),
        rankscope_arg_of(&key, 99, 0),
        rankscope_bytes(&key, NULL, 5),
        rankscope_bytes(&key, "bytes", (size_t)-1000),
        rankscope_i64_list(&key, NULL, 1),
        rankscope_i64_list(&key, list, SIZE_MAX / 2),
        rankscope_json(&key, "{not json"),
    };
    rankscope_arg many[100];
    for (size_t at = 0; at < 100; at++) {
        many[at] = rankscope_i64(&key, (int64_t)at);
    }
    const uint64_t before = refused();
    rankscope_span span = rankscope_begin_with(&site, args, 9);
    CHECK(span.epoch != 0);
    rankscope_end_with(span, many, 100);
    CHECK(refused() >= before + 6);
    span = rankscope_begin(&site);
    rankscope_end_with(span, many, SIZE_MAX);
    rankscope_end_with(rankscope_begin(&site), NULL, 2);
    rankscope_instant(&site, many, (size_t)1 << 60);
    rankscope_flow_at(&site, 1, 9);
}

static void *end_elsewhere(void *span) {
    rankscope_end(*(const rankscope_span *)span);
    return NULL;
}

/* Ends without a begin, twice, elsewhere, of another recording. */
static void ends(void) {
    rankscope_span forged = rankscope_no_span();
    rankscope_end(forged);
    rankscope_span span = rankscope_begin(&site);
    forged.epoch = span.epoch;
    forged.id = 0xdeadbeef;
    rankscope_end(forged);
    forged.epoch = 12345;
    rankscope_end_span(forged);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end_elsewhere, &span) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    rankscope_end(span);
    rankscope_end(span);
    rankscope_correlation_pop();
    for (int at = 0; at < 100; at++) {
        rankscope_correlation_push((uint64_t)at);
    }
    for (int at = 0; at < 100; at++) {
        rankscope_correlation_pop();
    }
}

/* Structures of a version that never was, of an earlier and of a later one. */
static void sizes(uint64_t session) {
    struct {
        rankscope_stats known;
        unsigned char later[64];
    } stats;
    memset(&stats, 0x55, sizeof stats);
    stats.known.struct_size = 3;
    CHECK(rankscope_get_stats(&stats.known) == RANKSCOPE_STATUS_UNKNOWN_STRUCT_SIZE);
    stats.known.struct_size = UINT32_MAX;
    CHECK(rankscope_get_stats(&stats.known) == RANKSCOPE_STATUS_UNKNOWN_STRUCT_SIZE);
    stats.known.struct_size = (uint32_t)sizeof stats;
    CHECK(rankscope_get_stats(&stats.known) == RANKSCOPE_STATUS_OK);
    CHECK(stats.known.struct_size == sizeof stats.known && stats.later[0] == 0 && stats.later[63] == 0);
    CHECK(stats.known.sessions_running == 1 && stats.known.panics_contained == 0);

    struct {
        rankscope_session_options known;
        unsigned char later[64];
    } options;
    memset(&options, 0, sizeof options);
    uint64_t other = 7;
    CHECK(rankscope_session_start(&options.known, &other) == RANKSCOPE_STATUS_UNKNOWN_STRUCT_SIZE);
    options.known.struct_size = (uint32_t)sizeof options;
    memset(options.later, 0xff, sizeof options.later);
    CHECK(rankscope_session_start(&options.known, &other) == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_session_close(other) == RANKSCOPE_STATUS_OK);

    rankscope_memory memory;
    memset(&memory, 0xff, sizeof memory);
    memory.struct_size = 4;
    rankscope_memory_event(&memory);
    memory.struct_size = (uint32_t)sizeof memory;
    rankscope_memory_event(&memory);
    (void)session;
}

/* Handles that are closed, stopped, running or made up. */
static void handles(uint64_t session) {
    rankscope_session_report report;
    memset(&report, 0, sizeof report);
    report.struct_size = (uint32_t)sizeof report;
    char *json = NULL;
    uint64_t snapshot = 0;
    const uint64_t unknown[] = {0, 999, UINT64_MAX};
    for (size_t at = 0; at < 3; at++) {
        CHECK(rankscope_session_stop(unknown[at]) == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
        CHECK(rankscope_session_close(unknown[at]) == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
        CHECK(rankscope_session_snapshot(unknown[at], &snapshot) == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
        CHECK(rankscope_export(unknown[at], "rkr", "/dev/null") == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
        CHECK(rankscope_session_get_report(unknown[at], &report) == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
        CHECK(rankscope_session_set_categories(unknown[at], 1) == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
    }
    CHECK(rankscope_session_get_report(session, &report) == RANKSCOPE_STATUS_STILL_RUNNING);
    CHECK(rankscope_session_report_json(session, &json) == RANKSCOPE_STATUS_STILL_RUNNING);
    CHECK(rankscope_session_snapshot(session, &snapshot) == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_session_stop(snapshot) == RANKSCOPE_STATUS_ALREADY_STOPPED);
    CHECK(rankscope_session_close(snapshot) == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_session_close(snapshot) == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
    CHECK(rankscope_export(session, "docx", "/tmp/none.docx") == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    CHECK(rankscope_export(session, NULL, "/tmp/none.docx") == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    CHECK(rankscope_export(session, "rkr", "/nowhere/at/all.rkr") == RANKSCOPE_STATUS_IO);

    CHECK(rankscope_session_stop(session) == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_session_stop(session) == RANKSCOPE_STATUS_ALREADY_STOPPED);
    CHECK(rankscope_session_get_report(session, &report) == RANKSCOPE_STATUS_OK);
    CHECK(report.events > 0 && report.dropped == 0);
    CHECK(report.misuse >= 3);
    CHECK(report.arguments_left_out == 68);
    CHECK(rankscope_session_report_json(session, NULL) == RANKSCOPE_STATUS_INVALID_ARGUMENT);
    CHECK(rankscope_session_report_json(session, &json) == RANKSCOPE_STATUS_OK);
    CHECK(strstr(json, "\"threads\"") != NULL);
    rankscope_text_free(json);
    CHECK(rankscope_session_close(session) == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_session_close(session) == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
}

/* Before the first session, and after the last: nothing is recorded. */
static void without_a_session(void) {
    CHECK(!rankscope_is_on(RANKSCOPE_CATEGORY_USER_ANNOTATION));
    CHECK(rankscope_begin(&site).epoch == 0);
    CHECK(rankscope_begin_at(&site).epoch == 0);
    CHECK(rankscope_begin_step(1).epoch == 0);
    rankscope_end(rankscope_begin(&site));
    rankscope_counter_i64(&site, 1);
    rankscope_alloc(&site, 8);
    CHECK(rankscope_set_thread_name("main", RANKSCOPE_NUL_TERMINATED) == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_set_metadata("key", 3, "1", 1) == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_correlation_current() == 0);
    CHECK(rankscope_abi_version() == RANKSCOPE_ABI_VERSION && strlen(rankscope_version()) > 0);
}

int main(void) {
    CHECK(*rankscope_last_error() == '\0');
    without_a_session();
    uint64_t session = 0;
    CHECK(rankscope_session_start(NULL, &session) == RANKSCOPE_STATUS_OK);
    const rankscope_span begun = rankscope_begin(&site);
    CHECK(begun.epoch != 0 && rankscope_correlation_current() == begun.id);
    null_pointers();
    sites();
    arguments();
    ends();
    sizes(session);
    handles(session);
    rankscope_end(begun);
    without_a_session();
    CHECK(rankscope_session_start(NULL, &session) == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_shutdown() == RANKSCOPE_STATUS_OK && rankscope_shutdown() == RANKSCOPE_STATUS_OK);
    CHECK(rankscope_session_stop(session) == RANKSCOPE_STATUS_UNKNOWN_HANDLE);
    without_a_session();
    puts("refused all of it");
    return 0;
}
