/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens COUNT (an even number) queue pairs of one device and joins them in twos, sends a message
 * from each, and sleeps for SECONDS. Prints what a queue pair takes of memory, and the share of a
 * processor that the process took while it slept:
 *
 *     queue_pairs 10000 bytes_each 2345 idle_percent 0.01
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void need(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "cannot %s\n", what);
    exit(1);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double processor_seconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static long resident_bytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    need(file && fscanf(file, "%*d %ld", &pages) == 1, "read /proc/self/statm");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static struct ibv_qp *make(struct ibv_pd *domain, struct ibv_cq *queue) {
    struct ibv_qp_init_attr wanted = {
        .send_cq = queue,
        .recv_cq = queue,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
    };
    struct ibv_qp *made = ibv_create_qp(domain, &wanted);
    need(made != NULL, "create a queue pair");
    return made;
}

static void join(struct ibv_qp *qp, const union ibv_gid *gid, uint32_t peer) {
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    need(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
         "initialise a queue pair");
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = *gid;
    need(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
         "make a queue pair receive");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 18;
    attr.retry_cnt = attr.rnr_retry = 7;
    need(!ibv_modify_qp(qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
         "make a queue pair send");
}

static void send_one(struct ibv_qp *from, struct ibv_qp *to, struct ibv_cq *queue) {
    struct ibv_recv_wr receive = {0}, *bad_receive;
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad_send;
    struct ibv_wc done[2];
    int got = 0;
    need(!ibv_post_recv(to, &receive, &bad_receive), "post a receive");
    need(!ibv_post_send(from, &send, &bad_send), "post a send");
    while (got < 2) {
        const int more = ibv_poll_cq(queue, 2 - got, done + got);
        need(more >= 0, "poll");
        got += more;
    }
    need(done[0].status == IBV_WC_SUCCESS && done[1].status == IBV_WC_SUCCESS, "send a message");
}

int main(int count, char **words) {
    need(count == 3, "start; say COUNT SECONDS");
    const int pairs = atoi(words[1]);
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(list && list[0], "find a device");
    struct ibv_context *context = ibv_open_device(list[0]);
    need(context != NULL, "open the device");
    union ibv_gid gid;
    need(!ibv_query_gid(context, 1, 0, &gid), "find the address of port 1");
    struct ibv_pd *domain = ibv_alloc_pd(context);
    struct ibv_cq *queue = ibv_create_cq(context, 64, NULL, NULL, 0);
    struct ibv_qp **all = calloc((size_t)pairs, sizeof *all);
    need(domain && queue && all, "begin");

    const long before = resident_bytes();
    for (int i = 0; i < pairs; ++i) all[i] = make(domain, queue);
    /* In twos: each is the peer of its neighbour. */
    for (int i = 0; i < pairs; ++i) join(all[i], &gid, all[i ^ 1]->qp_num);
    for (int i = 0; i < pairs; ++i) send_one(all[i], all[i ^ 1], queue);
    const long each = (resident_bytes() - before) / pairs;

    const double slept_from = seconds_now(), used_before = processor_seconds();
    sleep((unsigned)atoi(words[2]));
    const double used = processor_seconds() - used_before;
    printf("queue_pairs %d bytes_each %ld idle_percent %.4f\n", pairs, each,
           100 * used / (seconds_now() - slept_from));
    for (int i = 0; i < pairs; ++i) need(!ibv_destroy_qp(all[i]), "destroy a queue pair");
    ibv_destroy_cq(queue);
    ibv_dealloc_pd(domain);
    ibv_close_device(context);
    ibv_free_device_list(list);
    return 0;
}
