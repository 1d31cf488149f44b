/* The child of a fork leaves its parent's recording alone and may make its own; the parent's goes on. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankscope.h>

#include "check.h"

RANKSCOPE_SITE(site, "site");

static int stop_asking;

/* Somebody who uses the table of handles all the time, so that it is likely to be locked when the process forks. */
static void *ask(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&stop_asking, __ATOMIC_RELAXED)) {
        rankscope_stats stats = {0};
        stats.struct_size = (uint32_t)sizeof stats;
        CHECK(rankscope_get_stats(&stats) == RANKSCOPE_STATUS_OK);
    }
    return NULL;
}

static void child(uint64_t parents, rankscope_span begun) {
    CHECK(!rankscope_is_on(RANKSCOPE_CATEGORY_USER_ANNOTATION));
    rankscope_end(begun);
    CHECK(rankscope_begin_at(&site).epoch == 0);
    CHECK(rankscope_session_stop(parents) == RANKSCOPE_STATUS_OTHER_PROCESS);
    CHECK(strstr(rankscope_last_error(), "forked") != NULL);
    CHECK(rankscope_session_close(parents) == RANKSCOPE_STATUS_OK);
    uint64_t own = 0;
    CHECK(rankscope_session_start(NULL, &own) == RANKSCOPE_STATUS_OK);
    rankscope_end(rankscope_begin(&site));
    CHECK(rankscope_session_stop(own) == RANKSCOPE_STATUS_OK);
    rankscope_session_report report = {0};
    report.struct_size = (uint32_t)sizeof report;
    CHECK(rankscope_session_get_report(own, &report) == RANKSCOPE_STATUS_OK);
    CHECK(report.spans == 1);
    CHECK(rankscope_shutdown() == RANKSCOPE_STATUS_OK);
    _exit(0);
}

int main(void) {
    uint64_t session = 0;
    CHECK(rankscope_session_start(NULL, &session) == RANKSCOPE_STATUS_OK);
    pthread_t asking;
    CHECK(pthread_create(&asking, NULL, ask, NULL) == 0);
    enum { FORKS = 20 };
    for (int at = 0; at < FORKS; at++) {
        const rankscope_span begun = rankscope_begin(&site);
        const pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            child(session, begun);
        }
        int how = 0;
        CHECK(waitpid(pid, &how, 0) == pid);
        CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
        rankscope_end(begun);
    }
    __atomic_store_n(&stop_asking, 1, __ATOMIC_RELAXED);
    CHECK(pthread_join(asking, NULL) == 0);
    CHECK(rankscope_session_stop(session) == RANKSCOPE_STATUS_OK);
    rankscope_session_report report = {0};
    report.struct_size = (uint32_t)sizeof report;
    CHECK(rankscope_session_get_report(session, &report) == RANKSCOPE_STATUS_OK);
    CHECK(report.spans == FORKS && report.misuse == 0);
    puts("every fork went well");
    return 0;
}
