/*
 * Clocks of all nodes while a program records itself: runs `rankscope agent` beside the recording, from its start to its end.
 *
 *     RANKSCOPE_PLUGINS=$PREFIX/lib/rankscope/clock_sync.so RANKSCOPE_CLOCK_DIR=runs/a/clock ./program
 *
 * A job that `rankscope run` starts has agents already and needs none of this. Settings are those of the agent, in its environment
 * variables; besides,
 *
 *     RANKSCOPE_CLOCK_DIR   where the agent writes (needed: without it the plugin takes no part)
 *     RANKSCOPE_AGENT       the program to run; `rankscope` from the path otherwise
 *     LOCAL_RANK            only the first process of a node runs an agent: where this is set and not 0, the plugin takes no part
 *
 * It is the first user of the plugin interface, and links nothing. The agent is a process of its own, so that nothing it does can
 * harm the program; a program that dies takes it along. So does the end of the thread that started the session: start it in one
 * that lives as long.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rankscope.h"

enum { REASON_BYTES = 256, STOP_WAITS = 100, STOP_WAIT_NS = 50 * 1000 * 1000 };

struct session {
    pid_t agent;
    int status;
    int is_running;
    char reason[REASON_BYTES];
};

static int32_t is_enabled(void *context) {
    const char *folder = getenv("RANKSCOPE_CLOCK_DIR");
    const char *local = getenv("LOCAL_RANK");
    (void)context;
    return folder != NULL && *folder != '\0' && (local == NULL || strcmp(local, "0") == 0);
}

static int32_t create(void *context, const rankscope_plugin_host *host, const rankscope_plugin_session_about *about, void **session) {
    (void)context;
    (void)host;
    (void)about;
    *session = calloc(1, sizeof(struct session));
    return *session == NULL ? ENOMEM : 0;
}

static int32_t fail(struct session *session, const char *what, int error) {
    snprintf(session->reason, REASON_BYTES, "%s: %s", what, strerror(error));
    return error == 0 ? -1 : error;
}

/* What the child does: nothing but calls that are safe after a fork of a process with threads. */
static void become_agent(const char *program, char *const *arguments, pid_t parent, int failure) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent) {
        execvp(program, arguments);
    }
    const int error = errno;
    const ssize_t said = write(failure, &error, sizeof error);
    _exit(said == (ssize_t)sizeof error ? 127 : 126);
}

static int32_t start(void *opaque) {
    struct session *session = opaque;
    static char usual[] = "rankscope";
    static char verb[] = "agent";
    static char out[] = "--out";
    char *named = getenv("RANKSCOPE_AGENT");
    char *program = named == NULL || *named == '\0' ? usual : named;
    char *arguments[] = {program, verb, out, getenv("RANKSCOPE_CLOCK_DIR"), NULL};
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0) {
        return fail(session, "no pipe to the agent", errno);
    }
    const pid_t parent = getpid();
    session->agent = fork();
    if (session->agent == 0) {
        become_agent(program, arguments, parent, failure[1]);
    }
    const int fork_error = errno;
    close(failure[1]);
    int error = 0;
    const ssize_t said = session->agent < 0 ? 0 : read(failure[0], &error, sizeof error);
    close(failure[0]);
    if (session->agent < 0) {
        return fail(session, "no process for the agent", fork_error);
    }
    if (said > 0) {
        waitpid(session->agent, NULL, 0);
        return fail(session, program, error);
    }
    session->is_running = 1;
    return 0;
}

/* Whether the agent has ended; then its status is known. */
static int has_ended(struct session *session) {
    if (session->is_running && waitpid(session->agent, &session->status, WNOHANG) != 0) {
        session->is_running = 0;
    }
    return !session->is_running;
}

/* Asks the agent to end, which closes its window and writes it; one that does not within five seconds is killed. */
static int32_t stop(void *opaque) {
    struct session *session = opaque;
    if (has_ended(session)) {
        snprintf(session->reason, REASON_BYTES, "the agent ended before the recording, with status %d", session->status);
        return -1;
    }
    kill(session->agent, SIGTERM);
    const struct timespec wait = {0, STOP_WAIT_NS};
    for (int waited = 0; waited < STOP_WAITS && !has_ended(session); waited++) {
        nanosleep(&wait, NULL);
    }
    if (!has_ended(session)) {
        kill(session->agent, SIGKILL);
        waitpid(session->agent, &session->status, 0);
        session->is_running = 0;
        snprintf(session->reason, REASON_BYTES, "the agent did not end within five seconds and was killed");
        return -1;
    }
    return 0;
}

static int32_t collect(void *opaque, const rankscope_emit *emit) {
    static const char FOLDER[] = "folder";
    static const char STATUS[] = "status";
    const struct session *session = opaque;
    const char *folder = getenv("RANKSCOPE_CLOCK_DIR");
    char status[16];
    const int length = snprintf(status, sizeof status, "%d", session->status);
    const int32_t failed = emit->metadata(emit->sink, STATUS, sizeof STATUS - 1, status, (size_t)length);
    return failed | (folder == NULL ? 0 : emit->metadata(emit->sink, FOLDER, sizeof FOLDER - 1, folder, strlen(folder)));
}

static size_t describe_error(void *opaque, char *text, size_t bytes) {
    const struct session *session = opaque;
    const size_t length = session == NULL ? 0 : strlen(session->reason);
    const size_t kept = length < bytes ? length : bytes;
    if (kept > 0) {
        memcpy(text, session->reason, kept);
    }
    return kept;
}

static void destroy(void *opaque) {
    struct session *session = opaque;
    if (!has_ended(session)) {
        kill(session->agent, SIGKILL);
        waitpid(session->agent, NULL, 0);
    }
    free(session);
}

static const char NAME[] = "clock sync";

static const rankscope_plugin PLUGIN = {
    (uint32_t)sizeof(rankscope_plugin),
    RANKSCOPE_PLUGIN_ABI_VERSION,
    NAME,
    sizeof NAME - 1,
    3,
    0,
    NULL,
    is_enabled,
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
