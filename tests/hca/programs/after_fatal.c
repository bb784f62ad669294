// SPDX-License-Identifier: BSD-3-Clause
//
// Sends to itself until a script of faults lets the device die, and prints what the calls of a
// program that goes on return then: a line for each verb, its name and an errno, 0 is well. The
// posted work comes back flushed, and all objects can be destroyed.

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

static char memory[4096];

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp;
static struct ibv_qp *in_group;  // for datagrams
static union ibv_gid gid;
static const union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 3}};

static void require(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "after_fatal: %s\n", what);
    exit(2);
}

static void create(void) {
    context = ibv_open_device(*ibv_get_device_list(NULL));
    require(context != NULL, "no device");
    pd = ibv_alloc_pd(context);
    mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 16, NULL, channel, 0);
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 8, .max_sge = 1}};
    srq = ibv_create_srq(pd, &shared);
    struct ibv_qp_init_attr wanted = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {8, 8, 1, 1, 0}};
    qp = ibv_create_qp(pd, &wanted);
    wanted.qp_type = IBV_QPT_UD;
    in_group = ibv_create_qp(pd, &wanted);
    require(mr && cq && srq && qp && in_group && ibv_query_gid(context, 1, 0, &gid) == 0,
            "an object is missing");
}

static void join(void) {
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    const int error =
        ibv_modify_qp(in_group, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    require(error == 0 && ibv_attach_mcast(in_group, &group, 0) == 0, "no group");
}

static struct ibv_ah_attr to_itself(void) {
    return (struct ibv_ah_attr){
        .is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}};
}

static void loop(void) {
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    int error = ibv_modify_qp(qp, &to,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    to = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = qp->qp_num,
                              .max_dest_rd_atomic = 1,
                              .ah_attr = to_itself()};
    error |= ibv_modify_qp(qp, &to,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                               IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    to = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
    error |= ibv_modify_qp(qp, &to,
                           IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                               IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
    require(error == 0, "the queue pair is not ready");
}

static int post_receive(void) {
    struct ibv_recv_wr receive = {.wr_id = 1}, *bad;
    return ibv_post_recv(qp, &receive, &bad);
}

static int post_send(void) {
    struct ibv_send_wr send = {.wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    return ibv_post_send(qp, &send, &bad);
}

static void print_flushed(const char *which) {
    struct ibv_wc done[2];
    int count = 0;
    while (count < 2) count += ibv_poll_cq(cq, 2 - count, done + count);
    printf("%s %s, %s\n", which, ibv_wc_status_str(done[0].status),
           ibv_wc_status_str(done[1].status));
}

static int made(const void *object) {
    return object ? 0 : errno;
}
static int noted(int minus_one) {
    return minus_one ? errno : 0;
}

static void print_domains(void) {
    struct ibv_td_init_attr nothing = {0};
    struct ibv_parent_domain_init_attr parent = {.pd = pd};
    struct ibv_xrcd_init_attr domain = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
        .fd = -1,
        .oflags = O_CREAT};
    struct ibv_ah_attr to = to_itself();
    printf("ibv_alloc_pd %d\n", made(ibv_alloc_pd(context)));
    printf("ibv_alloc_td %d\n", made(ibv_alloc_td(context, &nothing)));
    printf("ibv_alloc_parent_domain %d\n", made(ibv_alloc_parent_domain(context, &parent)));
    printf("ibv_open_xrcd %d\n", made(ibv_open_xrcd(context, &domain)));
    printf("ibv_create_ah %d\n", made(ibv_create_ah(pd, &to)));
    struct ibv_wc datagram = {.wc_flags = IBV_WC_GRH};
    struct ibv_grh header = {0};
    printf("ibv_init_ah_from_wc %d\n", ibv_init_ah_from_wc(context, 1, &datagram, &header, &to));
}

static void print_queries(void) {
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    struct ibv_srq_attr limits;
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr init;
    struct ibv_gid_entry entry;
    uint16_t key;
    printf("ibv_query_device %d\n", ibv_query_device(context, &device));
    printf("ibv_query_port %d\n", ibv_query_port(context, 1, &port));
    printf("ibv_query_gid %d\n", noted(ibv_query_gid(context, 1, 0, &gid)));
    printf("ibv_query_gid_ex %d\n", ibv_query_gid_ex(context, 1, 0, &entry, 0));
    printf("ibv_query_gid_table %d\n", (int)-ibv_query_gid_table(context, &entry, 1, 0));
    printf("ibv_query_pkey %d\n", noted(ibv_query_pkey(context, 1, 0, &key)));
    printf("ibv_query_srq %d\n", ibv_query_srq(srq, &limits));
    printf("ibv_query_qp %d\n", ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init));
}

static void print_memory(void) {
    struct ibv_sge range = {(uintptr_t)memory, 1, mr->lkey};
    struct ibv_alloc_dm_attr on_device = {.length = 64};
    const int access = IBV_ACCESS_LOCAL_WRITE;
    printf("ibv_reg_mr %d\n", made(ibv_reg_mr(pd, memory, sizeof memory, access)));
    printf("ibv_rereg_mr %d\n",
           noted(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access)));
    printf("ibv_advise_mr %d\n", ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1));
    printf("ibv_alloc_dm %d\n", made(ibv_alloc_dm(context, &on_device)));
    printf("ibv_alloc_mw %d\n", made(ibv_alloc_mw(pd, IBV_MW_TYPE_1)));
}

static void print_queues(void) {
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 8, .max_sge = 1}};
    struct ibv_srq_attr limits = {.srq_limit = 1};
    struct ibv_qp_init_attr wanted = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {8, 8, 1, 1, 0}};
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    printf("ibv_create_comp_channel %d\n", made(ibv_create_comp_channel(context)));
    printf("ibv_create_cq %d\n", made(ibv_create_cq(context, 16, NULL, NULL, 0)));
    printf("ibv_resize_cq %d\n", ibv_resize_cq(cq, 32));
    printf("ibv_create_srq %d\n", made(ibv_create_srq(pd, &shared)));
    printf("ibv_modify_srq %d\n", ibv_modify_srq(srq, &limits, IBV_SRQ_LIMIT));
    printf("ibv_create_qp %d\n", made(ibv_create_qp(pd, &wanted)));
    printf("ibv_modify_qp %d\n", ibv_modify_qp(qp, &reset, IBV_QP_STATE));
    printf("ibv_req_notify_cq %d\n", ibv_req_notify_cq(cq, 0));
}

static void print_destroyed(void) {
    printf("ibv_attach_mcast %d\n", ibv_attach_mcast(in_group, &group, 0));
    printf("ibv_detach_mcast %d\n", ibv_detach_mcast(in_group, &group, 0));
    const int failed = ibv_destroy_qp(in_group) | ibv_destroy_qp(qp) | ibv_destroy_srq(srq) |
                       ibv_destroy_cq(cq) | ibv_destroy_comp_channel(channel) | ibv_dereg_mr(mr) |
                       ibv_dealloc_pd(pd) | ibv_close_device(context);
    printf("destroyed %d\n", failed);
    create();  // as after the driver has reset a card
    loop();
    printf("opened again 0\n");
}

int main(void) {
    create();
    join();
    loop();
    require(post_receive() == 0 && post_send() == 0, "nothing is posted");
    struct ibv_async_event event;
    require(ibv_get_async_event(context, &event) == 0, "no event");
    printf("%s\n", ibv_event_type_str(event.event_type));
    ibv_ack_async_event(&event);
    print_flushed("posted before:");
    require(post_receive() == 0 && post_send() == 0, "a queue pair in error takes no work");
    print_flushed("posted after:");
    print_domains();
    print_queries();
    print_memory();
    print_queues();
    print_destroyed();
    return 0;
}
