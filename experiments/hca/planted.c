// SPDX-License-Identifier: BSD-3-Clause
//
// A program that sends numbers to itself over two queue pairs and prints their sum, and its faulty
// variants. Without a word it treats every failure as it should; a word plants a fault:
//
//   leak      objects are forgotten when a completion has an error
//   unchecked a registration is used though it failed
//   blind     the status of a completion is not looked at
//   skip      a completion with an error is passed over, and its work waited for
//   no-resend a message that was lost is waited for (with `unreliable`)
//
// `unreliable`, as the second word or the first, takes a transport that loses messages.

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { messages = 20, resends_max = 5, ends = 2 };

struct program {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp[ends];
    uint32_t buffer[ends];
    const char *fault;
    enum ibv_qp_type type;
};

static int has(const struct program *p, const char *fault) {
    return strcmp(p->fault, fault) == 0;
}

static int failed(const char *what) {
    fprintf(stderr, "%s failed\n", what);
    return 1;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int open_objects(struct program *p) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    p->context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    if (list) ibv_free_device_list(list);
    if (!p->context) return failed("ibv_open_device");
    if (!(p->pd = ibv_alloc_pd(p->context))) return failed("ibv_alloc_pd");
    if (!(p->cq = ibv_create_cq(p->context, 16, NULL, NULL, 0))) return failed("ibv_create_cq");
    p->mr = ibv_reg_mr(p->pd, p->buffer, sizeof(p->buffer), IBV_ACCESS_LOCAL_WRITE);
    if (!p->mr && !has(p, "unchecked")) return failed("ibv_reg_mr");
    for (int i = 0; i < ends; ++i) {
        struct ibv_qp_init_attr init = {.send_cq = p->cq, .recv_cq = p->cq, .qp_type = p->type};
        init.cap = (struct ibv_qp_cap){8, 8, 1, 1, 0};
        if (!(p->qp[i] = ibv_create_qp(p->pd, &init))) return failed("ibv_create_qp");
    }
    return 0;
}

static int connect_to(struct program *p, int from, int to) {
    union ibv_gid gid;
    if (ibv_query_gid(p->context, 1, 0, &gid)) return failed("ibv_query_gid");
    const int reliable = p->type == IBV_QPT_RC;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (ibv_modify_qp(p->qp[from], &attr, mask)) return failed("ibv_modify_qp to INIT");

    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024};
    attr.dest_qp_num = p->qp[to]->qp_num;
    attr.ah_attr = (struct ibv_ah_attr){.is_global = 1, .port_num = 1};
    attr.ah_attr.grh = (struct ibv_global_route){.dgid = gid, .hop_limit = 1};
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (ibv_modify_qp(p->qp[from], &attr, mask)) return failed("ibv_modify_qp to RTR");

    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 12, .retry_cnt = 7};
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (reliable)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return ibv_modify_qp(p->qp[from], &attr, mask) ? failed("ibv_modify_qp to RTS") : 0;
}

static struct ibv_sge slice(struct program *p, int end) {
    return (struct ibv_sge){(uintptr_t)&p->buffer[end], sizeof(p->buffer[end]), p->mr->lkey};
}

static int post_receive(struct program *p) {
    struct ibv_sge into = slice(p, 1);
    struct ibv_recv_wr *bad, work = {.sg_list = &into, .num_sge = 1};
    return ibv_post_recv(p->qp[1], &work, &bad) ? failed("ibv_post_recv") : 0;
}

static int post_send(struct program *p, uint32_t value) {
    p->buffer[0] = value;
    struct ibv_sge from = slice(p, 0);
    struct ibv_send_wr *bad, work = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND};
    work.send_flags = IBV_SEND_SIGNALED;
    return ibv_post_send(p->qp[0], &work, &bad) ? failed("ibv_post_send") : 0;
}

// Waits for the message `value` and for the end of its send; a late one of before is passed over.
static int await_message(struct program *p, uint32_t value) {
    const double resend_s = 0.2;
    double until_s = now_s() + resend_s;
    int sent = 0, received = 0, resends = 0;
    while (!sent || !received) {
        struct ibv_wc done;
        const int count = ibv_poll_cq(p->cq, 1, &done);
        if (count < 0) return failed("ibv_poll_cq");
        if (count == 0) {
            if (p->type == IBV_QPT_RC || has(p, "no-resend") || now_s() < until_s) continue;
            if (++resends > resends_max) return failed("the peer is gone; sending");
            if (post_send(p, value)) return 1;
            until_s = now_s() + resend_s;
            continue;
        }
        if (done.status != IBV_WC_SUCCESS && has(p, "skip")) continue;
        if (done.status != IBV_WC_SUCCESS && !has(p, "blind")) {
            return failed(ibv_wc_status_str(done.status));
        }
        // Without success only wr_id, status and the queue pair say something.
        if (done.wr_id == 0 && done.qp_num == p->qp[0]->qp_num) sent = 1;
        if (done.qp_num != p->qp[1]->qp_num) continue;
        if (has(p, "blind") || p->buffer[1] == value) {
            received = 1;
        } else if (post_receive(p)) {
            return 1;
        }
    }
    return 0;
}

static int exchange(struct program *p) {
    unsigned sum = 0;
    for (uint32_t value = 1; value <= messages; ++value) {
        p->buffer[1] = 0;
        if (post_receive(p) || post_send(p, value) || await_message(p, value)) return 1;
        sum += p->buffer[1];
        if (has(p, "blind") && p->buffer[1] == 0) break;
    }
    printf("sum %u\n", sum);
    return 0;
}

static void destroy(struct program *p) {
    for (int i = 0; i < ends; ++i) {
        if (p->qp[i]) ibv_destroy_qp(p->qp[i]);
    }
    if (p->mr) ibv_dereg_mr(p->mr);
    if (p->cq) ibv_destroy_cq(p->cq);
    if (p->pd) ibv_dealloc_pd(p->pd);
    if (p->context) ibv_close_device(p->context);
}

int main(int argc, char **argv) {
    struct program p = {.fault = argc > 1 ? argv[1] : "", .type = IBV_QPT_RC};
    if (argc > 1 && strcmp(argv[argc - 1], "unreliable") == 0) p.type = IBV_QPT_UC;
    int status = open_objects(&p) || connect_to(&p, 0, 1) || connect_to(&p, 1, 0);
    if (status == 0) {
        status = exchange(&p);
        if (status != 0 && has(&p, "leak")) return status;
    }
    destroy(&p);
    return status;
}
