/* What a profiler plugin is called with, written down a second time and apart from the library: versions 7, 4 and 1. */
#ifndef RANKSCOPE_TEST_NCCL_H
#define RANKSCOPE_TEST_NCCL_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  GROUP = 1 << 0, COLL = 1 << 1, P2P = 1 << 2, PROXY_OP = 1 << 3, KERNEL_CH = 1 << 6,
  GROUP_API = 1 << 8, COLL_API = 1 << 9, P2P_API = 1 << 10, KERNEL_LAUNCH = 1 << 11,
  KERNEL_CH_STOP = 22, GROUP_STARTED = 23, GROUP_ENDS = 24
};

typedef struct {
  uint64_t kind;
  void *parent;
  int rank;
  union {
    struct { uint64_t sequence; const char *function; const void *send; void *recv; size_t count; int root; const char *element;
             uint8_t channels; uint8_t warps; const char *algorithm; const char *protocol; void *parent_group;
             const char *variant; uint8_t is_symmetric; uint64_t user_tag; } coll;
    struct { const char *function; void *buffer; const char *element; size_t count; int peer; uint8_t channels; void *parent_group;
             uint64_t user_tag; } p2p;
    struct { int pid; uint8_t channel; int peer; int steps; int chunk; int is_send; } proxy_op;
    struct { uint8_t channel; uint64_t gpu_ns; } kernel_ch;
    struct { uint8_t captured; int depth; } group_api;
    struct { const char *function; size_t count; const char *element; int root; void *stream; uint8_t captured; uint64_t user_tag; } coll_api;
    struct { const char *function; size_t count; const char *element; void *stream; uint8_t captured; uint64_t user_tag; } p2p_api;
    struct { void *stream; } launch;
  };
} descr7;

typedef struct {
  uint8_t kind;
  void *parent;
  int rank;
  union {
    struct { const char *name; uint64_t hash; uint64_t sequence; uint8_t function; const void *send; void *recv; size_t count; int root;
             uint8_t element; uint32_t op; size_t traffic; uint8_t channels; uint8_t warps; uint8_t algorithm; uint8_t protocol;
             int is_collnet; int is_nvls; } coll;
    struct { int pid; uint8_t channel; int peer; int steps; int chunk; int is_send; } proxy_op;
  };
} descr1;

typedef struct {
  uint8_t kind;
  void *parent;
  int rank;
  union {
    struct { uint64_t sequence; const char *function; const void *send; void *recv; size_t count; int root; const char *element;
             uint8_t channels; uint8_t warps; const char *algorithm; const char *protocol; } coll;
    struct { uint8_t channel; uint64_t gpu_ns; } kernel_ch;
  };
} descr4;

_Static_assert(sizeof(descr7) == 136 && sizeof(descr1) == 120 && sizeof(descr4) == 104, "sizes of descriptors");

typedef struct {
  const char *name;
  int (*init)(void **context, uint64_t id, int *mask, const char *comm_name, int nodes, int ranks, int rank, void *log);
  int (*start)(void *context, void **handle, void *descr);
  int (*stop)(void *handle);
  int (*state)(void *handle, int state, void *args);
  int (*finalize)(void *context);
} table7;

typedef struct {
  const char *name;
  int (*init)(void **context, int *mask, const char *comm_name, uint64_t hash, int nodes, int ranks, int rank, void *log);
  int (*start)(void *context, void **handle, void *descr);
  int (*stop)(void *handle);
  int (*state)(void *handle, int state, void *args);
  int (*finalize)(void *context);
} table4;

typedef struct {
  const char *name;
  int (*init)(void **context, int *mask);
  int (*start)(void *context, void **handle, void *descr);
  int (*stop)(void *handle);
  int (*state)(void *handle, int state, void *args);
  int (*finalize)(void *context);
} table1;

/* Ends the test where something is not so. */
#define MUST(condition)                                                          \
  do {                                                                           \
    if (!(condition)) {                                                          \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

#endif
