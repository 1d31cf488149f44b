/*
 * What is left of a program that is killed: everything it recorded, because the recording lies in a file from the first event on.
 *
 *     cc -std=c99 killed.c $(pkg-config --cflags --libs rankscope) -o killed
 *     ./killed killed.rkr; rankscope recover killed.rkr
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <rankscope.h>

RANKSCOPE_SITE(work, "work");
RANKSCOPE_SITE(last, "what it was doing when it was killed");
RANKSCOPE_KEY(turn, "turn");

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: %s RECORDING.rkr\n", argv[0]);
        return 0;
    }
    uint64_t session = 0;
    rankscope_session_options options = RANKSCOPE_SESSION_OPTIONS_INIT;
    options.path = argv[1];
    if (rankscope_session_start(&options, &session) != RANKSCOPE_STATUS_OK) {
        fprintf(stderr, "%s\n", rankscope_last_error());
        return 1;
    }
    for (int64_t number = 0; number < 1000; number++) {
        const rankscope_arg arg = rankscope_i64(&turn, number);
        rankscope_end(rankscope_begin_with(&work, &arg, 1));
    }
    (void)rankscope_begin(&last);
    kill(getpid(), SIGKILL);
    return 1;
}
