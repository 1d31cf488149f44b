/*
 * A program that has a device do work, for the plugin in plugin.c.
 *
 *     cc -std=c99 launches.c $(pkg-config --cflags --libs rankscope) -ldl -o launches
 *     RANKSCOPE_PLUGINS=./plugin.so ./launches out.rkr
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rankscope.h>

RANKSCOPE_SITE(forward, "forward");
RANKSCOPE_SITE(backward, "backward");

typedef void launch_function(uint64_t thread);

/* The device's function, from the plugin that the environment names; the recorder has loaded it. */
static launch_function *launch_of(const char *path) {
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    void *found = library == NULL ? NULL : dlsym(library, "fake_device_launch");
    launch_function *launch = NULL;
    memcpy(&launch, &found, sizeof launch);
    return launch;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: RANKSCOPE_PLUGINS=./plugin.so %s RECORDING.rkr\n", argv[0]);
        return 0;
    }
    uint64_t session = 0;
    if (rankscope_session_start(NULL, &session) != RANKSCOPE_STATUS_OK) {
        fprintf(stderr, "%s\n", rankscope_last_error());
        return 1;
    }
    launch_function *launch = launch_of(getenv("RANKSCOPE_PLUGINS"));
    if (launch == NULL) {
        fprintf(stderr, "the plugin was not loaded\n");
        return 1;
    }
    const uint64_t thread = (uint64_t)syscall(SYS_gettid);
    const rankscope_span outer = rankscope_begin(&forward);
    launch(thread);
    launch(thread);
    rankscope_end(outer);
    const rankscope_span inner = rankscope_begin(&backward);
    launch(thread);
    usleep(20);
    rankscope_end(inner);
    usleep(10);
    rankscope_status status = rankscope_session_stop(session);
    status = status == RANKSCOPE_STATUS_OK ? rankscope_export(session, NULL, argv[1]) : status;
    char *json = NULL;
    if (status != RANKSCOPE_STATUS_OK || rankscope_session_report_json(session, &json) != RANKSCOPE_STATUS_OK) {
        fprintf(stderr, "%s\n", rankscope_last_error());
        return 1;
    }
    puts(json);
    rankscope_text_free(json);
    return rankscope_session_close(session) == RANKSCOPE_STATUS_OK ? 0 : 1;
}
