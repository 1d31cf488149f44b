/* NCCL's own conversion of its newest calls to those of an older version, played against the plugin: `shims LIBNCCL PLUGIN OFFSET`, where
 * OFFSET, in hexadecimal, is that of one of its functions `getNcclProfiler_vN` in the library. No GPU is needed for it. */
#define _GNU_SOURCE
#include "nccl.h"

#include <link.h>
#include <unistd.h>

int main(int count, char **args) {
  MUST(count == 4);
  void *nccl = dlopen(args[1], RTLD_NOW | RTLD_LOCAL);
  if (!nccl) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  struct link_map *map;
  MUST(dlinfo(nccl, RTLD_DI_LINKMAP, &map) == 0);
  void *plugin = dlopen(args[2], RTLD_NOW | RTLD_LOCAL);
  MUST(plugin);
  table7 *(*get)(void *) = (table7 * (*)(void *))(map->l_addr + strtoull(args[3], NULL, 16));
  table7 *t = get(plugin);
  MUST(t && strcmp(t->name, "rankscope") == 0);
  void *context = NULL;
  int mask = -1;
  MUST(t->init(&context, 0xabcdef0123, &mask, "dp0", 2, 8, 3, dlsym(nccl, "ncclGetVersion")) == 0 && context);
  MUST(mask & COLL && mask > 0);
  for (int i = 0; i < 5; i++) {
    descr7 d = {.kind = COLL, .rank = 3};
    d.coll.sequence = i;
    d.coll.function = "AllReduce";
    d.coll.count = 4096;
    d.coll.element = "ncclFloat32";
    d.coll.channels = 1;
    d.coll.warps = 16;
    d.coll.algorithm = "RING";
    d.coll.protocol = "SIMPLE";
    void *coll = NULL, *child = NULL;
    MUST(t->start(context, &coll, &d) == 0 && coll);
    d = (descr7){.kind = KERNEL_CH, .parent = coll, .rank = 3};
    d.kernel_ch.gpu_ns = 1000 + i;
    if (!(mask & KERNEL_CH)) {
      d = (descr7){.kind = PROXY_OP, .parent = coll, .rank = 3};
      d.proxy_op.pid = getpid();
    }
    MUST(t->start(context, &child, &d) == 0 && child);
    MUST(t->stop(coll) == 0);
    uint64_t gpu_ns[2] = {2000 + i, 0};
    if (mask & KERNEL_CH) MUST(t->state(child, KERNEL_CH_STOP, gpu_ns) == 0);
    MUST(t->stop(child) == 0);
  }
  MUST(t->finalize(context) == 0);
  return 0;
}
