/* What callbacks cost: `cost LIBRARY THREADS ROUNDS` prints, as JSON, nanoseconds a collective that starts and stops, the same with four
 * channels of a kernel, and how much memory the process has before and after. */
#define _GNU_SOURCE
#include "nccl.h"

#include <pthread.h>
#include <time.h>

static table7 *t;
static long rounds;
static int with_channels;

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static long resident_kb(void) {
  char line[256];
  long found = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &found);
  if (status) fclose(status);
  return found;
}

static void one(void *context, uint64_t sequence) {
  descr7 d = {.kind = COLL};
  d.coll.sequence = sequence;
  d.coll.function = "AllReduce";
  d.coll.count = 4096;
  d.coll.element = "ncclBfloat16";
  d.coll.channels = 4;
  d.coll.algorithm = "RING";
  d.coll.protocol = "SIMPLE";
  void *coll, *channels[4];
  t->start(context, &coll, &d);
  t->stop(coll);
  if (!with_channels) return;
  for (int channel = 0; channel < 4; channel++) {
    descr7 k = {.kind = KERNEL_CH, .parent = coll};
    k.kernel_ch.channel = channel;
    k.kernel_ch.gpu_ns = sequence;
    t->start(context, &channels[channel], &k);
  }
  for (int channel = 0; channel < 4; channel++) {
    uint64_t gpu_ns = sequence + 1;
    t->state(channels[channel], KERNEL_CH_STOP, &gpu_ns);
    t->stop(channels[channel]);
  }
}

static void *many(void *context) {
  for (long i = 0; i < rounds; i++) one(context, i);
  return NULL;
}

static double measured(void **contexts, int threads) {
  pthread_t other[64];
  long long began = now_ns();
  for (int at = 1; at < threads; at++) MUST(pthread_create(&other[at], NULL, many, contexts[at]) == 0);
  many(contexts[0]);
  for (int at = 1; at < threads; at++) pthread_join(other[at], NULL);
  return (double)(now_ns() - began) / rounds;
}

int main(int count, char **args) {
  MUST(count == 4);
  void *library = dlopen(args[1], RTLD_NOW | RTLD_LOCAL);
  MUST(library && (t = dlsym(library, "ncclProfiler_v7")));
  int threads = atoi(args[2]), mask = 0;
  MUST(threads >= 1 && threads <= 64);
  rounds = atol(args[3]);
  void *contexts[64];
  for (int at = 0; at < threads; at++) MUST(t->init(&contexts[at], at + 1, &mask, "cost", 1, 8, 0, NULL) == 0);
  long before_kb = resident_kb();
  double first = measured(contexts, threads), best = first, best_with = 0;
  for (int again = 0; again < 4; again++) {
    double ns = measured(contexts, threads);
    best = ns < best ? ns : best;
  }
  with_channels = 1;
  for (int again = 0; again < 5; again++) {
    double ns = measured(contexts, threads);
    best_with = again == 0 || ns < best_with ? ns : best_with;
  }
  long after_kb = resident_kb();
  for (int at = 0; at < threads; at++) t->finalize(contexts[at]);
  printf("{\"threads\": %d, \"start_stop_ns\": %.1f, \"with_four_channels_ns\": %.1f, \"before_kb\": %ld, \"after_kb\": %ld}\n",
         threads, best, best_with, before_kb, after_kb);
  return 0;
}
