// SPDX-License-Identifier: BSD-3-Clause
//
// A program that reads a counter while it runs, and once more as it exits.

#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void read_counter(void) {
    unsigned long long value = 0;
    FILE *file = fopen("/sys/class/infiniband/lanewise0/ports/1/counters/port_xmit_data", "r");
    if (!file || fscanf(file, "%llu", &value) != 1) abort();
    fclose(file);
    printf("%llu\n", value);
}

static void read_at_exit(void) {
    usleep(20000);  // longer than an answer is kept
    read_counter();
}

int main(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    if (!devices || !devices[0] || !ibv_open_device(devices[0])) return 1;
    read_counter();
    return atexit(read_at_exit);
}
