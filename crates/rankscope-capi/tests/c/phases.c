/* A program that joins a run and saves until it is told that its page was read: its own standard input ends. */
#include <stdio.h>

#include <rankscope.h>

#include "check.h"

int main(void) {
    uint64_t run = 0;
    CHECK(rankscope_join_run(&run) == RANKSCOPE_STATUS_OK && run != 0);
    rankscope_end(rankscope_begin_step(3));
    rankscope_phase_begin(RANKSCOPE_PHASE_EVALUATION);
    rankscope_phase_begin(RANKSCOPE_PHASE_CHECKPOINT);
    rankscope_phase_end(RANKSCOPE_PHASE_EVALUATION);
    puts("saving");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    rankscope_phase_end(RANKSCOPE_PHASE_CHECKPOINT);
    CHECK(rankscope_session_close(run) == RANKSCOPE_STATUS_OK);
    return 0;
}
