/* A driver that comes up, or does not: FAKE_CUDA is what cuInit returns. */
#include <stdlib.h>

int cuInit(unsigned flags) {
    (void)flags;
    const char *status = getenv("FAKE_CUDA");
    return status ? atoi(status) : 0;
}

int cuDriverGetVersion(int *version) {
    *version = 12090;
    return 0;
}
