/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that uses verbs as nobody should: wrong values, objects in use, what the device does
 * not have, handles that were destroyed, a queue of completions that overruns, a child of the
 * process. For each call it knows what the manual says; one line tells where it is not so, the last
 * counts.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { buffer_bytes = 4096, queue_requests = 4 };

static struct ibv_context *context;
static struct ibv_comp_channel *channel;
static struct ibv_pd *domain;
static struct ibv_mr *region;
static struct ibv_cq *queue;
static struct ibv_srq *shared;
static struct ibv_qp *pair;
static struct ibv_ah *address;
static struct ibv_dm *device_memory;
static struct ibv_mr *region_of_it;
static char buffer[buffer_bytes];
static int checks, wrong;

static void expect(const char *what, int got, int wanted) {
    ++checks;
    if (got == wanted) return;
    ++wrong;
    printf("%s: %d (%s) instead of %d (%s)\n", what, got, strerror(got), wanted, strerror(wanted));
}

/* Calls that return an error number; a pointer, with errno; and -1, with errno. */
#define NUMBER(wanted, call) expect(#call, call, wanted)
#define NOTHING(wanted, call) (errno = 0, expect(#call, (call) ? 0 : errno, wanted))
#define MINUS(wanted, call) (errno = 0, expect(#call, (call) == -1 ? errno : 0, wanted))

static void need(int good, const char *what) {
    if (good) return;
    printf("failed: %s (%s)\n", what, strerror(errno));
    exit(1);
}

static struct ibv_qp_init_attr pair_of(struct ibv_cq *completions) {
    return (struct ibv_qp_init_attr){
        .send_cq = completions,
        .recv_cq = completions,
        .cap = {queue_requests, queue_requests, 2, 2, 16},
        .qp_type = IBV_QPT_RC,
    };
}

static struct ibv_ah_attr to_myself(void) {
    struct ibv_ah_attr to = {.is_global = 1, .port_num = 1};
    need(ibv_query_gid(context, 1, 0, &to.grh.dgid) == 0, "the first GID");
    return to;
}

static void make_all(struct ibv_device *device) {
    need((context = ibv_open_device(device)) != NULL, "ibv_open_device");
    need((channel = ibv_create_comp_channel(context)) != NULL, "ibv_create_comp_channel");
    need((domain = ibv_alloc_pd(context)) != NULL, "ibv_alloc_pd");
    region = ibv_reg_mr(domain, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
    need(region != NULL, "ibv_reg_mr");
    need((queue = ibv_create_cq(context, 8, NULL, channel, 0)) != NULL, "ibv_create_cq");
    struct ibv_srq_init_attr of_shared = {.attr = {.max_wr = 4, .max_sge = 1}};
    need((shared = ibv_create_srq(domain, &of_shared)) != NULL, "ibv_create_srq");
    struct ibv_qp_init_attr of_pair = pair_of(queue);
    need((pair = ibv_create_qp(domain, &of_pair)) != NULL, "ibv_create_qp");
    struct ibv_ah_attr to = to_myself();
    need((address = ibv_create_ah(domain, &to)) != NULL, "ibv_create_ah");
    struct ibv_alloc_dm_attr of_memory = {.length = 64};
    need((device_memory = ibv_alloc_dm(context, &of_memory)) != NULL, "ibv_alloc_dm");
    region_of_it = ibv_reg_dm_mr(domain, device_memory, 0, 64, IBV_ACCESS_ZERO_BASED);
    need(region_of_it != NULL, "ibv_reg_dm_mr");
}

static int send_one(struct ibv_qp *to, int pieces) {
    struct ibv_sge list[8];
    for (int i = 0; i < 8; ++i) list[i] = (struct ibv_sge){(uintptr_t)buffer, 8, region->lkey};
    struct ibv_send_wr *bad = NULL, work = {.sg_list = list, .num_sge = pieces};
    const int error = ibv_post_send(to, &work, &bad);
    if (error && bad != &work) expect("the bad request of ibv_post_send", 1, 0);
    return error;
}

static int receive_one(struct ibv_qp *at, int pieces) {
    struct ibv_sge list[8];
    for (int i = 0; i < 8; ++i) list[i] = (struct ibv_sge){(uintptr_t)buffer, 8, region->lkey};
    struct ibv_recv_wr *bad = NULL, work = {.sg_list = list, .num_sge = pieces};
    const int error = ibv_post_recv(at, &work, &bad);
    if (error && bad != &work) expect("the bad request of ibv_post_recv", 1, 0);
    return error;
}

static int share_one(struct ibv_srq *at) {
    struct ibv_sge one = {(uintptr_t)buffer, 8, region->lkey};
    struct ibv_recv_wr *bad = NULL, work = {.sg_list = &one, .num_sge = 1};
    return ibv_post_srq_recv(at, &work, &bad);
}

static int build_one(struct ibv_qp_ex *to) {
    ibv_wr_start(to);
    ibv_wr_rdma_write(to, 1, 0);
    ibv_wr_set_sge(to, region->lkey, (uintptr_t)buffer, 8);
    return ibv_wr_complete(to);
}

static int modify(struct ibv_qp *what, enum ibv_qp_state to, int mask) {
    struct ibv_qp_attr wanted = {.qp_state = to, .port_num = 1};
    return ibv_modify_qp(what, &wanted, IBV_QP_STATE | mask);
}

enum {
    init_mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
    rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
};

static void wrong_values(void) {
    struct ibv_port_attr port;
    union ibv_gid gid;
    __be16 key;
    NUMBER(EINVAL, ibv_query_port(context, 0, &port));
    NUMBER(EINVAL, ibv_query_port(context, 9, &port));
    MINUS(EINVAL, ibv_query_gid(context, 9, 0, &gid));
    MINUS(EINVAL, ibv_query_gid(context, 1, 1000, &gid));
    MINUS(EINVAL, ibv_query_pkey(context, 1, 5, &key));
    NOTHING(EINVAL, ibv_create_cq(context, 0, NULL, NULL, 0));
    NOTHING(EINVAL, ibv_create_cq(context, 1 << 30, NULL, NULL, 0));
    NOTHING(EINVAL, ibv_create_cq(context, 8, NULL, NULL, 99));
    NUMBER(EINVAL, ibv_resize_cq(queue, 0));
    struct ibv_qp_init_attr large = pair_of(queue);
    large.cap.max_send_wr = 1 << 30;
    NOTHING(EINVAL, ibv_create_qp(domain, &large));
    NOTHING(EINVAL, ibv_reg_mr(domain, buffer, 8, IBV_ACCESS_REMOTE_WRITE));
    struct ibv_ah_attr nowhere = {.is_global = 1, .port_num = 77};
    NOTHING(EINVAL, ibv_create_ah(domain, &nowhere));
    char *gone = mmap(NULL, buffer_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(gone, buffer_bytes);
    NOTHING(EFAULT, ibv_reg_mr(domain, gone, buffer_bytes, IBV_ACCESS_LOCAL_WRITE));
    struct ibv_srq_attr limit = {.srq_limit = 1000};
    NUMBER(EINVAL, ibv_modify_srq(shared, &limit, IBV_SRQ_LIMIT));
    NUMBER(EINVAL, ibv_modify_srq(shared, &limit, 1 << 20));
}

static void wrong_states_and_masks(void) {
    NUMBER(EINVAL, send_one(pair, 1));
    NUMBER(EINVAL, receive_one(pair, 1));
    NUMBER(EINVAL, modify(pair, IBV_QPS_RTS, 0));
    NUMBER(EINVAL, modify(pair, IBV_QPS_INIT, 0));
    NUMBER(EINVAL, modify(pair, IBV_QPS_INIT, init_mask | IBV_QP_SQ_PSN));
    NUMBER(EINVAL, modify(pair, (enum ibv_qp_state)77, init_mask));
    NUMBER(0, modify(pair, IBV_QPS_INIT, init_mask));
    NUMBER(EINVAL, send_one(pair, 1));
    NUMBER(EINVAL, receive_one(pair, 3));
    for (int i = 0; i < queue_requests; ++i) NUMBER(0, receive_one(pair, 1));
    NUMBER(ENOMEM, receive_one(pair, 1));
    NUMBER(EINVAL, modify(pair, IBV_QPS_RTR, IBV_QP_AV));
    struct ibv_qp_attr no_mtu = {
        .qp_state = IBV_QPS_RTR, .path_mtu = 200, .ah_attr = to_myself(), .min_rnr_timer = 1};
    NUMBER(EINVAL, ibv_modify_qp(pair, &no_mtu, rtr_mask));
    no_mtu.path_mtu = 256 + IBV_MTU_1024;  // in a byte, an MTU
    NUMBER(EINVAL, ibv_modify_qp(pair, &no_mtu, rtr_mask));
}

static void objects_in_use(void) {
    NUMBER(EBUSY, ibv_dealloc_pd(domain));
    NUMBER(EBUSY, ibv_destroy_cq(queue));
    NUMBER(EBUSY, ibv_destroy_comp_channel(channel));
    NUMBER(EBUSY, ibv_free_dm(device_memory));
    struct ibv_qp_init_attr sharing = pair_of(queue);
    sharing.srq = shared;
    struct ibv_qp *user = ibv_create_qp(domain, &sharing);
    need(user != NULL, "ibv_create_qp with a shared receive queue");
    NUMBER(EBUSY, ibv_destroy_srq(shared));
    NUMBER(0, modify(user, IBV_QPS_INIT, init_mask));
    NUMBER(EINVAL, receive_one(user, 1));
    NUMBER(0, ibv_destroy_qp(user));
}

static void what_is_not_there(void) {
    struct ibv_qp_init_attr raw = pair_of(queue);
    raw.qp_type = IBV_QPT_RAW_PACKET;
    NOTHING(EOPNOTSUPP, ibv_create_qp(domain, &raw));
    NOTHING(EINVAL, ibv_alloc_mw(domain, 3));
    struct ibv_xrcd_init_attr unused = {.comp_mask = 0};
    NOTHING(EINVAL, ibv_open_xrcd(context, &unused));
    struct ibv_qp_init_attr taking = pair_of(queue);
    taking.qp_type = IBV_QPT_XRC_RECV;
    NOTHING(EINVAL, ibv_create_qp(domain, &taking));
    unsigned number = 0;
    NUMBER(EOPNOTSUPP, ibv_get_srq_num(shared, &number));
    struct ibv_alloc_dm_attr memory = {.length = 64, .comp_mask = 1};
    NOTHING(EINVAL, ibv_alloc_dm(context, &memory));
    struct ibv_td_init_attr thread = {.comp_mask = 1};
    NOTHING(EINVAL, ibv_alloc_td(context, &thread));
    union ibv_gid group = {.raw = {0xff, 0x0e}};
    NUMBER(EINVAL, ibv_attach_mcast(pair, &group, 0));
    NOTHING(EOPNOTSUPP, ibv_import_device(0));
    NOTHING(EOPNOTSUPP, ibv_reg_mr(domain, buffer, 8, 1 << 8));
}

static void windows(void) {
    struct ibv_mw *first = ibv_alloc_mw(domain, IBV_MW_TYPE_1);
    struct ibv_mw *second = ibv_alloc_mw(domain, IBV_MW_TYPE_2);
    need(first && second, "ibv_alloc_mw");
    struct ibv_mw_bind wanted = {.bind_info = {region, (uintptr_t)buffer, 8, 0}};
    NUMBER(EINVAL, ibv_bind_mw(pair, second, &wanted));
    wanted.bind_info.mw_access_flags = IBV_ACCESS_ON_DEMAND;
    NUMBER(EINVAL, ibv_bind_mw(pair, first, &wanted));
    struct ibv_send_wr *bad,
        bind = {.opcode = IBV_WR_BIND_MW, .bind_mw = {first, first->rkey, {region, 0, 0, 0}}};
    NUMBER(EINVAL, ibv_post_send(pair, &bind, &bad));
    bind.bind_mw.mw = second;
    NUMBER(EINVAL, ibv_post_send(pair, &bind, &bad));
    NUMBER(EBUSY, ibv_dealloc_pd(domain));
    NUMBER(0, ibv_dealloc_mw(first));
    NUMBER(0, ibv_dealloc_mw(second));
    NUMBER(EINVAL, ibv_dealloc_mw(second));
    NUMBER(EINVAL, ibv_bind_mw(pair, first, &wanted));
}

/* One completion more than a queue says that it holds, of a queue pair with as many receives. */
static void completions_that_overrun(void) {
    struct ibv_cq *small = ibv_create_cq(context, 1, NULL, NULL, 0);
    need(small != NULL, "a queue of one completion");
    struct ibv_qp_init_attr of_pair = pair_of(small);
    of_pair.cap.max_recv_wr = (uint32_t)small->cqe + 1;
    struct ibv_qp *flushed = ibv_create_qp(domain, &of_pair);
    need(flushed != NULL, "ibv_create_qp");
    NUMBER(0, modify(flushed, IBV_QPS_INIT, init_mask));
    for (int i = 0; i < small->cqe + 1; ++i) NUMBER(0, receive_one(flushed, 1));
    NUMBER(0, modify(flushed, IBV_QPS_ERR, 0));
    struct ibv_async_event event;
    do {
        need(ibv_get_async_event(context, &event) == 0, "ibv_get_async_event");
        ibv_ack_async_event(&event);
    } while (event.event_type != IBV_EVENT_CQ_ERR);
    expect("the queue that overran", event.element.cq == small ? 0 : EINVAL, 0);
    struct ibv_wc done;
    for (int i = 0; i < small->cqe; ++i) {
        expect("a completion that had room", ibv_poll_cq(small, 1, &done), 1);
    }
    NUMBER(0, ibv_destroy_qp(flushed));
    NUMBER(0, ibv_destroy_cq(small));
    ibv_ack_async_event(&event);
}

/* Everything that a child may try with what its parent has opened. */
static void a_child(void) {
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr init = pair_of(queue);
    struct ibv_srq_attr limits;
    struct ibv_async_event event;
    struct ibv_wc done;
    struct ibv_cq *notified;
    void *cookie;
    NOTHING(EPERM, ibv_alloc_pd(context));
    NOTHING(EPERM, ibv_reg_mr(domain, buffer, 8, IBV_ACCESS_LOCAL_WRITE));
    NOTHING(EPERM, ibv_alloc_mw(domain, IBV_MW_TYPE_1));
    NOTHING(EPERM, ibv_create_cq(context, 8, NULL, NULL, 0));
    NOTHING(EPERM, ibv_create_comp_channel(context));
    NOTHING(EPERM, ibv_create_qp(domain, &init));
    NUMBER(EPERM, ibv_query_qp(pair, &attributes, IBV_QP_STATE, &init));
    NUMBER(EPERM, modify(pair, IBV_QPS_ERR, 0));
    NUMBER(EPERM, send_one(pair, 1));
    NUMBER(EPERM, receive_one(pair, 1));
    NUMBER(EPERM, share_one(shared));
    NUMBER(EPERM, ibv_query_srq(shared, &limits));
    NUMBER(EPERM, ibv_req_notify_cq(queue, 0));
    NUMBER(EPERM, ibv_resize_cq(queue, 16));
    expect("ibv_poll_cq in a child", ibv_poll_cq(queue, 1, &done) < 0, 1);
    MINUS(EPERM, ibv_get_async_event(context, &event));
    MINUS(EPERM, ibv_get_cq_event(channel, &notified, &cookie));
    NUMBER(0, ibv_destroy_qp(pair));
    NUMBER(0, ibv_destroy_cq(queue));
    NUMBER(0, ibv_destroy_comp_channel(channel));
    NUMBER(0, ibv_destroy_srq(shared));
    NUMBER(0, ibv_destroy_ah(address));
    NUMBER(0, ibv_free_dm(device_memory));
    NUMBER(0, ibv_dereg_mr(region));
    NUMBER(0, ibv_dealloc_pd(domain));
    NUMBER(0, ibv_close_device(context));
}

static void children(struct ibv_device *device) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        a_child();
        struct ibv_context *own = ibv_open_device(device);
        expect("a device that a child opens", own != NULL, 1);
        NUMBER(0, ibv_close_device(own));
        fflush(stdout);
        _exit(wrong > 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    expect("the child", status, 0);
}

static void destroyed_handles(void) {
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr init = pair_of(queue);
    struct ibv_device_attr device;
    struct ibv_wc done;
    struct ibv_qp_ex *building = ibv_qp_to_qp_ex(pair);
    NUMBER(EINVAL, build_one(building)); /* not in a state to send */
    NUMBER(0, ibv_destroy_ah(address));
    NUMBER(EINVAL, ibv_destroy_ah(address));
    NUMBER(0, ibv_destroy_qp(pair));
    NUMBER(EINVAL, ibv_destroy_qp(pair));
    NUMBER(EINVAL, ibv_query_qp(pair, &attributes, IBV_QP_STATE, &init));
    NUMBER(EINVAL, modify(pair, IBV_QPS_ERR, 0));
    NUMBER(EINVAL, send_one(pair, 1));
    NUMBER(EINVAL, receive_one(pair, 1));
    NUMBER(EINVAL, build_one(building));
    NOTHING(EINVAL, ibv_qp_to_qp_ex(pair));
    NUMBER(0, ibv_destroy_srq(shared));
    NUMBER(EINVAL, ibv_destroy_srq(shared));
    NUMBER(EINVAL, share_one(shared));
    NUMBER(0, ibv_destroy_cq(queue));
    NUMBER(EINVAL, ibv_destroy_cq(queue));
    NUMBER(EINVAL, ibv_req_notify_cq(queue, 0));
    NUMBER(EINVAL, ibv_resize_cq(queue, 16));
    expect("ibv_poll_cq of a destroyed queue", ibv_poll_cq(queue, 1, &done) < 0, 1);
    init = pair_of(queue);
    NOTHING(EINVAL, ibv_create_qp(domain, &init));
    NUMBER(0, ibv_destroy_comp_channel(channel));
    NUMBER(EINVAL, ibv_destroy_comp_channel(channel));
    NOTHING(EINVAL, ibv_create_cq(context, 8, NULL, channel, 0));
    NUMBER(0, ibv_dereg_mr(region));
    NUMBER(EINVAL, ibv_dereg_mr(region));
    NUMBER(0, ibv_dereg_mr(region_of_it));
    NUMBER(0, ibv_free_dm(device_memory));
    NUMBER(EINVAL, ibv_free_dm(device_memory));
    NUMBER(0, ibv_dealloc_pd(domain));
    NUMBER(EINVAL, ibv_dealloc_pd(domain));
    NOTHING(EINVAL, ibv_reg_mr(domain, buffer, 8, IBV_ACCESS_LOCAL_WRITE));
    NUMBER(0, ibv_close_device(context));
    MINUS(EINVAL, ibv_close_device(context));
    NUMBER(EINVAL, ibv_query_device(context, &device));
    NOTHING(EINVAL, ibv_alloc_pd(context));
}

int main(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    need(devices && devices[0], "a device");
    make_all(devices[0]);
    wrong_values();
    wrong_states_and_masks();
    objects_in_use();
    what_is_not_there();
    windows();
    completions_that_overrun();
    children(devices[0]);
    destroyed_handles();
    printf("%d checks, %d wrong\n", checks, wrong);
    return wrong > 0;
}
