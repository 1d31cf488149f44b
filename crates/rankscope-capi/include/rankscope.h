/*
 * rankscope.h: a C or C++ program records itself. C99 or C++17, GCC or Clang.
 *
 * Written by `cargo xtask header --write` from the library's source; changes here are lost.
 *
 *     #include <rankscope.h>
 *
 *     RANKSCOPE_SITE(forward, "forward");
 *
 *     uint64_t session;
 *     rankscope_session_options options = RANKSCOPE_SESSION_OPTIONS_INIT;
 *     options.path = "rank%r.rkr";                     // survives a kill
 *     rankscope_session_start(&options, &session);
 *     rankscope_span span = rankscope_begin(&forward);
 *     // ... work ...
 *     rankscope_end(span);
 *     rankscope_session_stop(session);
 *     rankscope_export(session, NULL, "rank0.pftrace"); // for ui.perfetto.dev
 *     rankscope_session_close(session);
 *
 * Rules for all of it. Any thread may call anything. Nothing has to be initialised, and nothing recorded before a session starts,
 * after it stops or in the child of a fork does harm. A pointer is null, or points to what is said of it, for as long as the call;
 * texts are UTF-8. What is refused is counted (`rankscope_stats.calls_refused`), and functions that answer with a
 * `rankscope_status` say why in `rankscope_last_error`. Structures begin with their size: set it.
 */


#ifndef RANKSCOPE_H
#define RANKSCOPE_H

#include <stddef.h>
#include <stdint.h>
/* A span that is open. All zero: one that is not recorded, which may be ended like any other. */
typedef struct rankscope_span {
    uint32_t epoch;
    /* Its correlation id. */
    uint64_t id;
} rankscope_span;

/* As the length of a text: it ends before its first zero byte. */
#define RANKSCOPE_NUL_TERMINATED SIZE_MAX




// Rises when a function or the meaning of one goes away. What is added does not raise it.
#define RANKSCOPE_ABI_VERSION 1

// Rises when something of the plugin interface changes its meaning. What is added does not raise it.
#define RANKSCOPE_PLUGIN_ABI_VERSION 1

// What a function answers. Zero is success. Later versions may add codes: treat an unknown one as a failure.
enum rankscope_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // It is done.
    RANKSCOPE_STATUS_OK = 0,
    // An argument cannot be what it is: a null pointer, a number that names nothing, a length that no memory has.
    RANKSCOPE_STATUS_INVALID_ARGUMENT = 1,
    // A structure says that it has a size that no version of it has. Set its `struct_size` first.
    RANKSCOPE_STATUS_UNKNOWN_STRUCT_SIZE = 2,
    // The handle is closed, or never was one.
    RANKSCOPE_STATUS_UNKNOWN_HANDLE = 3,
    // The session was stopped before.
    RANKSCOPE_STATUS_ALREADY_STOPPED = 4,
    // The session runs: stop it first.
    RANKSCOPE_STATUS_STILL_RUNNING = 5,
    // The session belongs to the process that this one was forked from.
    RANKSCOPE_STATUS_OTHER_PROCESS = 6,
    // Somebody else records in that place, or something else lies there.
    RANKSCOPE_STATUS_IN_USE = 7,
    // The file system or the operating system refused.
    RANKSCOPE_STATUS_IO = 8,
    // The process is not part of a run, so there is nothing to join.
    RANKSCOPE_STATUS_NOT_IN_A_RUN = 9,
    // What was recorded cannot be read.
    RANKSCOPE_STATUS_UNREADABLE = 10,
    // The library has a bug; it was contained.
    RANKSCOPE_STATUS_PANICKED = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_status rankscope_status;
#else
typedef int32_t rankscope_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the value of an argument is.
enum rankscope_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // None: the argument is left out.
    RANKSCOPE_TYPE_NOTHING = 0,
    // `value.i64`.
    RANKSCOPE_TYPE_I64 = 1,
    // `value.u64`.
    RANKSCOPE_TYPE_U64 = 2,
    // `value.f64`.
    RANKSCOPE_TYPE_F64 = 3,
    // `value.u64`: 0 is no, anything else yes.
    RANKSCOPE_TYPE_BOOL = 4,
    // `value.pointer`: a text (UTF-8) of `count` bytes, or of as many as there are before its first zero byte if `count` is
    // `RANKSCOPE_NUL_TERMINATED`. One that is not UTF-8 is kept as bytes.
    RANKSCOPE_TYPE_TEXT = 5,
    // `value.pointer`: `count` bytes.
    RANKSCOPE_TYPE_BYTES = 6,
    // `value.pointer`: `count` whole numbers (`int64_t`), as of a tensor's shape.
    RANKSCOPE_TYPE_I64_LIST = 7,
    // `value.pointer`: as a text, which is JSON.
    RANKSCOPE_TYPE_JSON = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_type rankscope_type;
#else
typedef uint32_t rankscope_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What sort of event something is. Trace files and other tools store these numbers.
enum rankscope_category
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // An operator on the host.
    RANKSCOPE_CATEGORY_CPU_OP = 0,
    // A range the program names itself.
    RANKSCOPE_CATEGORY_USER_ANNOTATION = 1,
    // Such a range, as the device work under it.
    RANKSCOPE_CATEGORY_GPU_USER_ANNOTATION = 2,
    // A copy on or to a device.
    RANKSCOPE_CATEGORY_GPU_MEMCPY = 3,
    // A fill on a device.
    RANKSCOPE_CATEGORY_GPU_MEMSET = 4,
    // A kernel.
    RANKSCOPE_CATEGORY_KERNEL = 5,
    // A call of the CUDA runtime.
    RANKSCOPE_CATEGORY_CUDA_RUNTIME = 7,
    // A call of the CUDA driver.
    RANKSCOPE_CATEGORY_CUDA_DRIVER = 8,
    // A moment on the host; allocations are of this category.
    RANKSCOPE_CATEGORY_CPU_INSTANT_EVENT = 9,
    // A call in Python.
    RANKSCOPE_CATEGORY_PYTHON_FUNCTION = 10,
    // The profiler's own time.
    RANKSCOPE_CATEGORY_OVERHEAD = 11,
    // A synchronisation on a device.
    RANKSCOPE_CATEGORY_CUDA_SYNC = 15,
    // An event of a device.
    RANKSCOPE_CATEGORY_CUDA_EVENT = 16,
    // An operator on HPU.
    RANKSCOPE_CATEGORY_HPU_OP = 20,
    // A call of the XPU runtime.
    RANKSCOPE_CATEGORY_XPU_RUNTIME = 21,
    // A call of the XPU driver.
    RANKSCOPE_CATEGORY_XPU_DRIVER = 22,
    // A collective.
    RANKSCOPE_CATEGORY_COLLECTIVE_COMM = 23,
    // A call of a plugged-in device's runtime.
    RANKSCOPE_CATEGORY_PRIVATEUSE1_RUNTIME = 24,
    // A call of a plugged-in device's driver.
    RANKSCOPE_CATEGORY_PRIVATEUSE1_DRIVER = 25,
    // Counters of the hardware.
    RANKSCOPE_CATEGORY_HARDWARE_COUNTERS = 28,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_category rankscope_category;
#else
typedef uint32_t rankscope_category;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// From which layer of a framework an event comes.
enum rankscope_scope
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // An operator.
    RANKSCOPE_SCOPE_FUNCTION = 0,
    // An operator of the backward pass.
    RANKSCOPE_SCOPE_BACKWARD_FUNCTION = 1,
    // A range the program names itself.
    RANKSCOPE_SCOPE_USER_SCOPE = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_scope rankscope_scope;
#else
typedef uint32_t rankscope_scope;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which point of an arrow.
enum rankscope_flow_stage
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Where it starts.
    RANKSCOPE_FLOW_STAGE_START = 0,
    // Where it passes.
    RANKSCOPE_FLOW_STAGE_STEP = 1,
    // Where it ends.
    RANKSCOPE_FLOW_STAGE_END = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_flow_stage rankscope_flow_stage;
#else
typedef uint32_t rankscope_flow_stage;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a training job is doing, where that is no ordinary step.
enum rankscope_phase
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Training, of a program that marks everything else.
    RANKSCOPE_PHASE_TRAINING = 1,
    // Before it trains: loading a checkpoint, connecting, compiling.
    RANKSCOPE_PHASE_INITIALISATION = 2,
    // Evaluating the model.
    RANKSCOPE_PHASE_EVALUATION = 3,
    // Saving a checkpoint.
    RANKSCOPE_PHASE_CHECKPOINT = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_phase rankscope_phase;
#else
typedef uint32_t rankscope_phase;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Where documents lie before anything is planned.
enum rankscope_layout
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // In order, from rank to rank.
    RANKSCOPE_LAYOUT_IN_ORDER = 0,
    // Wherever the plan moves the fewest bytes, for loaders that are free to decide.
    RANKSCOPE_LAYOUT_CHOOSE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_layout rankscope_layout;
#else
typedef uint32_t rankscope_layout;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a plan is for.
enum rankscope_pass
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Queries, keys and values out, outputs back.
    RANKSCOPE_PASS_FORWARD = 0,
    // A backward pass that keeps nothing of the forward one: all it needs goes out again, and gradients come back.
    RANKSCOPE_PASS_BACKWARD = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_pass rankscope_pass;
#else
typedef uint32_t rankscope_pass;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a tie is to.
enum rankscope_tie_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Any span.
    RANKSCOPE_TIE_KIND_SPAN = 0,
    // A range that the program names itself: the device work under it is shown as one range on the device, too.
    RANKSCOPE_TIE_KIND_USER_ANNOTATION = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_tie_kind rankscope_tie_kind;
#else
typedef uint32_t rankscope_tie_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How bad a problem is.
enum rankscope_problem_severity
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Something is missing.
    RANKSCOPE_PROBLEM_SEVERITY_WARNING = 0,
    // What was collected is not to be relied on.
    RANKSCOPE_PROBLEM_SEVERITY_ERROR = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum rankscope_problem_severity rankscope_problem_severity;
#else
typedef uint32_t rankscope_problem_severity;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A place that records: a static variable, made with `RANKSCOPE_SITE` or `RANKSCOPE_KEY`. Its number is found at the first use.
typedef struct rankscope_site {
    // `sizeof(rankscope_site)`.
    uint32_t struct_size;
    // The library's: zero until it is used.
    uint32_t id;
    // What it is called.
    const char *name;
    // Bytes of the name, or `RANKSCOPE_NUL_TERMINATED`.
    size_t name_bytes;
    // What sort of event it records: a `RANKSCOPE_CATEGORY_`.
    uint32_t category;
    // From which layer of a framework: a `RANKSCOPE_SCOPE_`.
    uint32_t scope;
} rankscope_site;

// A value, by the argument's type.
typedef union rankscope_value {
    // A whole number.
    int64_t i64;
    // A whole number that is not negative.
    uint64_t u64;
    // Any number.
    double f64;
    // Where a text, bytes or a list lies. It is only lent: nothing refers to it once the call has returned.
    const void *pointer;
} rankscope_value;

// An argument of an event. `rankscope_i64` and its like make one. This structure never changes; there may be more types.
typedef struct rankscope_arg {
    // Its key.
    struct rankscope_site *key;
    // A `RANKSCOPE_TYPE_`. One the library does not know is left out, and counted.
    uint32_t kind;
    // Zero.
    uint32_t reserved;
    // The value.
    union rankscope_value value;
    // How long it is, where it has a length.
    size_t count;
} rankscope_arg;

// Memory taken or given back. Set all to zero and `struct_size` first, or use `rankscope_alloc` and `rankscope_free`.
typedef struct rankscope_memory {
    // `sizeof(rankscope_memory)`.
    uint32_t struct_size;
    // Kind of device: 0 the host, 1 CUDA, and on as PyTorch numbers them, up to 63.
    uint32_t device_type;
    // Address of the block.
    uint64_t address;
    // Its bytes; negative when given back.
    int64_t bytes;
    // Which device, -1 for the host. Up to 4094.
    int32_t device_index;
    // Not zero: the memory was wanted and not there.
    uint32_t out_of_memory;
    // Bytes taken in all, or -1 where the allocator does not know.
    int64_t total_allocated;
    // Bytes the allocator holds in all, or -1.
    int64_t total_reserved;
} rankscope_memory;

// What is to be planned. Set all to zero and `struct_size` first.
typedef struct rankscope_plan_request {
    // `sizeof(rankscope_plan_request)`.
    uint32_t struct_size;
    // How many ranks there are.
    uint32_t ranks;
    // Tokens of each document, in order.
    const uint32_t *lengths;
    // How many documents there are.
    size_t documents;
    // How far above its share of the attention a rank may be; 0.05 is usual.
    double eps;
    // Elements of a query row. If this, `hidden_kv` and `element_bytes` are all zero, rows are those of Llama 8B in bf16.
    uint32_t hidden_q;
    // Elements of a key row, and of a value row.
    uint32_t hidden_kv;
    // Bytes of an element.
    uint32_t element_bytes;
    // Where documents lie: a `rankscope_layout`.
    uint32_t layout;
    // Tokens that a rank holds at most. Zero spreads documents evenly in order, and lets a choice hold 1 % more than the mean.
    uint64_t tokens_per_rank;
    // What the plan is for: a `rankscope_pass`.
    uint32_t pass;
    // Groups that heads are split into, so that ranks may compute a document for some of its heads. Zero and one are the same. Both kinds
    // of rows divide by it, and there are at most as many groups as key heads.
    uint32_t head_groups;
    // Not zero where ranks may share the keys of the same queries, if that moves less: then the plan has tasks.
    uint32_t split_kv;
    // Heads of a query row, of all groups together; each has a log-sum-exp where outputs are merged. Zero stands for one for every 128
    // elements.
    uint32_t heads;
    // The most bytes that a rank may send, per layer and pass. Zero is no cap.
    uint64_t cap_send_bytes;
    // The most that it may receive.
    uint64_t cap_receive_bytes;
    // The most that it may hold at once of queries and context, its own included.
    uint64_t cap_buffer_bytes;
} rankscope_plan_request;

// A run of consecutive tokens of one document. It never changes.
typedef struct rankscope_plan_shard {
    // Which document, by its place in the request. Where heads are in groups, those of the second group come behind all of the first, and
    // so on.
    uint32_t document;
    // The rank that should hold the tokens.
    uint32_t holder;
    // The rank that computes the attention of their queries. Where keys may be split, that is for tasks to say, and here is the holder.
    uint32_t computer;
    // How many there are. The next shard of the document begins behind them.
    uint32_t tokens;
} rankscope_plan_shard;

// Queries of one document and the keys they attend to, on one rank. Either all keys come before all queries, or they end with the
// queries, each of which attends to those up to itself. It never changes.
typedef struct rankscope_plan_task {
    // Which document, as in shards.
    uint32_t document;
    // The rank that computes it.
    uint32_t computer;
    // Position of the first query in the document.
    uint32_t query_start;
    // Of the one behind the last.
    uint32_t query_end;
    // Position of the first key.
    uint32_t key_start;
    // Of the one behind the last.
    uint32_t key_end;
} rankscope_plan_task;

// A plan. Set `struct_size` first; it then says how much was filled in. Give it back with `rankscope_plan_free`.
typedef struct rankscope_plan {
    // `sizeof(rankscope_plan)`.
    uint32_t struct_size;
    // How many documents it is of.
    uint32_t documents;
    // Its shards: by document, from the start of each to its end.
    struct rankscope_plan_shard *shards;
    // How many there are.
    size_t shard_count;
    // What ranks send each other in the pass of a layer: queries, keys and values out, outputs back; or gradients.
    uint64_t bytes;
    // The same of the plan for documents in order, where a layout was chosen.
    uint64_t bytes_in_order;
    // Attention of the heaviest rank over the mean.
    double max_over_mean;
    // Where keys may be split, what ranks compute: by document, query and key. Null elsewhere, for then shards say it.
    struct rankscope_plan_task *tasks;
    // How many there are.
    size_t task_count;
    // Groups that heads are split into, at least one.
    uint32_t head_groups;
    // Not zero where outputs of some queries come in parts, to be merged by their log-sum-exps.
    uint32_t merges;
} rankscope_plan;

// What the recorder does for a plugin, on any thread and at any time.
typedef struct rankscope_plugin_host {
    // `sizeof(rankscope_plugin_host)`.
    uint32_t struct_size;
    // The recorder's `RANKSCOPE_PLUGIN_ABI_VERSION`.
    uint32_t abi_version;
    // The correlation id of the span that work belongs to which the calling thread launches now; zero for none. To be tied to the
    // launch with a `rankscope_tie`.
    uint64_t (*current_correlation)(void);
    // What one of the clocks shows, in nanoseconds; zero for a clock that there is not.
    int64_t (*clock_ns)(uint32_t clock);
} rankscope_plugin_host;

// What a plugin is told of a session.
typedef struct rankscope_plugin_session_about {
    // `sizeof(rankscope_plugin_session_about)`.
    uint32_t struct_size;
    // Sorts of events that are recorded, a bit each.
    uint32_t categories;
    // The live file that is recorded into; null in memory.
    const char *path;
    // Bytes of its path.
    size_t path_bytes;
} rankscope_plugin_session_about;

// A device.
typedef struct rankscope_device_info {
    // `sizeof(rankscope_device_info)`.
    uint32_t struct_size;
    // Its number.
    uint32_t id;
    // What it is called.
    const char *name;
    // Bytes of the name.
    size_t name_bytes;
    // What else there is to know, as a JSON object; null is nothing.
    const char *properties;
    // Bytes of that.
    size_t properties_bytes;
} rankscope_device_info;

// A stream, queue or other row of a device.
typedef struct rankscope_resource_info {
    // `sizeof(rankscope_resource_info)`.
    uint32_t struct_size;
    // The device.
    uint32_t device;
    // Its number there.
    uint64_t id;
    // What it is called.
    const char *name;
    // Bytes of the name.
    size_t name_bytes;
} rankscope_resource_info;

// Something that took time on a device, or in a call into its library.
typedef struct rankscope_activity {
    // `sizeof(rankscope_activity)`.
    uint32_t struct_size;
    // What it is: a `RANKSCOPE_CATEGORY_`. Those of a runtime or driver are calls.
    uint32_t category;
    // The kernel, the copy or the call.
    const char *name;
    // Bytes of the name.
    size_t name_bytes;
    // When it started, by the plugin's clock; zero if the library could not tell, and then it is left out and counted.
    int64_t start_ns;
    // When it ended.
    int64_t end_ns;
    // The device; for a call, zero.
    uint32_t device;
    // Zero.
    uint32_t reserved;
    // The stream or queue; for a call, the thread by the operating system's number.
    uint64_t stream;
    // The library's number of the call behind it, or of the call itself; zero for none.
    uint64_t correlation;
} rankscope_activity;

// Says which span was open when a call was made.
typedef struct rankscope_tie {
    // `sizeof(rankscope_tie)`.
    uint32_t struct_size;
    // A `RANKSCOPE_TIE_KIND_`.
    uint32_t kind;
    // The correlation id of the span.
    uint64_t external_id;
    // The library's number of the call.
    uint64_t correlation;
} rankscope_tie;

// What takes what a plugin collected. All functions return a `rankscope_status`: `RANKSCOPE_STATUS_INVALID_ARGUMENT` for what cannot
// be, which is counted and left out. They are to be called on the thread that called `collect`, before it returns.
typedef struct rankscope_emit {
    // `sizeof(rankscope_emit)`.
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // To be handed to each of the functions.
    void *sink;
    // What a device is.
    int32_t (*device)(void *sink, const struct rankscope_device_info *info);
    // What a stream, queue or other row of a device is.
    int32_t (*resource)(void *sink, const struct rankscope_resource_info *info);
    // Work of a device, or a call into its library. In any order.
    int32_t (*activity)(void *sink, const struct rankscope_activity *activity);
    // Which span a call belongs to. In any order, and also before or after the call.
    int32_t (*tie)(void *sink, const struct rankscope_tie *tie);
    // A number, as of now.
    int32_t (*counter)(void *sink, const char *name, size_t name_bytes, double value);
    // Something to know about the recording: JSON text; what is not is kept as a text.
    int32_t (*metadata)(void *sink, const char *key, size_t key_bytes, const char *json, size_t json_bytes);
    // Something that is missing or went wrong, without the rest being lost: a `RANKSCOPE_PROBLEM_SEVERITY_`, and words.
    int32_t (*problem)(void *sink, uint32_t severity, const char *text, size_t bytes);
} rankscope_emit;

// A plugin. Every function that returns a number returns zero for success; anything else switches the plugin off for the session.
// Functions may be null where the plugin has nothing to do, but for `create`. They must not throw and not unwind.
typedef struct rankscope_plugin {
    // `sizeof(rankscope_plugin)`.
    uint32_t struct_size;
    // `RANKSCOPE_PLUGIN_ABI_VERSION`.
    uint32_t abi_version;
    // What it is called in reports and metadata.
    const char *name;
    // Bytes of the name.
    size_t name_bytes;
    // Which clock its times are of: 3 is `CLOCK_REALTIME` (as CUPTI has it), 1 `CLOCK_MONOTONIC_RAW`, 2 `CLOCK_MONOTONIC`, 4
    // `CLOCK_BOOTTIME`.
    uint32_t clock;
    // Zero.
    uint32_t reserved;
    // Handed to `is_enabled` and `create`.
    void *context;
    // Whether it takes part in a session; not zero is yes. Null is yes.
    int32_t (*is_enabled)(void *context);
    // Gets ready for a session, and returns what stands for it in the calls that follow. `host` lives as long as the process,
    // `about` as long as the call.
    int32_t (*create)(void *context,
                      const struct rankscope_plugin_host *host,
                      const struct rankscope_plugin_session_about *about,
                      void **session);
    // The session records from now on.
    int32_t (*start)(void *session);
    // The session is about to end; plugins stop in reverse order of their start.
    int32_t (*stop)(void *session);
    // Hands over what was collected, through `emit`, which lives as long as the call.
    int32_t (*collect)(void *session, const struct rankscope_emit *emit);
    // Says in words why the last call failed: writes at most `bytes` bytes to `text`, and returns how many.
    size_t (*describe_error)(void *session, char *text, size_t bytes);
    // The last call for a session that was created, whatever became of it. Not made in the child of a fork.
    void (*destroy)(void *session);
} rankscope_plugin;

// How a session went. Set `struct_size` first; it then says how much was filled in.
typedef struct rankscope_session_report {
    // `sizeof(rankscope_session_report)`.
    uint32_t struct_size;
    // Threads that recorded something.
    uint32_t threads;
    // Events of all threads: a span counts once.
    uint64_t events;
    // Spans among them.
    uint64_t spans;
    // Events that were lost because there was no room.
    uint64_t dropped;
    // Events that made room in a ring, as was asked for.
    uint64_t overwritten;
    // Spans that ended while one that began later was open. Their true end is recorded.
    uint64_t misnested;
    // Ends of spans that were not open on their thread. They were ignored.
    uint64_t misuse;
    // Texts, bytes and lists that were too long, and were cut.
    uint64_t values_cut;
    // Arguments beyond those that an event may have.
    uint64_t arguments_left_out;
    // Names that were too long, and were cut.
    uint64_t names_cut;
    // Names made up while the program ran that found no room.
    uint64_t names_full;
    // Bytes of memory or file that the recording holds.
    uint64_t bytes;
    // What stopping took.
    uint64_t stop_ns;
    // Plugins that failed and were switched off; their reasons are in the report as JSON.
    uint64_t plugins_failed;
} rankscope_session_report;

// What is recorded, and where. Set all to zero and `struct_size` first (`RANKSCOPE_SESSION_OPTIONS_INIT` does): that is
// everything, on all threads, in memory, up to a gigabyte.
typedef struct rankscope_session_options {
    // `sizeof(rankscope_session_options)`.
    uint32_t struct_size;
    // Sorts of events, a bit (`RANKSCOPE_BIT`) each; zero is all.
    uint32_t categories;
    // Where the recording lies while it is made, ending in zero: a live file, which survives the process. `%p` in it is the number
    // of the process, `%r` its rank. Null is in memory.
    const char *path;
    // Its size in bytes; zero is a gigabyte.
    uint64_t bytes_max;
    // Not zero: when it is full, the oldest events make room instead of the latest being dropped.
    uint32_t ring;
    // Seconds after which events make room in a ring; zero is never.
    uint32_t keep_seconds;
    // Not zero: only the calling thread.
    uint32_t this_thread_only;
    // How many earlier recordings stay beside the file, and one more; zero is eight of them.
    uint32_t keep_earlier_plus_one;
} rankscope_session_options;

// What the library did and refused since the process began. Set `struct_size` first; it then says how much was filled in.
typedef struct rankscope_stats {
    // `sizeof(rankscope_stats)`.
    uint32_t struct_size;
    // Categories that are recorded at the moment, a bit each; zero when off.
    uint32_t categories;
    // Sessions that run in this process, whoever started them.
    uint64_t sessions_running;
    // Handles that are not closed.
    uint64_t handles_open;
    // Calls and arguments that were refused, also by functions that cannot say so.
    uint64_t calls_refused;
    // Texts that were not UTF-8.
    uint64_t texts_not_utf8;
    // Panics of the library that were contained: bugs.
    uint64_t panics_contained;
} rankscope_stats;

// The function `rankscope_plugin_entry` of a shared library: given the recorder's `RANKSCOPE_PLUGIN_ABI_VERSION`, it returns its
// table, which lives as long as the process; null if it cannot work with that version.
typedef const struct rankscope_plugin *(*rankscope_plugin_entry_function)(uint32_t abi_version);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// From here on, device work that this thread launches belongs to the span with this correlation id (`span.id`), which may be of
// another thread, instead of to the innermost open span of this one. Plugins ask for it.
void rankscope_correlation_push(uint64_t id);

// Takes back the last push of this thread. One too many is counted.
void rankscope_correlation_pop(void);

// What device work belongs to that this thread launches now; zero where it is nothing that is recorded.
uint64_t rankscope_correlation_current(void);

// Records a moment. Use `rankscope_instant`.
void rankscope_instant_at(struct rankscope_site *site, const struct rankscope_arg *args, size_t count);

// Records a whole number. Use `rankscope_counter_i64`.
void rankscope_counter_i64_at(struct rankscope_site *site, int64_t value);

// Records a number. Use `rankscope_counter_f64`.
void rankscope_counter_f64_at(struct rankscope_site *site, double value);

// Records a point of the arrow `id`, in the innermost open span of the thread. Use `rankscope_flow_begin` and its like.
void rankscope_flow_at(struct rankscope_site *site, uint64_t id, uint32_t stage);

// Writes what `recording` holds to a file, whole or not at all: that of a session that was stopped, a snapshot, or what a running
// session has so far. `format` is `"rkr"`, `"json"`, `"pftrace"` or `"xplane.pb"`; null takes it from the end of `path`, which may
// end in `.gz` or `.zst` to be compressed.
rankscope_status rankscope_export(uint64_t recording,
                                  const char *format,
                                  const char *path);

// Why the last call of this thread failed, in words: what was wrong, where, and what to do. Never null, and empty where none
// failed. The text stays as it is until the next call of this thread that fails, and at most as long as the thread.
const char *rankscope_last_error(void);

// From here on, device work that this thread launches belongs to the span with this correlation id (`span.id`), which may be of
// another thread, instead of to the innermost open span of this one. Plugins ask for it.
void rankscope_correlation_push(uint64_t id);

// Takes back the last push of this thread. One too many is counted.
void rankscope_correlation_pop(void);

// What device work belongs to that this thread launches now; zero where it is nothing that is recorded.
uint64_t rankscope_correlation_current(void);

// Records a moment. Use `rankscope_instant`.
void rankscope_instant_at(struct rankscope_site *site, const struct rankscope_arg *args, size_t count);

// Records a whole number. Use `rankscope_counter_i64`.
void rankscope_counter_i64_at(struct rankscope_site *site, int64_t value);

// Records a number. Use `rankscope_counter_f64`.
void rankscope_counter_f64_at(struct rankscope_site *site, double value);

// Records a point of the arrow `id`, in the innermost open span of the thread. Use `rankscope_flow_begin` and its like.
void rankscope_flow_at(struct rankscope_site *site, uint64_t id, uint32_t stage);

// Writes what `recording` holds to a file, whole or not at all: that of a session that was stopped, a snapshot, or what a running
// session has so far. `format` is `"rkr"`, `"json"`, `"pftrace"` or `"xplane.pb"`; null takes it from the end of `path`, which may
// end in `.gz` or `.zst` to be compressed.
rankscope_status rankscope_export(uint64_t recording,
                                  const char *format,
                                  const char *path);

// Why the last call of this thread failed, in words: what was wrong, where, and what to do. Never null, and empty where none
// failed. The text stays as it is until the next call of this thread that fails, and at most as long as the thread.
const char *rankscope_last_error(void);

// Records memory taken or given back. It may be called inside an allocator.
void rankscope_memory_event(const struct rankscope_memory *event);

// Calls the calling thread something, in the recording that runs and in those to come.
rankscope_status rankscope_set_thread_name(const char *name, size_t name_bytes);

// Calls the process something in the recording that runs.
rankscope_status rankscope_set_process_name(const char *name, size_t name_bytes);

// Adds something to know about the recording that runs: `json` is JSON text; what is not is kept as a text. Without a recording
// nothing happens.
rankscope_status rankscope_set_metadata(const char *key, size_t key_bytes, const char *json, size_t json_bytes);

// From here on the process is in a phase, a `RANKSCOPE_PHASE_`, in which it may be long before it does anything else, such as saving a
// checkpoint: whoever watches the job while it runs is as patient as the phase asks for. Phases may lie in one another and end on any thread.
void rankscope_phase_begin(uint32_t phase);

// Ends a phase that was begun. One too many is counted.
void rankscope_phase_end(uint32_t phase);

// Plans a batch: who holds and who computes what.
rankscope_status rankscope_plan_documents(const struct rankscope_plan_request *request,
                                          struct rankscope_plan *plan);

// Gives back what a plan holds. One that holds nothing any more, or null, is none.
void rankscope_plan_free(struct rankscope_plan *plan);

// Adds a plugin that the program links to the sessions to come, behind those that are there. A shared library is named in
// `RANKSCOPE_PLUGINS` instead.
rankscope_status rankscope_plugin_register(const struct rankscope_plugin *plugin);

// How a session went that was stopped.
rankscope_status rankscope_session_get_report(uint64_t session, struct rankscope_session_report *report);

// How a session went that was stopped, as JSON: all of it, by thread. The text is the caller's; give it back with
// `rankscope_text_free`.
rankscope_status rankscope_session_report_json(uint64_t session, char **json);

// Gives back a text that the library handed out. Null is none.
void rankscope_text_free(char *text);

// Starts a session: recording is on from here. Null options are the default ones. The session runs until `rankscope_session_stop`,
// or to the end of the process; several may run at once.
rankscope_status rankscope_session_start(const struct rankscope_session_options *options,
                                         uint64_t *session);

// Records this process as a rank of the run that `rankscope run` started it in; `RANKSCOPE_STATUS_NOT_IN_A_RUN`, and nothing
// happens, where it is part of none. Close the handle at the end of `main`: that completes the recording in the run's directory.
rankscope_status rankscope_join_run(uint64_t *session);

// Stops a session. The handle then stands for what it recorded: export it, ask for its report, close it.
rankscope_status rankscope_session_stop(uint64_t session);

// Records other categories from now on: a bit (`RANKSCOPE_BIT`) each.
rankscope_status rankscope_session_set_categories(uint64_t session, uint32_t categories);

// What the session recorded so far, as a handle of its own to export and close; the session goes on. This is how a flight recorder
// is read when something went wrong.
rankscope_status rankscope_session_snapshot(uint64_t session,
                                            uint64_t *snapshot);

// Lets go of a handle. A session that runs is stopped; what it recorded stays where it lies in a file, and is gone otherwise.
rankscope_status rankscope_session_close(uint64_t session);

// Stops all sessions that were started from C and closes all handles. The library may be used again afterwards.
rankscope_status rankscope_shutdown(void);

// The number of a name that is made up while the program runs, with its category and scope; zero where it is refused. It takes a
// lock and the name stays for as long as the process, so ask once for each, and put what differs from call to call into arguments.
uint32_t rankscope_intern(const char *name,
                          size_t name_bytes,
                          uint32_t category,
                          uint32_t scope);

// Finds the number of a site now instead of at its first use, for one that is to be used in signal handlers; zero where it is no
// site.
uint32_t rankscope_site_prepare(struct rankscope_site *site);

// Begins a span. Use `rankscope_begin`, which makes no call when nothing is recorded.
rankscope_span rankscope_begin_at(struct rankscope_site *site);

// Begins a span with arguments. Use `rankscope_begin_with`.
rankscope_span rankscope_begin_at_with(struct rankscope_site *site, const struct rankscope_arg *args, size_t count);

// Begins a span of a name from `rankscope_intern`, with arguments.
rankscope_span rankscope_begin_named(uint32_t name, const struct rankscope_arg *args, size_t count);

// Begins step `number` of a training loop: a span called `ProfilerStep#<number>`, as PyTorch calls it, by which tools find steps.
rankscope_span rankscope_begin_step(int64_t number);

// Ends a span, once, on the thread that began it. Use `rankscope_end`. One that is not open is ignored and counted.
void rankscope_end_span(rankscope_span span);

// Ends a span with arguments that are known only now. Use `rankscope_end_with`. The span ends also where they are no arguments.
void rankscope_end_span_with(rankscope_span span, const struct rankscope_arg *args, size_t count);

// What the library did and refused since the process began.
rankscope_status rankscope_get_stats(struct rankscope_stats *stats);

// The version of the library, as in `0.1.0`. Compare it with what `pkg-config --modversion rankscope` said when the program was built.
const char *rankscope_version(void);

// The library's `RANKSCOPE_ABI_VERSION`: a program that was built with another one must not go on.
uint32_t rankscope_abi_version(void);

// Records memory taken or given back. It may be called inside an allocator.
void rankscope_memory_event(const struct rankscope_memory *event);

// Calls the calling thread something, in the recording that runs and in those to come.
rankscope_status rankscope_set_thread_name(const char *name, size_t name_bytes);

// Calls the process something in the recording that runs.
rankscope_status rankscope_set_process_name(const char *name, size_t name_bytes);

// Adds something to know about the recording that runs: `json` is JSON text; what is not is kept as a text. Without a recording
// nothing happens.
rankscope_status rankscope_set_metadata(const char *key, size_t key_bytes, const char *json, size_t json_bytes);

// From here on the process is in a phase, a `RANKSCOPE_PHASE_`, in which it may be long before it does anything else, such as saving a
// checkpoint: whoever watches the job while it runs is as patient as the phase asks for. Phases may lie in one another and end on any thread.
void rankscope_phase_begin(uint32_t phase);

// Ends a phase that was begun. One too many is counted.
void rankscope_phase_end(uint32_t phase);

// Plans a batch: who holds and who computes what.
rankscope_status rankscope_plan_documents(const struct rankscope_plan_request *request,
                                          struct rankscope_plan *plan);

// Gives back what a plan holds. One that holds nothing any more, or null, is none.
void rankscope_plan_free(struct rankscope_plan *plan);

// Adds a plugin that the program links to the sessions to come, behind those that are there. A shared library is named in
// `RANKSCOPE_PLUGINS` instead.
rankscope_status rankscope_plugin_register(const struct rankscope_plugin *plugin);

// How a session went that was stopped.
rankscope_status rankscope_session_get_report(uint64_t session, struct rankscope_session_report *report);

// How a session went that was stopped, as JSON: all of it, by thread. The text is the caller's; give it back with
// `rankscope_text_free`.
rankscope_status rankscope_session_report_json(uint64_t session, char **json);

// Gives back a text that the library handed out. Null is none.
void rankscope_text_free(char *text);

// Starts a session: recording is on from here. Null options are the default ones. The session runs until `rankscope_session_stop`,
// or to the end of the process; several may run at once.
rankscope_status rankscope_session_start(const struct rankscope_session_options *options,
                                         uint64_t *session);

// Records this process as a rank of the run that `rankscope run` started it in; `RANKSCOPE_STATUS_NOT_IN_A_RUN`, and nothing
// happens, where it is part of none. Close the handle at the end of `main`: that completes the recording in the run's directory.
rankscope_status rankscope_join_run(uint64_t *session);

// Stops a session. The handle then stands for what it recorded: export it, ask for its report, close it.
rankscope_status rankscope_session_stop(uint64_t session);

// Records other categories from now on: a bit (`RANKSCOPE_BIT`) each.
rankscope_status rankscope_session_set_categories(uint64_t session, uint32_t categories);

// What the session recorded so far, as a handle of its own to export and close; the session goes on. This is how a flight recorder
// is read when something went wrong.
rankscope_status rankscope_session_snapshot(uint64_t session,
                                            uint64_t *snapshot);

// Lets go of a handle. A session that runs is stopped; what it recorded stays where it lies in a file, and is gone otherwise.
rankscope_status rankscope_session_close(uint64_t session);

// Stops all sessions that were started from C and closes all handles. The library may be used again afterwards.
rankscope_status rankscope_shutdown(void);

// The number of a name that is made up while the program runs, with its category and scope; zero where it is refused. It takes a
// lock and the name stays for as long as the process, so ask once for each, and put what differs from call to call into arguments.
uint32_t rankscope_intern(const char *name,
                          size_t name_bytes,
                          uint32_t category,
                          uint32_t scope);

// Finds the number of a site now instead of at its first use, for one that is to be used in signal handlers; zero where it is no
// site.
uint32_t rankscope_site_prepare(struct rankscope_site *site);

// Begins a span. Use `rankscope_begin`, which makes no call when nothing is recorded.
rankscope_span rankscope_begin_at(struct rankscope_site *site);

// Begins a span with arguments. Use `rankscope_begin_with`.
rankscope_span rankscope_begin_at_with(struct rankscope_site *site, const struct rankscope_arg *args, size_t count);

// Begins a span of a name from `rankscope_intern`, with arguments.
rankscope_span rankscope_begin_named(uint32_t name, const struct rankscope_arg *args, size_t count);

// Begins step `number` of a training loop: a span called `ProfilerStep#<number>`, as PyTorch calls it, by which tools find steps.
rankscope_span rankscope_begin_step(int64_t number);

// Ends a span, once, on the thread that began it. Use `rankscope_end`. One that is not open is ignored and counted.
void rankscope_end_span(rankscope_span span);

// Ends a span with arguments that are known only now. Use `rankscope_end_with`. The span ends also where they are no arguments.
void rankscope_end_span_with(rankscope_span span, const struct rankscope_arg *args, size_t count);

// What the library did and refused since the process began.
rankscope_status rankscope_get_stats(struct rankscope_stats *stats);

// The version of the library, as in `0.1.0`. Compare it with what `pkg-config --modversion rankscope` said when the program was built.
const char *rankscope_version(void);

// The library's `RANKSCOPE_ABI_VERSION`: a program that was built with another one must not go on.
uint32_t rankscope_abi_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RANKSCOPE_H */

#ifndef RANKSCOPE_INLINE
#define RANKSCOPE_INLINE
/*
 * What is inlined into the program: the switch is looked at, and a call is made only where something is recorded.
 */

#ifdef __cplusplus
#define RANKSCOPE_ZEROED {}
extern "C" {
#else
#define RANKSCOPE_ZEROED {0}
#endif

/* Where the switch lies: categories that are recorded at the moment, a bit each, in the lower half. */
extern const uint64_t *const rankscope_state;

/* The bit of a category, for `rankscope_session_options.categories`. */
#define RANKSCOPE_BIT(category) (UINT32_C(1) << (category))

/* Defines `static rankscope_site variable`, a place that records. `text` is a string literal. */
#define RANKSCOPE_SITE_IN(variable, text, category, scope) \
    static rankscope_site variable = {(uint32_t)sizeof(rankscope_site), 0, "" text, sizeof(text) - 1, (uint32_t)(category), (uint32_t)(scope)}

/* A range that the program names itself: what most programs want. */
#define RANKSCOPE_SITE(variable, text) \
    RANKSCOPE_SITE_IN(variable, text, RANKSCOPE_CATEGORY_USER_ANNOTATION, RANKSCOPE_SCOPE_USER_SCOPE)

/* The key of an argument. */
#define RANKSCOPE_KEY(variable, text) RANKSCOPE_SITE_IN(variable, text, RANKSCOPE_CATEGORY_CPU_OP, RANKSCOPE_SCOPE_FUNCTION)

/* The default options: `rankscope_session_options options = RANKSCOPE_SESSION_OPTIONS_INIT;` */
#define RANKSCOPE_SESSION_OPTIONS_INIT {(uint32_t)sizeof(rankscope_session_options), 0, NULL, 0, 0, 0, 0, 0}

/* Not zero while events of the category are recorded. One load and a test. */
static inline int rankscope_is_on(uint32_t category) {
    return (int)((uint32_t)__atomic_load_n(rankscope_state, __ATOMIC_RELAXED) >> (category & 31u) & 1u);
}

/* A span that is not recorded. */
static inline rankscope_span rankscope_no_span(void) {
    rankscope_span none = RANKSCOPE_ZEROED;
    return none;
}

/* Begins a span. End it once, on this thread. */
static inline rankscope_span rankscope_begin(rankscope_site *site) {
    return site && rankscope_is_on(site->category) ? rankscope_begin_at(site) : rankscope_no_span();
}

/* Begins a span with arguments. */
static inline rankscope_span rankscope_begin_with(rankscope_site *site, const rankscope_arg *args, size_t count) {
    return site && rankscope_is_on(site->category) ? rankscope_begin_at_with(site, args, count) : rankscope_no_span();
}

/* Ends a span. */
static inline void rankscope_end(rankscope_span span) {
    if (span.epoch) {
        rankscope_end_span(span);
    }
}

/* Ends a span with arguments that are known only now. */
static inline void rankscope_end_with(rankscope_span span, const rankscope_arg *args, size_t count) {
    if (span.epoch) {
        rankscope_end_span_with(span, args, count);
    }
}

/* Records a moment. */
static inline void rankscope_instant(rankscope_site *site, const rankscope_arg *args, size_t count) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_instant_at(site, args, count);
    }
}

/* Records a whole number. */
static inline void rankscope_counter_i64(rankscope_site *site, int64_t value) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_counter_i64_at(site, value);
    }
}

/* Records a number. */
static inline void rankscope_counter_f64(rankscope_site *site, double value) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_counter_f64_at(site, value);
    }
}

/* An arrow starts in the innermost open span. Its other points have the same site's name and the same id, on any thread. */
static inline void rankscope_flow_begin(rankscope_site *site, uint64_t id) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_flow_at(site, id, RANKSCOPE_FLOW_STAGE_START);
    }
}

/* An arrow passes through the innermost open span. */
static inline void rankscope_flow_step(rankscope_site *site, uint64_t id) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_flow_at(site, id, RANKSCOPE_FLOW_STAGE_STEP);
    }
}

/* An arrow ends in the innermost open span. */
static inline void rankscope_flow_end(rankscope_site *site, uint64_t id) {
    if (site && rankscope_is_on(site->category)) {
        rankscope_flow_at(site, id, RANKSCOPE_FLOW_STAGE_END);
    }
}

/* Memory of the host: `bytes` of it, negative when given back. */
static inline void rankscope_host_memory(const void *block, int64_t bytes) {
    rankscope_memory event = RANKSCOPE_ZEROED;
    event.struct_size = (uint32_t)sizeof event;
    event.address = (uint64_t)(uintptr_t)block;
    event.bytes = bytes;
    event.device_index = -1;
    event.total_allocated = -1;
    event.total_reserved = -1;
    rankscope_memory_event(&event);
}

/* Memory of the host was taken. */
static inline void rankscope_alloc(const void *block, size_t bytes) {
    if (rankscope_is_on(RANKSCOPE_CATEGORY_CPU_INSTANT_EVENT)) {
        rankscope_host_memory(block, (int64_t)bytes);
    }
}

/* Memory of the host was given back. */
static inline void rankscope_free(const void *block, size_t bytes) {
    if (rankscope_is_on(RANKSCOPE_CATEGORY_CPU_INSTANT_EVENT)) {
        rankscope_host_memory(block, -(int64_t)bytes);
    }
}

static inline rankscope_arg rankscope_arg_of(rankscope_site *key, uint32_t kind, size_t count) {
    rankscope_arg arg = RANKSCOPE_ZEROED;
    arg.key = key;
    arg.kind = kind;
    arg.count = count;
    return arg;
}

/* An argument: a whole number. */
static inline rankscope_arg rankscope_i64(rankscope_site *key, int64_t value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_I64, 0);
    arg.value.i64 = value;
    return arg;
}

/* An argument: a whole number that is not negative. */
static inline rankscope_arg rankscope_u64(rankscope_site *key, uint64_t value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_U64, 0);
    arg.value.u64 = value;
    return arg;
}

/* An argument: a number. */
static inline rankscope_arg rankscope_f64(rankscope_site *key, double value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_F64, 0);
    arg.value.f64 = value;
    return arg;
}

/* An argument: yes or no. */
static inline rankscope_arg rankscope_bool(rankscope_site *key, int value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_BOOL, 0);
    arg.value.u64 = value != 0;
    return arg;
}

/* An argument: a text that ends in zero. It is copied when the event is recorded. */
static inline rankscope_arg rankscope_text(rankscope_site *key, const char *value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_TEXT, RANKSCOPE_NUL_TERMINATED);
    arg.value.pointer = value;
    return arg;
}

/* An argument: JSON text that ends in zero. */
static inline rankscope_arg rankscope_json(rankscope_site *key, const char *value) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_JSON, RANKSCOPE_NUL_TERMINATED);
    arg.value.pointer = value;
    return arg;
}

/* An argument: bytes. */
static inline rankscope_arg rankscope_bytes(rankscope_site *key, const void *value, size_t count) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_BYTES, count);
    arg.value.pointer = value;
    return arg;
}

/* An argument: whole numbers, as of a tensor's shape. */
static inline rankscope_arg rankscope_i64_list(rankscope_site *key, const int64_t *value, size_t count) {
    rankscope_arg arg = rankscope_arg_of(key, RANKSCOPE_TYPE_I64_LIST, count);
    arg.value.pointer = value;
    return arg;
}

#ifdef __cplusplus
}
#endif

#endif /* RANKSCOPE_INLINE */
