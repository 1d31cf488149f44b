/* A job of eight ranks, each a process on a clock of its own: `job LIBRARY SLOW_RANK STEPS [STUCK_RANK]`. In a step every rank computes, the slow one
 * for longer, then reduces with all others; even and odd ranks gather among themselves in a communicator that was split off. The
 * kernels of a collective end on all its ranks when the last has come, as they do on GPUs, each of which has a clock of its own, too. After its steps the stuck rank comes to
 * nothing more, while the others do; if there is no such rank, all come and no kernel ends. */
#define _GNU_SOURCE
#include "nccl.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 8 };

static table7 *t;

typedef struct {
  pthread_barrier_t world, halves[2];
  /* Wall clock less raw clock, and the wall clock at the beginning; GPUs' clocks follow the raw one from there on. */
  int64_t ahead_of_raw, base;
  /* When each rank began, by the wall clock so told. */
  int64_t began[RANKS];
} meeting;

static int64_t read_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void *start(void *context, descr7 *descr) {
  void *handle = NULL;
  MUST(t->start(context, &handle, descr) == 0 && handle != NULL);
  return handle;
}

/* Both clocks at one moment, of a few tries the one that was interrupted least. */
static void read_base(meeting *at) {
  int64_t narrowest = INT64_MAX;
  for (int try = 0; try < 100; try++) {
    int64_t before = read_ns(CLOCK_MONOTONIC_RAW), wall = read_ns(CLOCK_REALTIME), after = read_ns(CLOCK_MONOTONIC_RAW);
    if (after - before < narrowest) {
      narrowest = after - before;
      at->base = wall;
      at->ahead_of_raw = wall - (before + after) / 2;
    }
  }
}

/* Ahead by some milliseconds, fast or slow by some ppm, and every other one shows the same number for a microsecond. */
static uint64_t gpu_ns(const meeting *at, int rank) {
  int64_t now = read_ns(CLOCK_MONOTONIC_RAW) + at->ahead_of_raw;
  int64_t drift_ppb = (rank * 3 % RANKS - 3) * 15000;
  now += 5000000 + (rank * 5 % RANKS) * 700000 + (now - at->base) * drift_ppb / 1000000000;
  int64_t step = rank % 2 ? 1024 : 32;
  return now / step * step;
}

static void collective(void *context, int rank, const char *function, uint64_t sequence, size_t count, const meeting *at,
                       pthread_barrier_t *all) {
  descr7 d = {.kind = GROUP_API, .rank = rank};
  void *group_api = start(context, &d);
  d = (descr7){.kind = COLL_API, .parent = group_api, .rank = rank};
  d.coll_api.function = function;
  void *api = start(context, &d);
  t->stop(api);
  d = (descr7){.kind = KERNEL_LAUNCH, .parent = group_api, .rank = rank};
  t->stop(start(context, &d));
  d = (descr7){.kind = COLL, .parent = api, .rank = rank};
  d.coll.sequence = sequence;
  d.coll.function = function;
  d.coll.count = count;
  d.coll.element = "ncclBfloat16";
  d.coll.channels = 2;
  d.coll.algorithm = "RING";
  d.coll.protocol = "SIMPLE";
  void *coll = start(context, &d);
  t->stop(coll);
  t->stop(group_api);
  void *channels[2];
  for (int channel = 0; channel < 2; channel++) {
    d = (descr7){.kind = KERNEL_CH, .parent = coll, .rank = rank};
    d.kernel_ch.channel = channel;
    d.kernel_ch.gpu_ns = gpu_ns(at, rank);
    channels[channel] = start(context, &d);
  }
  pthread_barrier_wait(all);
  for (int channel = 0; channel < 2; channel++) {
    uint64_t stop_ns = gpu_ns(at, rank);
    t->state(channels[channel], KERNEL_CH_STOP, &stop_ns);
    t->stop(channels[channel]);
  }
}

static void number(const char *name, long value) {
  char text[32];
  snprintf(text, sizeof text, "%ld", value);
  setenv(name, text, 1);
}

static int play(const char *library, int rank, int slow, int steps, const char *stuck, meeting *at) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char clock[64];
  snprintf(clock, sizeof clock, "node-%d,%d,%d", rank, (rank * 5 % RANKS - 4) * 3000000, (rank * 3 % RANKS - 4) * 4000);
  setenv("RANKSCOPE_NCCL_TEST_HOST", clock, 1);
  number("RANK", rank);
  number("WORLD_SIZE", RANKS);
  void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  MUST(opened && (t = dlsym(opened, "ncclProfiler_v7")));
  void *world = NULL, *half = NULL;
  int mask = 0, odd = rank % 2;
  at->began[rank] = read_ns(CLOCK_MONOTONIC_RAW) + at->ahead_of_raw;
  MUST(t->init(&world, 0xfeed, &mask, "default_pg", 2, RANKS, rank, NULL) == 0);
  MUST(t->init(&half, 0xbeef + odd, &mask, "split", 2, RANKS / 2, rank / 2, NULL) == 0);
  usleep(50000);
  for (int step = 0; step < steps; step++) {
    usleep(2000 + (rank == slow ? 8000 : 100 * (rank % 3)));
    collective(world, rank, "AllReduce", step, 1 << 20, at, &at->world);
    usleep(500);
    collective(half, rank, "AllGather", step, 1 << 16, at, &at->halves[odd]);
  }
  if (stuck) {
    pthread_barrier_t nobody;
    pthread_barrier_init(&nobody, NULL, 2);
    if (rank != atoi(stuck)) collective(world, rank, "AllReduce", steps, 1 << 20, at, &nobody);
    for (;;) pause();
  }
  MUST(t->finalize(half) == 0);
  MUST(t->finalize(world) == 0);
  return 0;
}

int main(int count, char **args) {
  MUST(count == 4 || count == 5);
  meeting *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  MUST(at != MAP_FAILED);
  read_base(at);
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&at->world, &shared, RANKS);
  for (int half = 0; half < 2; half++) pthread_barrier_init(&at->halves[half], &shared, RANKS / 2);
  pid_t children[RANKS];
  for (int rank = 0; rank < RANKS; rank++) {
    MUST((children[rank] = fork()) >= 0);
    if (children[rank] == 0) exit(play(args[1], rank, atoi(args[2]), atoi(args[3]), args[4], at));
  }
  for (int rank = 0; rank < RANKS; rank++) {
    int status;
    MUST(waitpid(children[rank], &status, 0) == children[rank] && status == 0);
  }
  printf("%lld\n", (long long)at->base);
  for (int rank = 0; rank < RANKS; rank++) printf("%lld\n", (long long)at->began[rank]);
  return 0;
}
