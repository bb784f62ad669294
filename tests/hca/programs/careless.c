// SPDX-License-Identifier: BSD-3-Clause
//
// A program that is wrong on purpose, so that what watches programs has something to see inside the
// device: `careless uninitialised` asks for a queue pair with a size that nobody has set, `careless
// race` has the device write into the same memory from two threads.

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_context *context;
static struct ibv_device_attr attributes;

static void need(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(2);
}

static int uninitialised(void) {
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    need(pd && cq, "ibv_create_cq");
    unsigned *volatile size = malloc(sizeof *size);
    struct ibv_qp_init_attr wanted = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {8, *size % 8, 1, 1, 0}};
    need(ibv_create_qp(pd, &wanted) != NULL, "ibv_create_qp");
    return 0;
}

static void *query(void *unused) {
    for (int i = 0; i < 200; ++i) need(!ibv_query_device(context, &attributes), "ibv_query_device");
    return unused;
}

static int race(void) {
    pthread_t thread;
    need(!pthread_create(&thread, NULL, query, NULL), "pthread_create");
    query(NULL);
    pthread_join(thread, NULL);
    return 0;
}

int main(int count, char **words) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    need(count == 2 && devices && devices[0], "a device, and one word");
    context = ibv_open_device(devices[0]);
    need(context != NULL, "ibv_open_device");
    ibv_free_device_list(devices);
    if (!strcmp(words[1], "uninitialised")) return uninitialised();
    if (!strcmp(words[1], "race")) return race();
    return 2;
}
