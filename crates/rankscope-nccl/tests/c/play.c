/* Plays into the plugin what NCCL does, one scene a run: `play LIBRARY SCENE`. What came of it is looked at by whoever runs this. */
#define _GNU_SOURCE
#include "nccl.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static table7 *t;
static int mask;

static void *begin(uint64_t id, const char *name, int ranks, int rank) {
  void *context = NULL;
  mask = -1;
  MUST(t->init(&context, id, &mask, name, 1, ranks, rank, NULL) == 0);
  MUST(context != NULL);
  return context;
}

static void *start(void *context, descr7 *descr) {
  void *handle = (void *)0xdead;
  MUST(t->start(context, &handle, descr) == 0);
  MUST(handle != (void *)0xdead);
  return handle;
}

static void *start_coll_in(void *context, void *api, void *group, const char *function, uint64_t sequence, int channels) {
  descr7 d = {.kind = COLL, .parent = api};
  d.coll.parent_group = group;
  d.coll.sequence = sequence;
  d.coll.function = function;
  d.coll.count = 4096;
  d.coll.element = "ncclFloat32";
  d.coll.channels = channels;
  d.coll.warps = 16;
  d.coll.algorithm = "RING";
  d.coll.protocol = "SIMPLE";
  d.coll.user_tag = 5;
  return start(context, &d);
}

static void *start_coll(void *context, void *api, const char *function, uint64_t sequence, int channels) {
  return start_coll_in(context, api, NULL, function, sequence, channels);
}

static void *start_api(void *context, void *group, const char *function, int captured) {
  descr7 d = {.kind = COLL_API, .parent = group};
  d.coll_api.function = function;
  d.coll_api.captured = captured;
  return start(context, &d);
}

static void *start_channel(void *context, void *operation, int channel) {
  descr7 d = {.kind = KERNEL_CH, .parent = operation};
  d.kernel_ch.channel = channel;
  d.kernel_ch.gpu_ns = 1000000 + channel;
  return start(context, &d);
}

static void stop_channel(void *handle, int channel) {
  uint64_t gpu_ns = 2000000 + channel;
  MUST(t->state(handle, KERNEL_CH_STOP, &gpu_ns) == 0);
  MUST(t->stop(handle) == 0);
}

static void channels(void *context, void *operation, int count) {
  void *handles[32];
  for (int channel = 0; channel < count; channel++) handles[channel] = start_channel(context, operation, channel);
  for (int channel = 0; channel < count; channel++) stop_channel(handles[channel], channel);
}

/* One collective, in the order of NCCL's own. */
static void collective(void *context, const char *function, uint64_t sequence) {
  descr7 d = {.kind = GROUP_API};
  void *group_api = start(context, &d);
  MUST(t->state(group_api, GROUP_STARTED, NULL) == 0);
  void *api = start_api(context, group_api, function, 0);
  MUST(t->stop(api) == 0);
  MUST(t->state(group_api, GROUP_ENDS, NULL) == 0);
  d = (descr7){.kind = KERNEL_LAUNCH, .parent = group_api};
  void *launch = start(context, &d);
  MUST(t->stop(launch) == 0);
  d = (descr7){.kind = GROUP, .parent = group_api};
  void *group = start(context, &d);
  void *coll = start_coll_in(context, api, group, function, sequence, 4);
  MUST(t->stop(coll) == 0);
  MUST(t->stop(group) == 0);
  MUST(t->stop(group_api) == 0);
  channels(context, coll, 4);
}

static void normal(void) {
  void *world = begin(0xabcdef, "world", 2, 0);
  MUST(mask & COLL && mask & KERNEL_CH && mask & COLL_API);
  for (int i = 0; i < 10; i++) collective(world, "AllReduce", i);
  collective(world, "AllGather", 0);
  MUST(t->finalize(world) == 0);
}

static void grouped(void) {
  void *world = begin(1, "world", 2, 0);
  void *apis[8], *colls[8];
  for (int i = 0; i < 8; i++) {
    apis[i] = start_api(world, NULL, "Broadcast", 0);
    t->stop(apis[i]);
  }
  for (int i = 0; i < 8; i++) {
    colls[i] = start_coll(world, apis[i], "Broadcast", i, 2);
    t->stop(colls[i]);
  }
  for (int i = 7; i >= 0; i--) channels(world, colls[i], 2);
  t->finalize(world);
}

static void graph(void) {
  void *world = begin(1, "world", 2, 0);
  void *api = start_api(world, NULL, "AllReduce", 1);
  t->stop(api);
  for (int i = 0; i < 5; i++) {
    void *coll = start_coll(world, api, "AllReduce", i, 1);
    t->stop(coll);
    channels(world, coll, 1);
  }
  t->finalize(world);
}

static void messages(void) {
  void *world = begin(1, "world", 2, 0);
  for (int i = 0; i < 3; i++) {
    descr7 d = {.kind = P2P};
    d.p2p.function = i % 2 ? "Recv" : "Send";
    d.p2p.element = "ncclBfloat16";
    d.p2p.count = 64;
    d.p2p.peer = 1;
    d.p2p.channels = 1;
    void *p2p = start(world, &d);
    t->stop(p2p);
    channels(world, p2p, 1);
  }
  t->finalize(world);
}

/* A proxy of another process: its parent is a pointer of that process, which looks like a handle of ours. */
static void foreign_proxy(void) {
  void *world = begin(1, "world", 2, 0);
  void *coll = start_coll(world, NULL, "AllReduce", 0, 1);
  descr7 d = {.kind = PROXY_OP, .parent = coll};
  d.proxy_op.pid = getpid() + 1;
  void *proxy = start(world, &d);
  d.parent = (void *)0x7fffdeadbeef;
  void *other = start(world, &d);
  void *of_other = start((void *)0x7fff00000001, &d);
  MUST(of_other == NULL);
  t->stop(coll);
  channels(world, coll, 1);
  usleep(2000);
  t->stop(proxy);
  t->stop(other);
  t->finalize(world);
}

static void nonsense(void) {
  void *world = begin(1, "world", 2, 0);
  void *coll = start_coll(world, NULL, "AllReduce", 0, 1);
  MUST(start_coll(NULL, NULL, "AllReduce", 1, 1) == NULL);
  t->stop(coll);
  t->stop(coll); /* once more */
  t->stop(NULL);
  t->stop((void *)0x1234);
  uint64_t gpu_ns = 1;
  t->state(coll, KERNEL_CH_STOP, &gpu_ns); /* after its stop */
  t->state(coll, KERNEL_CH_STOP, NULL);
  t->state(coll, -7, NULL);
  descr7 unknown = {.kind = (uint64_t)1 << 40};
  MUST(start(world, &unknown) == NULL);
  MUST(t->start(world, NULL, &unknown) == 0);
  void *handle;
  MUST(t->start(world, &handle, NULL) == 0 && handle == NULL);
  channels(world, coll, 1);
  t->finalize(world);
  t->finalize(world); /* once more */
  t->finalize(NULL);
  MUST(start_coll(world, NULL, "AllReduce", 2, 1) == NULL); /* of a communicator that is gone */
}

/* The slot of the first handle goes to others, and it is stopped when it is no longer known. */
static void generations(void) {
  void *world = begin(1, "world", 2, 0);
  void *first = start_coll(world, NULL, "AllReduce", 0, 1);
  for (int i = 0; i < 70000; i++) t->stop(start_channel(world, NULL, 0));
  t->stop(first);
  collective(world, "AllReduce", 1);
  t->finalize(world);
}

/* Channels that never stop, and fewer of them than were announced. */
static void unfinished(void) {
  void *world = begin(1, "world", 2, 0);
  for (int i = 0; i < 100; i++) {
    void *coll = start_coll(world, NULL, "AllReduce", i, 4);
    t->stop(coll);
    void *one = start_channel(world, coll, 0);
    start_channel(world, coll, 1);
    stop_channel(one, 0);
  }
  void *fewer = start_coll(world, NULL, "AllReduce", 100, 4);
  t->stop(fewer);
  stop_channel(start_channel(world, fewer, 0), 0);
  usleep(700000);
  collective(world, "AllReduce", 101);
  /* Nobody finalizes: the process just ends. */
}

static void many_communicators(void) {
  void *contexts[256];
  for (int i = 0; i < 256; i++) contexts[i] = begin(100 + i, "split", 2, 0);
  for (int i = 0; i < 256; i++) collective(contexts[i], "AllReduce", 0);
  for (int i = 0; i < 256; i++) t->finalize(contexts[i]);
  for (int i = 0; i < 2000; i++) {
    void *context = begin(1000 + i, "short", 2, 0);
    if (i % 100 == 0) collective(context, "AllReduce", 0);
    t->finalize(context);
  }
}

static void *on_thread(void *context) {
  for (int i = 0; i < 2000; i++) collective(context, "AllReduce", i);
  return NULL;
}

static void threads(void) {
  void *a = begin(1, "a", 2, 0), *b = begin(2, "b", 2, 0);
  pthread_t other;
  MUST(pthread_create(&other, NULL, on_thread, b) == 0);
  on_thread(a);
  pthread_join(other, NULL);
  t->finalize(a);
  t->finalize(b);
}

/* NCCL switches kinds of events off and on while events are open. */
static void mask_flips(void) {
  void *world = begin(1, "world", 2, 0);
  for (int i = 0; i < 50; i++) {
    void *coll = NULL;
    if (i % 2 == 0) coll = start_coll(world, NULL, "AllReduce", i, 1);
    if (coll) t->stop(coll);
    channels(world, coll, 1); /* with a parent, or without one */
  }
  t->finalize(world);
}

static void killed(void) {
  void *world = begin(1, "world", 2, 0);
  for (int i = 0; i < 20; i++) collective(world, "AllReduce", i);
  start_coll(world, NULL, "AllReduce", 20, 4);
  usleep(200000);
  kill(getpid(), SIGKILL);
}

static void forked(void) {
  void *world = begin(1, "world", 2, 0);
  collective(world, "AllReduce", 0);
  pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) {
    descr7 d = {.kind = COLL};
    void *handle = (void *)0xdead;
    MUST(t->start(world, &handle, &d) == 0 && handle == NULL);
    void *context = NULL;
    int asked = -1;
    MUST(t->init(&context, 9, &asked, "child", 1, 2, 0, NULL) == 0 && context != NULL && asked == 0);
    t->finalize(context);
    exit(0);
  }
  int status;
  MUST(waitpid(child, &status, 0) == child && status == 0);
  collective(world, "AllReduce", 1);
  t->finalize(world);
}

static void reloaded(const char *library, void *opened) {
  for (int i = 0; i < 100; i++) {
    void *world = begin(i + 1, "world", 2, 0);
    collective(world, "AllReduce", 0);
    t->finalize(world);
    MUST(dlclose(opened) == 0);
    opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    MUST(opened != NULL);
    t = dlsym(opened, "ncclProfiler_v7");
  }
}

static void version_1(void *opened) {
  table1 *t1 = dlsym(opened, "ncclProfiler_v1");
  void *context = NULL;
  MUST(t1->init(&context, &mask) == 0 && context != NULL && mask & PROXY_OP);
  for (int i = 0; i < 3; i++) {
    descr1 d = {.kind = COLL, .rank = 1};
    d.coll.hash = 0x77;
    d.coll.sequence = i;
    d.coll.function = 4;
    d.coll.element = 7;
    d.coll.count = 10;
    d.coll.channels = 2;
    d.coll.algorithm = 1;
    d.coll.protocol = 2;
    void *coll, *proxy;
    t1->start(context, &coll, &d);
    d = (descr1){.kind = PROXY_OP, .parent = coll};
    d.proxy_op.pid = getpid();
    t1->start(context, &proxy, &d);
    t1->stop(coll);
    t1->state(proxy, 7, NULL);
    t1->stop(proxy);
  }
  usleep(700000);
  t1->finalize(context);
}

static void version_4(void *opened) {
  table4 *t4 = dlsym(opened, "ncclProfiler_v4");
  void *context = NULL;
  MUST(t4->init(&context, &mask, "world", 0x55, 1, 2, 1, NULL) == 0 && context != NULL);
  MUST(!(mask & ~0xff)); /* its kinds are bytes */
  for (int i = 0; i < 3; i++) {
    descr4 d = {.kind = COLL};
    d.coll.sequence = i;
    d.coll.function = "ReduceScatter";
    d.coll.element = "ncclInt8";
    d.coll.count = 10;
    d.coll.channels = 1;
    void *coll, *channel;
    t4->start(context, &coll, &d);
    t4->stop(coll);
    d = (descr4){.kind = KERNEL_CH, .parent = coll};
    d.kernel_ch.gpu_ns = 40 + i;
    t4->start(context, &channel, &d);
    uint64_t gpu_ns = 50 + i;
    t4->state(channel, KERNEL_CH_STOP, &gpu_ns);
    t4->stop(channel);
  }
  t4->finalize(context);
}

int main(int count, char **args) {
  MUST(count == 3);
  void *library = dlopen(args[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  t = dlsym(library, "ncclProfiler_v7");
  MUST(t && t->name);
  const struct { const char *name; void (*play)(void); } scenes[] = {
    {"normal", normal}, {"grouped", grouped}, {"graph", graph}, {"messages", messages}, {"foreign-proxy", foreign_proxy},
    {"nonsense", nonsense}, {"generations", generations}, {"unfinished", unfinished}, {"many-communicators", many_communicators},
    {"threads", threads}, {"mask-flips", mask_flips}, {"killed", killed}, {"forked", forked},
  };
  for (size_t at = 0; at < sizeof scenes / sizeof *scenes; at++) {
    if (strcmp(args[2], scenes[at].name) == 0) return scenes[at].play(), 0;
  }
  if (strcmp(args[2], "reloaded") == 0) return reloaded(args[1], library), 0;
  if (strcmp(args[2], "version-1") == 0) return version_1(library), 0;
  if (strcmp(args[2], "version-4") == 0) return version_4(library), 0;
  fprintf(stderr, "no scene is called %s\n", args[2]);
  return 2;
}
