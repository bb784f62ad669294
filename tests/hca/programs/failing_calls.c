// SPDX-License-Identifier: BSD-3-Clause
//
// Calls every verb that a script of faults can let fail, each twice, and prints a line for each
// verb: its name, what the first call failed with, and what the second one did; 0 is well. A fault
// leaves everything as it was, so the second call works on the same objects as the first.

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char memory[8192];

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp, *datagrams;

// What a verb returned, as an errno: of those that return a pointer, -1 or the errno itself.
static int made(const void *object) {
    return object ? 0 : errno;
}
static int noted(int minus_one) {
    return minus_one ? errno : 0;
}
static int counted(ssize_t count) {
    return count < 0 ? (int)-count : 0;
}

// `call` is an expression with an errno; it is evaluated twice.
#define TRY(verb, call)                            \
    do {                                           \
        errno = 0;                                 \
        const int first = (call);                  \
        const int second = (call);                 \
        printf("%s %d %d\n", verb, first, second); \
    } while (0)

static void try_domains(void) {
    TRY("ibv_open_device", made(context = ibv_open_device(*ibv_get_device_list(NULL))));
    TRY("ibv_alloc_pd", made(pd = ibv_alloc_pd(context)));
    struct ibv_td *td = NULL;
    struct ibv_td_init_attr nothing = {0};
    TRY("ibv_alloc_td", made(td = ibv_alloc_td(context, &nothing)));
    struct ibv_parent_domain_init_attr parent = {.pd = pd, .td = td};
    TRY("ibv_alloc_parent_domain", made(ibv_alloc_parent_domain(context, &parent)));
    struct ibv_xrcd_init_attr domain = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
        .fd = -1,
        .oflags = O_CREAT};
    TRY("ibv_open_xrcd", made(ibv_open_xrcd(context, &domain)));
}

static void try_queries(void) {
    struct ibv_device_attr device;
    TRY("ibv_query_device", ibv_query_device(context, &device));
    struct ibv_port_attr port;
    TRY("ibv_query_port", ibv_query_port(context, 1, &port));
    union ibv_gid gid;
    TRY("ibv_query_gid", noted(ibv_query_gid(context, 1, 0, &gid)));
    struct ibv_gid_entry entry;
    TRY("ibv_query_gid_ex", ibv_query_gid_ex(context, 1, 0, &entry, 0));
    struct ibv_gid_entry table[256];
    TRY("ibv_query_gid_table", counted(ibv_query_gid_table(context, table, 256, 0)));
    uint16_t key;
    TRY("ibv_query_pkey", noted(ibv_query_pkey(context, 1, 0, &key)));
    struct ibv_ah_attr to = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}};
    TRY("ibv_create_ah", made(ibv_create_ah(pd, &to)));
}

static void try_memory(void) {
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
    TRY("ibv_reg_mr", made(mr = ibv_reg_mr(pd, memory, sizeof memory, access)));
    TRY("ibv_rereg_mr", noted(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access)));
    struct ibv_sge range = {(uintptr_t)memory, 1, mr->lkey};
    TRY("ibv_advise_mr", ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1));
    struct ibv_alloc_dm_attr on_device = {.length = 64};
    struct ibv_dm *dm = NULL;
    TRY("ibv_alloc_dm", made(dm = ibv_alloc_dm(context, &on_device)));
    const unsigned zero_based = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
    TRY("ibv_reg_dm_mr", made(ibv_reg_dm_mr(pd, dm, 0, 64, zero_based)));
}

static void try_queues(void) {
    struct ibv_comp_channel *channel = NULL;
    TRY("ibv_create_comp_channel", made(channel = ibv_create_comp_channel(context)));
    TRY("ibv_create_cq", made(cq = ibv_create_cq(context, 16, NULL, channel, 0)));
    TRY("ibv_resize_cq", ibv_resize_cq(cq, 32));
    TRY("ibv_req_notify_cq", ibv_req_notify_cq(cq, 0));
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 8, .max_sge = 1}};
    TRY("ibv_create_srq", made(srq = ibv_create_srq(pd, &shared)));
    struct ibv_srq_attr limits = {.srq_limit = 1};
    TRY("ibv_modify_srq", ibv_modify_srq(srq, &limits, IBV_SRQ_LIMIT));
    TRY("ibv_query_srq", ibv_query_srq(srq, &limits));
    struct ibv_recv_wr receive = {.wr_id = 1}, *bad;
    TRY("ibv_post_srq_recv", ibv_post_srq_recv(srq, &receive, &bad));
    struct ibv_qp_init_attr wanted = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {8, 8, 1, 1, 0}};
    TRY("ibv_create_qp", made(qp = ibv_create_qp(pd, &wanted)));
    wanted.qp_type = IBV_QPT_UD;
    datagrams = ibv_create_qp(pd, &wanted);
}

// Loops the queue pair of connections to itself, which makes it ready to send.
static void try_transfers(void) {
    union ibv_gid gid;
    ibv_query_gid(context, 1, 0, &gid);
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = 0};
    const int initial = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    TRY("ibv_modify_qp", ibv_modify_qp(qp, &to, initial));
    to = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = qp->qp_num,
        .max_dest_rd_atomic = 1,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}}};
    int error = ibv_modify_qp(qp, &to,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    to = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
    error |= ibv_modify_qp(qp, &to,
                           IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                               IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error) exit(2);
    struct ibv_qp_init_attr init;
    TRY("ibv_query_qp", ibv_query_qp(qp, &to, IBV_QP_STATE, &init));
    struct ibv_recv_wr receive = {.wr_id = 1}, *bad_receive;
    TRY("ibv_post_recv", ibv_post_recv(qp, &receive, &bad_receive));
    struct ibv_send_wr send = {.wr_id = 2, .opcode = IBV_WR_SEND}, *bad;
    TRY("ibv_post_send", ibv_post_send(qp, &send, &bad));
    struct ibv_mw *window = NULL;
    TRY("ibv_alloc_mw", made(window = ibv_alloc_mw(pd, IBV_MW_TYPE_1)));
    struct ibv_mw_bind bind = {.bind_info = {.mr = mr,
                                             .addr = (uintptr_t)memory,
                                             .length = 64,
                                             .mw_access_flags = IBV_ACCESS_REMOTE_READ}};
    TRY("ibv_bind_mw", ibv_bind_mw(qp, window, &bind));
}

static void try_groups(void) {
    union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [15] = 9}};
    TRY("ibv_attach_mcast", ibv_attach_mcast(datagrams, &group, 0));
    TRY("ibv_detach_mcast", ibv_detach_mcast(datagrams, &group, 0));
}

int main(void) {
    try_domains();
    try_queries();
    try_memory();
    try_queues();
    try_transfers();
    try_groups();
    return 0;
}
