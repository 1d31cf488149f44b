/*
 * What a span costs, off and on, beside a loop that does nothing. Nanoseconds each, the best of many rounds.
 *
 *     cc -std=c99 -O2 cost.c $(pkg-config --cflags --libs rankscope) -o cost && ./cost
 *
 * With arguments, it does one thing so many times, for a program that counts instructions: ./cost span 100000
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rankscope.h>

enum { TURNS = 100000, ROUNDS = 40 };

RANKSCOPE_SITE(work, "work");
RANKSCOPE_SITE(value, "value");
RANKSCOPE_KEY(first, "first");
RANKSCOPE_KEY(second, "second");

static void nothing(int64_t number) { __asm__ volatile("" : : "r"(number) : "memory"); }

static void span(int64_t number) {
    const rankscope_span open = rankscope_begin(&work);
    nothing(number);
    rankscope_end(open);
}

static void span_two_args(int64_t number) {
    const rankscope_arg args[] = {rankscope_i64(&first, number), rankscope_f64(&second, 0.5)};
    const rankscope_span open = rankscope_begin_with(&work, args, 2);
    nothing(number);
    rankscope_end(open);
}

static void counter(int64_t number) { rankscope_counter_i64(&value, number); }

struct sort {
    const char *name;
    void (*once)(int64_t);
};

static const struct sort SORTS[] = {{"nothing", nothing}, {"span", span}, {"span_two_args", span_two_args}, {"counter", counter}};
enum { SORTS_COUNT = sizeof SORTS / sizeof SORTS[0] };

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t start(void) {
    uint64_t session = 0;
    rankscope_session_options options = RANKSCOPE_SESSION_OPTIONS_INIT;
    options.ring = 1;
    options.bytes_max = (uint64_t)64 << 20;
    if (rankscope_session_start(&options, &session) != RANKSCOPE_STATUS_OK) {
        fprintf(stderr, "%s\n", rankscope_last_error());
        exit(1);
    }
    return session;
}

static double cost_ns(void (*once)(int64_t)) {
    double best = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        const double began = now_ns();
        for (int64_t number = 0; number < TURNS; number++) {
            once(number);
        }
        const double took = (now_ns() - began) / TURNS;
        best = took < best ? took : best;
    }
    return best;
}

/* One sort of event, off unless `on` follows: what instructions are counted of. */
static int repeat(const char *name, long turns, int is_on) {
    const uint64_t session = is_on ? start() : 0;
    int sort = 0;
    while (sort < SORTS_COUNT && strcmp(SORTS[sort].name, name) != 0) {
        sort++;
    }
    for (long turn = 0; sort < SORTS_COUNT && turn < turns; turn++) {
        SORTS[sort].once(turn);
    }
    (void)rankscope_session_close(session);
    return 0;
}

int main(int argc, char **argv) {
    if (argc >= 3) {
        return repeat(argv[1], strtol(argv[2], NULL, 10), argc > 3);
    }
    double off[SORTS_COUNT];
    for (int sort = 0; sort < SORTS_COUNT; sort++) {
        off[sort] = cost_ns(SORTS[sort].once);
    }
    const uint64_t session = start();
    printf("%-16s %8s %8s\n", "ns each", "off", "on");
    for (int sort = 0; sort < SORTS_COUNT; sort++) {
        printf("%-16s %8.1f %8.1f\n", SORTS[sort].name, off[sort], cost_ns(SORTS[sort].once));
    }
    (void)rankscope_session_close(session);
    return 0;
}
