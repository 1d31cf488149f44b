/* Stands for NVML in tests: two GPUs, of which FAKE_NVML says how they are. */
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned gpu, memory; } rates;
typedef struct { unsigned long long total, free, used; } memory_info;

static int is(const char *how) {
    const char *said = getenv("FAKE_NVML");
    return said && strcmp(said, how) == 0;
}

static int gpus[2];
static int asked;

/* 9 is "driver not loaded". */
int nvmlInit_v2(void) { return is("no driver") ? 9 : 0; }

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = is("empty") ? 0 : 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = &gpus[index];
    return index < 2 ? 0 : 2;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    (void)device;
    strncpy(name, "Fake H100", length);
    return 0;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
    strncpy(uuid, device == &gpus[0] ? "GPU-A2A2A2A2-a2a2-a2a2-a2a2-a2a2a2a2a2a2" : "MIG-0", length);
    return 0;
}

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char text[32]; } pci_info;

int nvmlDeviceGetPciInfo_v3(void *device, pci_info *answer) {
    memset(answer, 0, sizeof *answer);
    answer->domain = 1;
    answer->bus = device == &gpus[0] ? 0xC2 : 0xC0;
    return 0;
}

/* 15 is "GPU is lost", which the second one becomes after a while. */
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
    asked++;
    if (is("lost") && device == &gpus[1] && asked > 6)
        return 15;
    *milliwatts = device == &gpus[0] ? 700000u + (unsigned)asked : 90000u;
    return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts) {
    (void)device;
    *milliwatts = 700000;
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, unsigned clock, unsigned *mhz) {
    (void)device;
    *mhz = clock == 1 ? 1410 : clock == 2 ? 2619 : 0;
    return 0;
}

/* 3 is "not supported". */
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *degrees) {
    *degrees = 71;
    return device == &gpus[1] ? 3 : sensor != 0 ? 2 : 0;
}

int nvmlDeviceGetUtilizationRates(void *device, rates *answer) {
    answer->gpu = device == &gpus[0] ? 98 : 0;
    answer->memory = 40;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, memory_info *answer) {
    (void)device;
    answer->total = 80ull << 30;
    answer->free = 10ull << 30;
    answer->used = 70ull << 30;
    return 0;
}

/* The first is held back by its power limit, and the second is idle. */
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits) {
    *bits = device == &gpus[0] ? 0x4 : 0x1;
    return 0;
}
