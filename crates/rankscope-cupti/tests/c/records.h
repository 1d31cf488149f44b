/* Records as the library lays them out, written down a second time, for what plays it. */
#include <stdint.h>

#define PACKED __attribute__((packed, aligned(8)))

typedef struct PACKED {
    uint32_t kind;
    uint8_t cache, shared;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout[2], padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shmem_limit;
    uint32_t graph;
    uint8_t later[256]; /* what later versions have behind it, and then some */
} kernel_record;

typedef struct PACKED {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type, pad2;
    uint64_t copies;
} memcpy_record;

typedef struct PACKED {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, src_device, src_context, dst_device, dst_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
} memcpy_peer_record;

typedef struct PACKED {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type, pad2;
} memset_record;

typedef struct PACKED {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
} api_record;

typedef struct PACKED {
    uint32_t kind, sort;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
    uint64_t event_sync;
    uint32_t result, pad;
} sync_record;

typedef struct PACKED {
    uint32_t kind, sort, object_kind, object[3];
    uint64_t start, end;
    uint32_t correlation, reserved;
    void *data;
} overhead_record;

typedef struct PACKED {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, stamp, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async, pad, pool_type, pad2;
    uint64_t pool_address, release_threshold, pool_size, utilized;
    const char *source;
} memory_record;

typedef struct PACKED {
    uint32_t kind, external_kind;
    uint64_t external;
    uint32_t correlation, reserved;
} external_record;

typedef struct {
    int site;
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *shared;
    uint32_t correlation;
} call_data;

typedef struct {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_name_size;
    uint8_t multiple, pad[7];
} subscriber_params;
