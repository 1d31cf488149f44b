/* A driver that comes up, or does not: FAKE_CUDA is what cuInit returns. It has four devices, of which FAKE_CUDA_VISIBLE names those that
 * the process sees, a digit each, in its order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags) {
    (void)flags;
    const char *status = getenv("FAKE_CUDA");
    return status ? atoi(status) : 0;
}

int cuDriverGetVersion(int *version) {
    *version = 12090;
    return 0;
}

static const char *visible(void) {
    const char *said = getenv("FAKE_CUDA_VISIBLE");
    return said ? said : "";
}

int cuDeviceGetCount(int *count) {
    *count = (int)strlen(visible());
    return 0;
}

int cuDeviceGet(int *device, int number) {
    *device = visible()[number] - '0';
    return 0;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    memset(uuid, 0xA0 + device, 16);
    return device == 3 ? 801 : 0;
}

int cuDeviceGetPCIBusId(char *text, int length, int device) {
    snprintf(text, (size_t)length, "0000:%02X:00.0", 0xC0 + device);
    return 0;
}
