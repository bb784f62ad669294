// SPDX-License-Identifier: BSD-3-Clause
//
// Posts to a peer that is not there, and sleeps until it is told so, which only the helper thread
// of the device can do, by the time. The thread stands still whenever it has unlocked a mutex, and
// the program posts then: the status is 0 if it was told each time.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { rounds = 12, pause_us = 20000, limit_ms = 5000 };

static int (*unlock)(pthread_mutex_t *);
static pthread_t main_thread;
static atomic_int is_still, has_stood;

static void need(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(2);
}

__attribute__((constructor)) static void find_unlock(void) {
    main_thread = pthread_self();
    *(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    const int error = unlock(mutex);
    if (pthread_equal(pthread_self(), main_thread)) return error;
    is_still = 1;
    usleep(pause_us);
    is_still = 0;
    ++has_stood;
    return error;
}

static void join_nobody(struct ibv_qp *qp) {
    union ibv_gid gid;
    need(!ibv_query_gid(qp->context, 1, 0, &gid), "ibv_query_gid");
    gid.raw[15] = 77;  // what is sent to this host would wake the thread
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_RESET, .port_num = 1};
    need(!ibv_modify_qp(qp, &to, IBV_QP_STATE), "to RESET");
    to.qp_state = IBV_QPS_INIT;
    need(!ibv_modify_qp(qp, &to,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
         "to INIT");
    to = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = 85,
        .min_rnr_timer = 1,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}}};
    need(!ibv_modify_qp(qp, &to,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
         "to RTR");
    to = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 10, .retry_cnt = 1};
    need(!ibv_modify_qp(qp, &to,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                            IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
         "to RTS");
}

// When the thread has stood still so often more, and does so again.
static void await_stop(int more) {
    const int before = has_stood;
    for (int tries = 0; tries < 200; ++tries) {
        if (has_stood >= before + more && is_still) return;
        usleep(1000);
    }
}

static int is_told(struct ibv_comp_channel *channel, struct ibv_cq *cq) {
    struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
    if (poll(&ready, 1, limit_ms) != 1) return 0;
    void *cookie;
    struct ibv_wc done;
    need(!ibv_get_cq_event(channel, &cq, &cookie), "ibv_get_cq_event");
    ibv_ack_cq_events(cq, 1);
    need(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
    return ibv_poll_cq(cq, 1, &done) == 1 && done.status == IBV_WC_RETRY_EXC_ERR;
}

int main(void) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(list && list[0], "a device");
    struct ibv_context *context = ibv_open_device(list[0]);
    need(context != NULL, "ibv_open_device");
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, channel, 0);
    struct ibv_qp_init_attr wanted = {.send_cq = cq,
                                      .recv_cq = cq,
                                      .qp_type = IBV_QPT_RC,
                                      .sq_sig_all = 1,
                                      .cap = {8, 8, 1, 1, 0}};
    struct ibv_qp *qp = ibv_create_qp(ibv_alloc_pd(context), &wanted);
    need(qp && !ibv_req_notify_cq(cq, 0), "a queue pair");
    int told = 0;
    for (int round = 0; round < rounds && told == round; ++round) {
        join_nobody(qp);
        await_stop(round % 3);
        struct ibv_send_wr *bad, work = {.opcode = IBV_WR_SEND};
        need(!ibv_post_send(qp, &work, &bad), "ibv_post_send");
        told += is_told(channel, cq);
    }
    printf("told %d times of %d\n", told, rounds);
    return told != rounds;
}
