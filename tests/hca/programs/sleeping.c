// SPDX-License-Identifier: BSD-3-Clause
//
// Posts more datagrams to an address than the send buffer of a socket holds, and sleeps until
// all are sent. The status is 0 if it was woken for all of them within the time limit.

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { datagrams = 16000, bytes = 4096, seconds_max = 20 };

static void need(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(2);
}

int main(int count, char **words) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(count == 2 && list && list[0], "a device, and an IPv4 address");
    struct ibv_context *context = ibv_open_device(list[0]);
    need(context != NULL, "ibv_open_device");
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, datagrams, NULL, channel, 0);
    char *memory = calloc(1, bytes);
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_qp_init_attr wanted = {.send_cq = cq,
                                      .recv_cq = cq,
                                      .qp_type = IBV_QPT_UD,
                                      .cap = {datagrams, 1, 1, 1, 0},
                                      .sq_sig_all = 1};
    struct ibv_qp *qp = ibv_create_qp(pd, &wanted);
    need(mr && qp, "ibv_create_qp");
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1};
    need(!ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
         "to INIT");
    to.qp_state = IBV_QPS_RTR;
    need(!ibv_modify_qp(qp, &to, IBV_QP_STATE), "to RTR");
    to.qp_state = IBV_QPS_RTS;
    need(!ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_SQ_PSN), "to RTS");
    struct ibv_ah_attr where = {.is_global = 1, .port_num = 1};
    where.grh.dgid.raw[10] = where.grh.dgid.raw[11] = 0xff;
    need(inet_pton(AF_INET, words[1], where.grh.dgid.raw + 12) == 1, "inet_pton");
    struct ibv_ah *ah = ibv_create_ah(pd, &where);
    need(ah != NULL, "ibv_create_ah");

    need(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
    struct ibv_sge piece = {(uintptr_t)memory, bytes, mr->lkey};
    struct ibv_send_wr *bad, work = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND};
    work.wr.ud.ah = ah;
    work.wr.ud.remote_qpn = qp->qp_num;
    work.wr.ud.remote_qkey = 1;
    for (int i = 0; i < datagrams; ++i) need(!ibv_post_send(qp, &work, &bad), "ibv_post_send");

    alarm(seconds_max);
    int sent = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    while (sent < datagrams) {
        struct ibv_cq *ready;
        void *unused;
        struct ibv_wc done[64];
        need(!ibv_get_cq_event(channel, &ready, &unused), "ibv_get_cq_event");
        ibv_ack_cq_events(cq, 1);
        need(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
        for (int got; (got = ibv_poll_cq(cq, 64, done)) > 0;) sent += got;
        printf("%d sent\n", sent);
    }
    return 0;
}
