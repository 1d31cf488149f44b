/* Stands for ROCm SMI in tests: two GPUs, of which FAKE_ROCM_SMI says how they are. RELEASE is that of ROCm whose library it is like. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOT_SUPPORTED 2
#define FILE_ERROR 3

static int is(const char *how) {
    const char *said = getenv("FAKE_ROCM_SMI");
    return said && strcmp(said, how) == 0;
}

static int asked;

/* What GPU `device` answers to anything: the second one may refuse, from the start or after a while. */
static int status(uint32_t device) {
    if (device > 1)
        return 7;
    if (device == 1 && is("refuses"))
        return NOT_SUPPORTED;
    return device == 1 && is("lost") && asked > 6 ? FILE_ERROR : 0;
}

/* 8 is "not initialised". */
int rsmi_init(uint64_t flags) { return flags != 0 ? 1 : is("no driver") ? 8 : 0; }

typedef struct { uint32_t major, minor, patch; const char *build; } version;

int rsmi_version_get(version *answer) {
    *answer = (version){is("unknown") ? 9 : RELEASE, 8, 0, "fake"};
    return 0;
}

#if RELEASE != 0
int rsmi_num_monitor_devices(uint32_t *count) {
    *count = is("empty") ? 0 : 2;
    return 0;
}
#endif

/* 0000:c3:00.0 and 0001:e3:00.0, the former of a partition. */
int rsmi_dev_pci_id_get(uint32_t device, uint64_t *id) {
    *id = device == 0 ? 0xc3ull << 8 | 5ull << 28 : 1ull << 32 | 0xe3ull << 8;
    return 0;
}

/* The second one does not tell. */
int rsmi_dev_unique_id_get(uint32_t device, uint64_t *id) {
    *id = 0x89abcdef01234567;
    return device == 0 ? 0 : NOT_SUPPORTED;
}

int rsmi_dev_name_get(uint32_t device, char *name, size_t length) {
    if (is("garbage")) {
        memset(name, device == 0 ? 0xFE : 'x', length);
        if (device == 0)
            name[4] = 0;
        return 0;
    }
    strncpy(name, "Fake MI300X", length);
    return 0;
}

int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *microwatts) {
    *microwatts = sensor == 0 ? 500000000 : 0;
    return status(device);
}

#if RELEASE >= 6
int rsmi_dev_activity_metric_get(uint32_t device) { return status(device); }

int rsmi_dev_power_get(uint32_t device, uint64_t *microwatts, uint32_t *kind) {
    asked++;
    *kind = 1;
    *microwatts = is("garbage") ? UINT64_MAX : device == 0 ? 700000000ull + 1000000ull * (unsigned)asked : 90000000;
    return status(device);
}
#endif

int rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *microwatts) {
    *microwatts = sensor == 0 ? 750000000 : 0;
    return status(device);
}

/* Of its junction alone. */
int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, uint32_t metric, int64_t *milli) {
    *milli = is("garbage") ? INT64_MIN : 88500;
    return sensor == 1 && metric == 0 ? status(device) : NOT_SUPPORTED;
}

int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent) {
    *percent = is("garbage") ? UINT32_MAX : device == 0 ? 98 : 0;
    return status(device);
}

#if RELEASE != 5
int rsmi_dev_memory_busy_percent_get(uint32_t device, uint32_t *percent) {
    *percent = is("garbage") ? 65535 : 40;
    return status(device);
}
#endif

int rsmi_dev_memory_usage_get(uint32_t device, uint32_t kind, uint64_t *bytes) {
    *bytes = kind == 0 ? 70ull << 30 : 0;
    return status(device);
}

#if RELEASE == 5
typedef struct { uint32_t number, current; uint64_t frequency[32]; } frequencies;
#else
typedef struct { bool deep_sleep; uint32_t number, current; uint64_t frequency[33]; } frequencies;
#endif

int rsmi_dev_gpu_clk_freq_get(uint32_t device, uint32_t clock, frequencies *answer) {
    memset(answer, 0, sizeof *answer);
    answer->number = 3;
    answer->current = is("garbage") ? 3 : 2;
    answer->frequency[2] = clock == 0 ? 2100000000 : clock == 4 ? 1300000000 : 0;
    return status(device);
}
