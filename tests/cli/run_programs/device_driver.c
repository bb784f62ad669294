/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for a GPU's driver: what lies in this range is its memory. */
#include <stdint.h>

enum { memory_type = 2, of_device = 2 };

int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer) {
    const uint64_t begin = UINT64_C(0x600000000000), end = begin + (1 << 20);
    if (attribute != memory_type || pointer < begin || pointer >= end) return 1;
    *(unsigned *)data = of_device;
    return 0;
}
