/* A profiler plugin of somebody else, of version 6. It gives out pointers, and ends the program where it gets one that is not its own or
 * not of the sort that it must be. At the end it writes how often it was called into the file that OTHER_SAYS names. */
#include "nccl.h"

typedef struct object { uint32_t magic; uint64_t kind; struct object *self; } object;

static int inits, starts, stops, states, ends;

static object *known(void *place, uint64_t kind) {
  object *found = place;
  MUST(found && found->magic == 0x0b1ec7 && found->self == found && (found->kind & kind));
  return found;
}

static int init(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank, void *log) {
  (void)log;
  MUST(id == 0xabcdef && strcmp(name, "world") == 0 && nodes == 1 && ranks == 2 && rank == 0);
  inits++;
  *context = &inits;
  *mask = GROUP | COLL | KERNEL_CH | GROUP_API | COLL_API;
  return 0;
}

static int start(void *context, void **handle, void *descr) {
  descr7 *d = descr;
  MUST(context == &inits);
  MUST(d->kind & (GROUP | COLL | KERNEL_CH | GROUP_API | COLL_API)); /* nothing that it did not ask for */
  if (d->kind == COLL_API) known(d->parent, GROUP_API);
  if (d->kind == COLL) {
    known(d->parent, COLL_API);
    MUST(d->coll.parent_group == NULL || known(d->coll.parent_group, GROUP));
  }
  if (d->kind == KERNEL_CH) known(d->parent, COLL);
  starts++;
  object *made = malloc(sizeof *made);
  *made = (object){0x0b1ec7, d->kind, made};
  *handle = made;
  return 0;
}

static int stop(void *handle) {
  known(handle, ~0ull);
  stops++;
  return 0;
}

static int state(void *handle, int state, void *args) {
  known(handle, state == KERNEL_CH_STOP ? KERNEL_CH : GROUP_API);
  MUST(state != KERNEL_CH_STOP || *(uint64_t *)args >= 2000000);
  states++;
  return 0;
}

static int finalize(void *context) {
  MUST(context == &inits);
  ends++;
  FILE *to = fopen(getenv("OTHER_SAYS"), "w");
  MUST(to);
  fprintf(to, "%d inits, %d starts, %d stops, %d states, %d ends", inits, starts, stops, states, ends);
  fclose(to);
  return 0;
}

table7 ncclProfiler_v6 = {"other", init, start, stop, state, finalize};
