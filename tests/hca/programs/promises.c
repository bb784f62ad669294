// SPDX-License-Identifier: BSD-3-Clause
//
// What the manual promises of memory, of domains, of times and of requests that are built by calls,
// kept or not: two queue pairs of one process. The word on the command line says what is tried; the
// status is 0 if it was as the manual says.

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { page = 4096 };
enum {
    all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
          IBV_ACCESS_REMOTE_ATOMIC
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *a, *b;
static char *memory;
static struct ibv_mr *mr;

static void need(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(2);
}

static struct ibv_qp *make(void) {
    struct ibv_qp_init_attr_ex wanted = {
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .cap = {8, 8, 1, 1, 64},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE};
    struct ibv_qp *made = ibv_create_qp_ex(context, &wanted);
    need(made != NULL, "ibv_create_qp_ex");
    return made;
}

// Each side takes the attributes that it has: an extended queue pair sends or receives.
static void join(struct ibv_qp *qp, unsigned peer) {
    const int sends = qp->qp_type != IBV_QPT_XRC_RECV;
    const int takes = qp->qp_type != IBV_QPT_XRC_SEND;
    union ibv_gid gid;
    need(!ibv_query_gid(context, 1, 0, &gid), "ibv_query_gid");
    struct ibv_port_attr port;
    need(!ibv_query_port(context, 1, &port), "ibv_query_port");
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = all};
    need(!ibv_modify_qp(qp, &to,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
         "to INIT");
    to.qp_state = IBV_QPS_RTR;
    to.path_mtu = port.active_mtu;
    to.dest_qp_num = peer;
    to.max_dest_rd_atomic = 4;
    to.min_rnr_timer = 1;
    to.ah_attr = (struct ibv_ah_attr){.is_global = 1, .port_num = 1, .grh.dgid = gid};
    const int taking = takes ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;
    need(!ibv_modify_qp(
             qp, &to,
             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | taking),
         "to RTR");
    to.qp_state = IBV_QPS_RTS;
    to.timeout = 14;
    to.retry_cnt = to.rnr_retry = 7;
    to.max_rd_atomic = 4;
    const int sending = sends ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0;
    need(!ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | sending),
         "to RTS");
}

// A queue pair whose completions go there, connected with another one.
static struct ibv_qp *sender_with(struct ibv_cq *queue) {
    struct ibv_cq *usual = cq;
    cq = queue;
    struct ibv_qp *from = make(), *to = make();
    cq = usual;
    join(from, to->qp_num);
    join(to, from->qp_num);
    return from;
}

static struct ibv_wc next(void) {
    struct ibv_wc done;
    while (ibv_poll_cq(cq, 1, &done) == 0) {
    }
    return done;
}

// One operation of a on what lies at `remote`; its status.
static enum ibv_wc_status on(enum ibv_wr_opcode what, char *local, unsigned lkey, char *remote,
                             unsigned rkey, unsigned bytes) {
    struct ibv_sge piece = {(uintptr_t)local, bytes, lkey};
    struct ibv_send_wr *bad;
    struct ibv_send_wr work = {
        .sg_list = &piece, .num_sge = 1, .opcode = what, .wr.rdma = {(uintptr_t)remote, rkey}};
    need(!ibv_post_send(a, &work, &bad), "ibv_post_send");
    return next().status;
}

static enum ibv_wc_status posted(struct ibv_qp *qp, struct ibv_send_wr *work) {
    struct ibv_send_wr *bad;
    need(!ibv_post_send(qp, work, &bad), "ibv_post_send");
    return next().status;
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// A batch that does not fit is not posted in part.
static int batch(void) {
    struct ibv_qp_ex *building = ibv_qp_to_qp_ex(a);
    ibv_wr_start(building);
    for (int i = 0; i < 12; ++i) {
        building->wr_id = (unsigned)i;
        ibv_wr_send(building);
        ibv_wr_set_inline_data(building, memory, 8);
    }
    const int error = ibv_wr_complete(building);
    struct ibv_sge piece = {(uintptr_t)memory, 64, mr->lkey};
    struct ibv_recv_wr *bad, receive = {.sg_list = &piece, .num_sge = 1};
    for (int i = 0; i < 8; ++i) need(!ibv_post_recv(b, &receive, &bad), "ibv_post_recv");
    int came = 0;
    for (const long end = milliseconds() + 300; milliseconds() < end;) {
        struct ibv_wc done;
        came += ibv_poll_cq(cq, 1, &done) > 0;
    }
    printf("ibv_wr_complete: %s; then came %d completions\n", strerror(error), came);
    return error != ENOMEM || came != 0;
}

static void *build(void *mark) {
    struct ibv_qp_ex *building = ibv_qp_to_qp_ex(a);
    char mine[16];
    memset(mine, *(char *)mark, sizeof mine);
    static long wrong;
    for (int i = 0; i < 20000; ++i) {
        ibv_wr_start(building);
        for (int k = 0; k < 4; ++k) {
            building->wr_id = (unsigned char)*(char *)mark;
            ibv_wr_rdma_write(building, mr->rkey, (uintptr_t)memory);
            ibv_wr_set_inline_data(building, mine, sizeof mine);
            if (building->wr_id != (unsigned char)*(char *)mark) __sync_add_and_fetch(&wrong, 1);
        }
        const int error = ibv_wr_complete(building);
        if (error && error != ENOMEM) __sync_add_and_fetch(&wrong, 1);
        struct ibv_wc done[16];
        ibv_poll_cq(cq, 16, done);
    }
    return (void *)wrong;
}

// From ibv_wr_start to ibv_wr_complete a thread has the queue pair for itself.
static int threads(void) {
    pthread_t both[2];
    char marks[2] = {'x', 'y'};
    void *wrong = NULL;
    for (int i = 0; i < 2; ++i) need(!pthread_create(&both[i], NULL, build, &marks[i]), "thread");
    for (int i = 0; i < 2; ++i) pthread_join(both[i], &wrong);
    printf("%ld requests were built by two threads at once\n", (long)wrong);
    return wrong != NULL;
}

// What this process has counted by a name, all queue pairs or ports together, as it says itself.
static long counted(const char *name) {
    static char answer[1 << 20];
    const int asking = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr_un own = {.sun_family = AF_UNIX}, to = own;
    const int length = sprintf(to.sun_path + 1, "lanewise-hca/slot/%u", a->qp_num >> 14);
    need(!bind(asking, (struct sockaddr *)&own, sizeof own.sun_family), "bind");
    need(sendto(asking, "status", 6, 0, (struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 6,
         "sendto");
    need(recv(asking, answer, sizeof answer - 1, 0) > 0, "recv");
    char quoted[64];
    const size_t bytes = (size_t)sprintf(quoted, "\"%s\":", name);
    long sum = 0;
    const char *at = strstr(answer, quoted);
    need(at != NULL, name);
    for (; at != NULL; at = strstr(at + bytes, quoted)) sum += atol(at + bytes);
    return sum;
}

static volatile int scribbles, enough;

static void *scribble(void *unused) {
    scribbles = 1;
    for (unsigned long i = 0; !enough; ++i) *(volatile unsigned long *)(memory + 8 * (i % 512)) = i;
    return unused;
}

// Memory may change while it is read; what is read then is not defined, that it is read is.
static int changing(void) {
    pthread_t thread;
    need(!pthread_create(&thread, NULL, scribble, NULL), "thread");
    while (!scribbles) {
    }
    const long start = milliseconds();
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    int reads = 0;
    for (; reads < 2000 && status == IBV_WC_SUCCESS; ++reads)
        status = on(IBV_WR_RDMA_READ, memory + 2 * page, mr->lkey, memory, mr->rkey, page);
    const long lost = counted("icrc_errors");
    printf("%d reads in %ld ms, the last: %s; %ld packets spoilt\n", reads, milliseconds() - start,
           ibv_wc_status_str(status), lost);
    return status != IBV_WC_SUCCESS || lost > 0;
}

// Nor does it spoil a packet that is sent again, with the bytes of then: of a write or of the
// answer to a read. Packets are lost by a script of faults.
static int retransmitted(void) {
    pthread_t thread;
    need(!pthread_create(&thread, NULL, scribble, NULL), "thread");
    while (!scribbles) {
    }
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    int done = 0;
    for (; done < 400 && status == IBV_WC_SUCCESS; ++done) {
        const int reads = done % 2;
        char *local = memory + (reads ? 2 : 0) * page, *remote = memory + (reads ? 0 : 3) * page;
        status = on(reads ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, local, mr->lkey, remote, mr->rkey,
                    page);
    }
    enough = 1;
    pthread_join(thread, NULL);
    int wrong = on(IBV_WR_RDMA_WRITE, memory, mr->lkey, memory + 3 * page, mr->rkey, page);
    wrong += memcmp(memory, memory + 3 * page, page) != 0;
    const long lost = counted("icrc_errors"), again = counted("packets_resent");
    printf("%d operations, the last: %s; %ld packets sent again, %ld spoilt; %d wrong\n", done,
           ibv_wc_status_str(status), again, lost, wrong);
    return status != IBV_WC_SUCCESS || lost > 0 || again < 20 || wrong > 0;
}

// What may not be written cannot be registered for writing.
static int readonly(void) {
    char *own = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int wrong = ibv_reg_mr(pd, own, page, all) != NULL || errno != EFAULT;
    wrong += mprotect(own, page, PROT_READ | PROT_WRITE);
    wrong += ibv_reg_mr(pd, own, 2 * page, all) != NULL || errno != EFAULT;
    struct ibv_mr *read_only = ibv_reg_mr(pd, own, 2 * page, IBV_ACCESS_REMOTE_READ);
    wrong += read_only == NULL;
    struct ibv_mr *half = ibv_reg_mr(pd, own, page, all);
    wrong += half == NULL;
    need(half && read_only, "ibv_reg_mr");
    wrong += ibv_rereg_mr(half, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, own, 2 * page, 0) == 0;
    wrong += on(IBV_WR_RDMA_READ, memory, mr->lkey, own, read_only->rkey, page) != IBV_WC_SUCCESS;
    printf("%d wrong\n", wrong);
    return wrong;
}

// An atomic at a word that may no longer be written is refused, and the word is as it was.
static int unwritable(enum ibv_wr_opcode what) {
    uint64_t *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *region = ibv_reg_mr(pd, own, page, all);
    need(region != NULL, "ibv_reg_mr");
    need(!mprotect(own, page, PROT_READ), "mprotect");
    struct ibv_sge piece = {(uintptr_t)memory, 8, mr->lkey};
    struct ibv_send_wr work = {.sg_list = &piece,
                               .num_sge = 1,
                               .opcode = what,
                               .wr.atomic = {(uintptr_t)own, 0, 5, region->rkey}};
    int wrong = posted(a, &work) != IBV_WC_REM_ACCESS_ERR;
    wrong += *own != 0;
    printf("%d wrong\n", wrong);
    return wrong;
}

// A datagram that was given no address is not posted.
static int unaddressed(void) {
    struct ibv_qp_init_attr_ex wanted = {
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_UD,
        .cap = {8, 8, 1, 1, 64},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND};
    struct ibv_qp *qp = ibv_create_qp_ex(context, &wanted);
    need(qp != NULL, "ibv_create_qp_ex");
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    need(!ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
         "INIT");
    attributes.qp_state = IBV_QPS_RTR;
    need(!ibv_modify_qp(qp, &attributes, IBV_QP_STATE), "RTR");
    attributes.qp_state = IBV_QPS_RTS;
    need(!ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
    struct ibv_qp_ex *building = ibv_qp_to_qp_ex(qp);
    ibv_wr_start(building);
    building->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(building);
    ibv_wr_set_sge(building, mr->lkey, (uintptr_t)memory, 8);
    const int error = ibv_wr_complete(building);
    printf("%d wrong\n", error != EINVAL);
    return error != EINVAL;
}

// A queue pair that is attached to a group cannot be destroyed.
static int attached(void) {
    struct ibv_qp_init_attr wanted = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD, .cap = {8, 8, 1, 1, 0}};
    struct ibv_qp *qp = ibv_create_qp(pd, &wanted);
    need(qp != NULL, "ibv_create_qp");
    // ::ffff:239.1.2.3
    const union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 3}};
    need(!ibv_attach_mcast(qp, &group, 0), "ibv_attach_mcast");
    int wrong = ibv_destroy_qp(qp) != EBUSY;
    wrong += ibv_detach_mcast(qp, &group, 0) != 0;
    wrong += ibv_destroy_qp(qp) != 0;
    printf("%d wrong\n", wrong);
    return wrong;
}

// Memory that is gone is an error of the work request, at the end that lacks it.
static int vanished(int local, enum ibv_wr_opcode what) {
    char *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *region = ibv_reg_mr(pd, own, page, all);
    need(region != NULL, "ibv_reg_mr");
    need(!munmap(own, page), "munmap");
    const enum ibv_wc_status status = local ? on(what, own, region->lkey, memory, mr->rkey, page)
                                            : on(what, memory, mr->lkey, own, region->rkey, page);
    printf("%s\n", ibv_wc_status_str(status));
    return status != (local ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
}

// Pages that are not there when they are registered, and are when they are used.
static int on_demand(void) {
    char *own = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(!munmap(own, 4 * page), "munmap");
    struct ibv_mr *later = ibv_reg_mr(pd, own, 4 * page, all | IBV_ACCESS_ON_DEMAND);
    struct ibv_mr *whole = ibv_reg_mr(pd, NULL, SIZE_MAX, all | IBV_ACCESS_ON_DEMAND);
    need(later && whole, "ibv_reg_mr");
    mmap(own, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    int wrong = on(IBV_WR_RDMA_WRITE, memory, mr->lkey, own, later->rkey, page) != IBV_WC_SUCCESS;
    wrong += memcmp(own, memory, page) != 0;
    own[0] = 'w';
    wrong += on(IBV_WR_RDMA_READ, memory, whole->lkey, own, whole->rkey, page) != IBV_WC_SUCCESS;
    wrong += memory[0] != 'w';
    printf("%d wrong\n", wrong);
    return wrong;
}

static int advised(void) {
    char *own = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *later = ibv_reg_mr(pd, own, 2 * page, IBV_ACCESS_ON_DEMAND);
    need(later != NULL, "ibv_reg_mr");
    struct ibv_sge first = {(uintptr_t)own, page, later->lkey}, outside = {0, 8, later->lkey};
    unsigned char present[2];
    int wrong = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &first, 1) != 0;
    need(!mincore(own, 2 * page, present), "mincore");
    wrong += present[0] & 1;
    wrong += ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &first, 1);
    need(!mincore(own, 2 * page, present), "mincore");
    wrong += !(present[0] & 1) || present[1] & 1;
    wrong += ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &first, 1) != EPERM;
    wrong += ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &outside, 1) != EFAULT;
    wrong += ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 2, &first, 1) != EINVAL;
    wrong += ibv_advise_mr(pd, 3, 0, &first, 1) != ENOTSUP;
    printf("%d wrong\n", wrong);
    return wrong;
}

// Addresses in a zero-based region count from its beginning; so do those of rereg without a move.
static int zero_based(void) {
    struct ibv_mr *based = ibv_reg_mr(pd, memory, page, all | IBV_ACCESS_ZERO_BASED);
    need(based != NULL, "ibv_reg_mr");
    char *own = memory + 2 * page;
    memory[8] = 'z';
    int wrong = on(IBV_WR_RDMA_READ, own, mr->lkey, (char *)8, based->rkey, 8) != IBV_WC_SUCCESS;
    wrong += own[0] != 'z';
    wrong += ibv_rereg_mr(based, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all) != 0;
    memory[8] = 'y';
    wrong += on(IBV_WR_RDMA_READ, own, mr->lkey, (char *)8, based->rkey, 8) != IBV_WC_SUCCESS;
    wrong += own[0] != 'y';
    printf("%d wrong\n", wrong);
    return wrong;
}

static int device_memory(void) {
    struct ibv_device_attr_ex device;
    need(!ibv_query_device_ex(context, NULL, &device), "ibv_query_device_ex");
    struct ibv_alloc_dm_attr wanted = {.length = 256, .log_align_req = 6};
    struct ibv_alloc_dm_attr rest = {.length = device.max_dm_size};
    struct ibv_dm *dm = ibv_alloc_dm(context, &wanted);
    need(dm != NULL, "ibv_alloc_dm");
    int wrong = ibv_alloc_dm(context, &rest) != NULL || errno != ENOMEM;
    wrong += ibv_reg_dm_mr(pd, dm, 0, 256, all) != NULL || errno != EINVAL;
    wrong += ibv_reg_dm_mr(pd, dm, 8, 252, all | IBV_ACCESS_ZERO_BASED) != NULL || errno != EINVAL;
    struct ibv_mr *part = ibv_reg_dm_mr(pd, dm, 8, 128, all | IBV_ACCESS_ZERO_BASED);
    need(part != NULL, "ibv_reg_dm_mr");
    strcpy(memory, "to the device");
    wrong += on(IBV_WR_RDMA_WRITE, memory, mr->lkey, (char *)16, part->rkey, 16) != IBV_WC_SUCCESS;
    wrong += ibv_memcpy_from_dm(memory + 64, dm, 24, 16) != 0 || strcmp(memory, memory + 64) != 0;
    wrong += ibv_memcpy_to_dm(dm, 2, memory, 4) != EINVAL;
    wrong += ibv_memcpy_to_dm(dm, 4, memory, 2) != EINVAL;
    wrong += ibv_memcpy_to_dm(dm, 256, memory, 4) != EINVAL;
    wrong += ibv_free_dm(dm) != EBUSY;
    wrong += ibv_dereg_mr(part) != 0 || ibv_free_dm(dm) != 0 || ibv_free_dm(dm) != EINVAL;
    dm = ibv_alloc_dm(context, &rest);
    wrong += dm == NULL || ibv_free_dm(dm) != 0;
    printf("%d wrong\n", wrong);
    return wrong;
}

// A parent domain is its protection domain: keys registered in one are good in the other.
static int parent_domain(void) {
    struct ibv_td_init_attr unused = {0};
    struct ibv_td *td = ibv_alloc_td(context, &unused);
    struct ibv_parent_domain_init_attr joined = {.pd = pd, .td = td};
    struct ibv_pd *parent = ibv_alloc_parent_domain(context, &joined);
    need(td && parent, "ibv_alloc_parent_domain");
    struct ibv_mr *region = ibv_reg_mr(parent, memory, page, all);
    need(region != NULL, "ibv_reg_mr");
    char *own = memory + 2 * page;
    int wrong = on(IBV_WR_RDMA_READ, own, mr->lkey, memory, region->rkey, 8) != IBV_WC_SUCCESS;
    wrong += ibv_dealloc_td(td) != EBUSY || ibv_dealloc_pd(parent) != EBUSY;
    wrong += ibv_dereg_mr(region) != 0 || ibv_dealloc_pd(parent) != 0;
    wrong += ibv_dealloc_td(td) != 0 || ibv_dealloc_td(td) != EINVAL;
    joined.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
    wrong += ibv_alloc_parent_domain(context, &joined) != NULL || errno != EINVAL;
    printf("%d wrong\n", wrong);
    return wrong;
}

// A window of type 1 opens what it was bound to last, by a new key each time.
static int windows(void) {
    struct ibv_mr *region =
        ibv_reg_mr(pd, memory, page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
    need(region && mw, "ibv_alloc_mw");
    const unsigned first = mw->rkey;
    struct ibv_mw_bind bind = {
        .bind_info = {region, (uintptr_t)memory + 64, 64, IBV_ACCESS_REMOTE_WRITE}};
    int wrong = ibv_bind_mw(b, mw, &bind) != 0 || next().opcode != IBV_WC_BIND_MW;
    wrong += mw->rkey != ibv_inc_rkey(first);
    char *own = memory + 2 * page;
    wrong += on(IBV_WR_RDMA_WRITE, own, mr->lkey, memory + 64, mw->rkey, 64) != IBV_WC_SUCCESS;
    wrong += ibv_dereg_mr(region) != EBUSY || ibv_dealloc_pd(pd) != EBUSY;
    wrong += ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == 0;
    bind.bind_info.length = 128;
    bind.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
    wrong += ibv_bind_mw(b, mw, &bind) != 0 || next().status != IBV_WC_SUCCESS;
    wrong += on(IBV_WR_RDMA_WRITE, own, mr->lkey, NULL, mw->rkey, 128) != IBV_WC_SUCCESS;
    struct ibv_mw_bind nothing = {.wr_id = 1};
    wrong += ibv_bind_mw(b, mw, &nothing) != 0 || next().wr_id != 1;
    wrong += ibv_dereg_mr(region) != 0;
    wrong += on(IBV_WR_RDMA_WRITE, own, mr->lkey, NULL, mw->rkey, 1) != IBV_WC_REM_ACCESS_ERR;
    wrong += ibv_dealloc_mw(mw) != 0 || ibv_dealloc_mw(mw) != EINVAL;
    printf("%d wrong\n", wrong);
    return wrong;
}

// A window of type 2 is bound by a work request, until either side invalidates it.
static int invalidated(void) {
    struct ibv_mr *region =
        ibv_reg_mr(pd, memory, page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
    need(region && mw, "ibv_alloc_mw");
    const struct ibv_mw_bind_info info = {region, (uintptr_t)memory, 64, IBV_ACCESS_REMOTE_WRITE};
    unsigned key = ibv_inc_rkey(mw->rkey);
    struct ibv_qp_ex *building = ibv_qp_to_qp_ex(b);
    ibv_wr_start(building);
    ibv_wr_bind_mw(building, mw, key, &info);
    int wrong = ibv_wr_complete(building) != 0 || next().opcode != IBV_WC_BIND_MW;
    wrong += mw->rkey != key;
    char *own = memory + 2 * page;
    wrong += on(IBV_WR_RDMA_WRITE, own, mr->lkey, memory, key, 64) != IBV_WC_SUCCESS;
    struct ibv_recv_wr *unposted, receive = {.wr_id = 7};
    need(!ibv_post_recv(b, &receive, &unposted), "ibv_post_recv");
    struct ibv_send_wr closing = {.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = key};
    struct ibv_send_wr *bad;
    need(!ibv_post_send(a, &closing, &bad), "ibv_post_send");
    for (int i = 0; i < 2; ++i) {
        const struct ibv_wc done = next();
        wrong += done.status != IBV_WC_SUCCESS;
        if (done.wr_id != 7) continue;
        wrong += !(done.wc_flags & IBV_WC_WITH_INV) || done.invalidated_rkey != key;
    }
    key = ibv_inc_rkey(key);
    struct ibv_send_wr opening = {.opcode = IBV_WR_BIND_MW, .bind_mw = {mw, key, info}};
    wrong += posted(b, &opening) != IBV_WC_SUCCESS;
    struct ibv_send_wr local = {.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = key};
    wrong += posted(b, &local) != IBV_WC_SUCCESS;
    wrong += ibv_dereg_mr(region) != 0;
    wrong += posted(b, &local) != IBV_WC_MW_BIND_ERR;
    wrong += ibv_dealloc_mw(mw) != 0;
    printf("%d wrong\n", wrong);
    return wrong;
}

static struct ibv_qp *make_extended(enum ibv_qp_type type, struct ibv_xrcd *xrcd) {
    const int sends = type == IBV_QPT_XRC_SEND;
    struct ibv_qp_init_attr_ex wanted = {
        .send_cq = sends ? cq : NULL,
        .qp_type = type,
        .sq_sig_all = 1,
        .cap = {.max_send_wr = 8, .max_send_sge = 1},
        .comp_mask = sends ? IBV_QP_INIT_ATTR_PD : IBV_QP_INIT_ATTR_XRCD,
        .pd = sends ? pd : NULL,
        .xrcd = xrcd};
    struct ibv_qp *made = ibv_create_qp_ex(context, &wanted);
    need(made != NULL, "ibv_create_qp_ex");
    return made;
}

// Two handles of one file are one domain: a connection of one reaches a queue of the other.
static int extended(void) {
    FILE *file = tmpfile();
    need(file != NULL, "tmpfile");
    const unsigned both = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    struct ibv_xrcd_init_attr opened = {both, fileno(file), 0};
    int wrong = ibv_open_xrcd(context, &opened) != NULL || errno != ENOENT;
    opened.oflags = O_CREAT;
    struct ibv_xrcd *first = ibv_open_xrcd(context, &opened);
    struct ibv_xrcd *second = ibv_open_xrcd(context, &opened);
    need(first && second, "ibv_open_xrcd");
    opened.oflags = O_CREAT | O_EXCL;
    wrong += ibv_open_xrcd(context, &opened) != NULL || errno != EEXIST;
    struct ibv_srq_init_attr_ex wanted = {
        .attr = {.max_wr = 4, .max_sge = 1},
        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                     IBV_SRQ_INIT_ATTR_CQ,
        .srq_type = IBV_SRQT_XRC,
        .pd = pd,
        .xrcd = first,
        .cq = cq};
    struct ibv_srq *srq = ibv_create_srq_ex(context, &wanted);
    need(srq != NULL, "ibv_create_srq_ex");
    unsigned number = 0;
    wrong += ibv_get_srq_num(srq, &number) != 0 || number == 0 || number >= 1 << 24;
    struct ibv_qp *from = make_extended(IBV_QPT_XRC_SEND, NULL);
    struct ibv_qp *to = make_extended(IBV_QPT_XRC_RECV, second);
    join(from, to->qp_num);
    join(to, from->qp_num);
    char *own = memory + 2 * page;
    struct ibv_sge place = {(uintptr_t)own, page, mr->lkey},
                   piece = {(uintptr_t)memory, 64, mr->lkey};
    struct ibv_recv_wr *unposted, receive = {.wr_id = 7, .sg_list = &place, .num_sge = 1};
    need(!ibv_post_srq_recv(srq, &receive, &unposted), "ibv_post_srq_recv");
    strcpy(memory, "by way of a shared queue");
    struct ibv_send_wr *bad, work = {.sg_list = &piece,
                                     .num_sge = 1,
                                     .opcode = IBV_WR_SEND,
                                     .qp_type.xrc.remote_srqn = number};
    need(!ibv_post_send(from, &work, &bad), "ibv_post_send");
    for (int i = 0; i < 2; ++i) wrong += next().status != IBV_WC_SUCCESS;
    wrong += strcmp(own, memory) != 0;
    wrong += ibv_close_xrcd(first) != EBUSY || ibv_close_xrcd(second) != EBUSY;
    wrong += ibv_destroy_qp(from) != 0 || ibv_destroy_qp(to) != 0 || ibv_destroy_srq(srq) != 0;
    wrong += ibv_close_xrcd(first) != 0 || ibv_close_xrcd(second) != 0;
    wrong += ibv_close_xrcd(second) != EINVAL;
    opened.oflags = 0;
    wrong += ibv_open_xrcd(context, &opened) != NULL || errno != ENOENT;
    printf("%d wrong\n", wrong);
    return wrong;
}

static unsigned long nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (unsigned long)now.tv_sec * 1000000000 + (unsigned long)now.tv_nsec;
}

// Completions tell when they were made, by the device's clock and by that of the wall.
static int timed(void) {
    struct ibv_cq_init_attr_ex wanted = {.cqe = 8,
                                         .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                                     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
    struct ibv_cq_ex *times = ibv_create_cq_ex(context, &wanted);
    need(times != NULL, "ibv_create_cq_ex");
    struct ibv_qp *from = sender_with(ibv_cq_ex_to_cq(times));
    int wrong = 0;
    struct ibv_values_ex clock = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
    for (int i = 0; i < 3; ++i) {
        need(!ibv_query_rt_values_ex(context, &clock), "ibv_query_rt_values_ex");
        const unsigned long before = (unsigned long)clock.raw_clock.tv_sec * 1000000000 +
                                     (unsigned long)clock.raw_clock.tv_nsec;
        const unsigned long wall_before = nanoseconds(CLOCK_REALTIME);
        struct ibv_sge piece = {(uintptr_t)memory, 8, mr->lkey};
        struct ibv_send_wr *bad, work = {.sg_list = &piece,
                                         .num_sge = 1,
                                         .opcode = IBV_WR_RDMA_WRITE,
                                         .wr.rdma = {(uintptr_t)memory, mr->rkey}};
        need(!ibv_post_send(from, &work, &bad), "ibv_post_send");
        struct ibv_poll_cq_attr all_of_it = {0};
        while (ibv_start_poll(times, &all_of_it) == ENOENT) {
        }
        const unsigned long after = nanoseconds(CLOCK_MONOTONIC);
        const unsigned long at = ibv_wc_read_completion_ts(times);
        const unsigned long wall = ibv_wc_read_completion_wallclock_ns(times);
        wrong += times->status != IBV_WC_SUCCESS || at < before || at > after;
        // A wall clock may be set meanwhile, by little.
        wrong += wall + 100000000 < wall_before || wall > nanoseconds(CLOCK_REALTIME) + 100000000;
        ibv_end_poll(times);
    }
    printf("%d wrong\n", wrong);
    return wrong;
}

/* A change of a shared receive queue that cannot be made as a whole changes nothing. */
static int changed_whole(void) {
    struct ibv_srq_init_attr queue = {.attr = {.max_wr = 16, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(pd, &queue);
    need(srq != NULL, "ibv_create_srq");
    struct ibv_srq_attr before, now, wanted = {.max_wr = 4, .srq_limit = 3};
    int wrong = ibv_modify_srq(srq, &wanted, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) != 0;
    wrong += ibv_query_srq(srq, &before) != 0;
    wanted = (struct ibv_srq_attr){.max_wr = 64, .srq_limit = 1000};
    wrong += ibv_modify_srq(srq, &wanted, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) != EINVAL;
    wanted = (struct ibv_srq_attr){.max_wr = 1 << 30, .srq_limit = 1};
    wrong += ibv_modify_srq(srq, &wanted, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) != EINVAL;
    wrong += ibv_query_srq(srq, &now) != 0;
    wrong += now.max_wr != before.max_wr || now.srq_limit != before.srq_limit;
    printf("%d wrong\n", wrong);
    return wrong;
}

static int refused_change(int flags, struct ibv_pd *domain, char *at, size_t bytes, int access) {
    errno = 0;
    return ibv_rereg_mr(mr, flags, domain, at, bytes, access) == IBV_REREG_MR_ERR_INPUT ? errno : 0;
}

/* A change of a region that says nothing, or half, changes nothing and says why. */
static int changed_by_nothing(void) {
    const int translation = IBV_REREG_MR_CHANGE_TRANSLATION, access = IBV_REREG_MR_CHANGE_ACCESS;
    char *gone = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(gone != MAP_FAILED && !munmap(gone, page), "mmap");
    int wrong = refused_change(0, NULL, NULL, 0, 0) != EINVAL;
    wrong += refused_change(64, NULL, NULL, 0, 0) != EINVAL;
    wrong += refused_change(translation, NULL, NULL, page, 0) != EINVAL;
    wrong += refused_change(translation, NULL, memory, 0, 0) != EINVAL;
    wrong += refused_change(translation, NULL, memory, page, all) != EINVAL;
    wrong += refused_change(translation, NULL, gone, page, 0) != EFAULT;
    wrong += refused_change(access, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE) != EINVAL;
    wrong += refused_change(IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0) != EINVAL;
    wrong += mr->addr != memory || mr->length != 4 * page || mr->pd != pd;
    wrong += on(IBV_WR_RDMA_READ, memory, mr->lkey, memory + page, mr->rkey, 8) != IBV_WC_SUCCESS;
    printf("%d wrong\n", wrong);
    return wrong;
}

/* A child has nothing to end: what it destroys is the parent's. */
static int in_a_child(void) {
    int status = 0;
    const pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0) _exit(ibv_destroy_qp(a) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd));
    need(waitpid(child, &status, 0) == child, "waitpid");
    printf("%d wrong\n", status != 0);
    return status != 0;
}

#define REFUSED(call) (errno = 0, (call) == NULL && errno == EINVAL)

static int of_another_extended_domain(struct ibv_pd *other_pd, struct ibv_cq *other_cq) {
    struct ibv_xrcd_init_attr unnamed = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
        .fd = -1,
        .oflags = O_CREAT};
    struct ibv_xrcd *own = ibv_open_xrcd(context, &unnamed);
    struct ibv_xrcd *other = ibv_open_xrcd(other_pd->context, &unnamed);
    need(own && other, "ibv_open_xrcd");
    int wrong = 0;
    for (int which = 0; which < 3; ++which) {
        struct ibv_srq_init_attr_ex wanted = {
            .attr = {.max_wr = 8, .max_sge = 1},
            .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                         IBV_SRQ_INIT_ATTR_CQ,
            .srq_type = IBV_SRQT_XRC,
            .pd = which == 0 ? other_pd : pd,
            .xrcd = which == 1 ? other : own,
            .cq = which == 2 ? other_cq : cq};
        wrong += !REFUSED(ibv_create_srq_ex(context, &wanted));
    }
    return wrong;
}

// The receives that one has, as it is told and asked; -1 if it is not made, or the two differ.
static int of_queue_pair(struct ibv_qp_init_attr wanted) {
    struct ibv_qp *made = ibv_create_qp(pd, &wanted);
    if (!made) return -1;
    struct ibv_qp_attr has;
    struct ibv_qp_init_attr unused;
    need(!ibv_query_qp(made, &has, IBV_QP_CAP, &unused), "ibv_query_qp");
    need(!ibv_destroy_qp(made), "ibv_destroy_qp");
    const int same = !memcmp(&has.cap, &wanted.cap, sizeof has.cap);
    return same ? (int)wanted.cap.max_recv_wr : -1;
}

// What was made is told where it was asked for; a shared receive queue takes the place of another.
static int capacities(void) {
    struct ibv_srq_init_attr queue = {.attr = {.max_wr = 8}};
    struct ibv_srq *srq = ibv_create_srq(pd, &queue);
    need(srq != NULL, "ibv_create_srq");
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
    const int own = of_queue_pair(wanted);
    wanted.srq = srq;
    wanted.cap.max_recv_wr = wanted.cap.max_recv_sge = 1 << 30;
    const int shared = of_queue_pair(wanted);
    struct ibv_srq_attr has;
    need(!ibv_query_srq(srq, &has), "ibv_query_srq");
    wanted.srq = NULL;
    wanted.qp_type = IBV_QPT_XRC_SEND;
    wanted.cap = (struct ibv_qp_cap){.max_send_wr = 1, .max_send_sge = 1};
    const int initiator = of_queue_pair(wanted);
    printf("own %d, shared %d, initiator %d, pieces %u of %u\n", own, shared, initiator,
           queue.attr.max_sge, has.max_sge);
    return own < 0 || shared != 0 || initiator != 0 || queue.attr.max_sge != has.max_sge;
}

/* What belongs to another open device is refused, as by a kernel, which cannot be told of it. */
static int of_another_context(void) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *other = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    need(other != NULL, "ibv_open_device");
    struct ibv_pd *other_pd = ibv_alloc_pd(other);
    struct ibv_cq *other_cq = ibv_create_cq(other, 16, NULL, NULL, 0);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(other);
    struct ibv_srq_init_attr queue = {.attr = {.max_wr = 8, .max_sge = 1}};
    struct ibv_srq *other_srq = ibv_create_srq(other_pd, &queue);
    need(other_pd && other_cq && channel && other_srq, "objects of another context");
    struct ibv_qp_init_attr wanted = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {8, 8, 1, 1, 0}};
    int wrong = 0;
    wanted.send_cq = other_cq;
    wrong += !REFUSED(ibv_create_qp(pd, &wanted));
    wanted.send_cq = cq;
    wanted.recv_cq = other_cq;
    wrong += !REFUSED(ibv_create_qp(pd, &wanted));
    wanted.recv_cq = cq;
    wanted.srq = other_srq;
    wrong += !REFUSED(ibv_create_qp(pd, &wanted));
    wrong += !REFUSED(ibv_create_cq(context, 16, NULL, channel, 0));
    wrong += ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other_pd, NULL, 0, 0) == 0;
    struct ibv_parent_domain_init_attr parent = {.pd = other_pd};
    wrong += !REFUSED(ibv_alloc_parent_domain(context, &parent));
    parent.pd = pd;
    parent.td = ibv_alloc_td(other, &(struct ibv_td_init_attr){0});
    wrong += !REFUSED(ibv_alloc_parent_domain(context, &parent));
    struct ibv_cq_init_attr_ex queue_of = {
        .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = other_pd};
    wrong += !REFUSED(ibv_create_cq_ex(context, &queue_of));
    wrong += of_another_extended_domain(other_pd, other_cq);
    printf("%d wrong\n", wrong);
    return wrong;
}

// An error that a call returns is errno as well.
static int tell_errno(void) {
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_SQD, .port_num = 77};
    errno = 0;
    const int wrong_port = ibv_modify_qp(a, &to, IBV_QP_STATE | IBV_QP_PORT);
    const int of_port = errno;
    struct ibv_port_attr port;
    errno = 0;
    const int no_port = ibv_query_port(context, 77, &port);
    const int of_query = errno;
    printf("%d %d, %d %d\n", wrong_port, of_port, no_port, of_query);
    return wrong_port == 0 || of_port != wrong_port || no_port == 0 || of_query != no_port;
}

// What has pieces is not inline, whatever its flags say.
static int send_flagged_pieces(void) {
    struct ibv_qp_ex *building = ibv_qp_to_qp_ex(a);
    memset(memory, 7, 8);
    memset(memory + 64, 0, 8);
    ibv_wr_start(building);
    building->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ibv_wr_rdma_write(building, mr->rkey, (uintptr_t)memory + 64);
    ibv_wr_set_sge(building, mr->lkey, (uintptr_t)memory, 8);
    need(!ibv_wr_complete(building), "ibv_wr_complete");
    const int status = next().status;
    printf("status %d, %d written\n", status, memory[64 + 7]);
    return status != 0 || memory[64 + 7] != 7;
}

static void *destroy_pair(void *qp) {
    return (void *)(intptr_t)ibv_destroy_qp(qp);
}

static void *destroy_queue(void *queue) {
    return (void *)(intptr_t)ibv_destroy_cq(queue);
}

static void *destroy_shared(void *srq) {
    return (void *)(intptr_t)ibv_destroy_srq(srq);
}

static pthread_t begun(void *(*destroy)(void *), void *what) {
    pthread_t thread;
    need(!pthread_create(&thread, NULL, destroy, what), "pthread_create");
    return thread;
}

// Whether it went well, now that the event is acknowledged.
static int ended(pthread_t destroying) {
    void *status = NULL;
    need(!pthread_join(destroying, &status), "pthread_join");
    return status == NULL;
}

#define COMES_TO_BE_REFUSED(call)                                              \
    do {                                                                       \
        const long until = milliseconds() + 10000;                             \
        while ((call) != EINVAL)                                               \
            need(milliseconds() < until, "in use although destroyed: " #call); \
    } while (0)

static struct ibv_async_event event_of(enum ibv_event_type type) {
    struct ibv_async_event event;
    for (;;) {
        need(!ibv_get_async_event(context, &event), "ibv_get_async_event");
        if (event.event_type == type) return event;
        ibv_ack_async_event(&event);
    }
}

static int pair_that_is_being_destroyed(void) {
    struct ibv_qp_attr drained = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
    need(!ibv_modify_qp(a, &drained, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), "to SQD");
    struct ibv_async_event event = event_of(IBV_EVENT_SQ_DRAINED);
    const pthread_t destroying = begun(destroy_pair, a);
    struct ibv_qp_init_attr init;
    COMES_TO_BE_REFUSED(ibv_query_qp(a, &drained, IBV_QP_STATE, &init));
    struct ibv_send_wr *bad, send = {.opcode = IBV_WR_SEND};
    struct ibv_recv_wr *bad_receive, receive = {.num_sge = 0};
    drained.qp_state = IBV_QPS_ERR;
    int wrong = ibv_modify_qp(a, &drained, IBV_QP_STATE) != EINVAL;
    wrong += ibv_post_send(a, &send, &bad) != EINVAL || bad != &send;
    wrong += ibv_post_recv(a, &receive, &bad_receive) != EINVAL || bad_receive != &receive;
    ibv_wr_start(ibv_qp_to_qp_ex(a));
    ibv_wr_send(ibv_qp_to_qp_ex(a));
    wrong += ibv_wr_complete(ibv_qp_to_qp_ex(a)) != EINVAL;
    wrong += ibv_destroy_qp(a) != EINVAL;
    ibv_ack_async_event(&event);
    return wrong + !ended(destroying);
}

static int queue_that_is_being_destroyed(void) {
    struct ibv_cq_init_attr_ex wanted = {.cqe = 8, .channel = ibv_create_comp_channel(context)};
    struct ibv_cq_ex *extended = ibv_create_cq_ex(context, &wanted);
    need(extended != NULL, "ibv_create_cq_ex");
    struct ibv_cq *queue = ibv_cq_ex_to_cq(extended), *usual = cq, *notified;
    cq = queue;
    struct ibv_qp *left = make();
    cq = usual;
    need(!ibv_req_notify_cq(queue, 0), "ibv_req_notify_cq");
    join(left, left->qp_num);
    struct ibv_recv_wr *bad, receive = {.num_sge = 0};
    struct ibv_qp_attr broken = {.qp_state = IBV_QPS_ERR};
    need(!ibv_post_recv(left, &receive, &bad), "ibv_post_recv");
    need(!ibv_modify_qp(left, &broken, IBV_QP_STATE), "to ERR");
    void *cookie;
    need(!ibv_get_cq_event(wanted.channel, &notified, &cookie), "ibv_get_cq_event");
    need(!ibv_destroy_qp(left), "ibv_destroy_qp");
    const pthread_t destroying = begun(destroy_queue, queue);
    COMES_TO_BE_REFUSED(ibv_req_notify_cq(queue, 0));
    struct ibv_wc done;
    struct ibv_poll_cq_attr all_of_it = {0};
    int wrong = ibv_poll_cq(queue, 1, &done) >= 0;
    wrong += ibv_start_poll(extended, &all_of_it) != EINVAL;
    wrong += ibv_resize_cq(queue, 16) != EINVAL;
    wrong += ibv_destroy_cq(queue) != EINVAL;
    struct ibv_qp_init_attr of_pair = {
        .send_cq = queue, .recv_cq = queue, .qp_type = IBV_QPT_RC, .cap = {8, 8, 1, 1, 0}};
    wrong += !REFUSED(ibv_create_qp(pd, &of_pair));
    ibv_ack_cq_events(queue, 1);
    return wrong + !ended(destroying);
}

static int shared_queue_that_is_being_destroyed(void) {
    struct ibv_srq_init_attr of_queue = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(pd, &of_queue);
    need(srq != NULL, "ibv_create_srq");
    struct ibv_qp_init_attr of_pair = {
        .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = {8, 0, 1, 0, 0}};
    struct ibv_qp *taker = ibv_create_qp(pd, &of_pair);
    need(taker != NULL, "ibv_create_qp");
    join(taker, taker->qp_num);
    struct ibv_recv_wr *bad, receive = {.num_sge = 0};
    struct ibv_srq_attr attributes = {.srq_limit = 1};
    need(!ibv_post_srq_recv(srq, &receive, &bad), "ibv_post_srq_recv");
    need(!ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT), "ibv_modify_srq");
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND};
    posted(taker, &send);
    struct ibv_async_event event = event_of(IBV_EVENT_SRQ_LIMIT_REACHED);
    need(!ibv_destroy_qp(taker), "ibv_destroy_qp");
    const pthread_t destroying = begun(destroy_shared, srq);
    COMES_TO_BE_REFUSED(ibv_query_srq(srq, &attributes));
    int wrong = ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT) != EINVAL;
    wrong += ibv_post_srq_recv(srq, &receive, &bad) != EINVAL || bad != &receive;
    wrong += ibv_destroy_srq(srq) != EINVAL;
    of_pair.srq = srq;
    wrong += !REFUSED(ibv_create_qp(pd, &of_pair));
    ibv_ack_async_event(&event);
    return wrong + !ended(destroying);
}

// Who destroys an object waits for the acknowledgement of its events; nobody uses it meanwhile.
static int being_destroyed(void) {
    const int of_pair = pair_that_is_being_destroyed();
    const int of_queue = queue_that_is_being_destroyed();
    const int of_shared = shared_queue_that_is_being_destroyed();
    printf("%d wrong of a pair, %d of a queue, %d of a shared one\n", of_pair, of_queue, of_shared);
    return of_pair || of_queue || of_shared;
}

static struct ibv_cq_ex *shared_by_threads;
static atomic_int second_has_begun;

static void *poll_second(void *unused) {
    struct ibv_poll_cq_attr all_of_it = {0};
    while (ibv_start_poll(shared_by_threads, &all_of_it) == ENOENT) {
    }
    second_has_begun = 1;
    const uint64_t got = shared_by_threads->wr_id;
    ibv_end_poll(shared_by_threads);
    (void)unused;
    return (void *)(uintptr_t)got;
}

// One thread reads an entry while the next waits to begin.
static int poll_in_turns(void) {
    struct ibv_cq_init_attr_ex wanted = {.cqe = 8};
    shared_by_threads = ibv_create_cq_ex(context, &wanted);
    need(shared_by_threads != NULL, "ibv_create_cq_ex");
    struct ibv_qp *from = sender_with(ibv_cq_ex_to_cq(shared_by_threads));
    struct ibv_sge piece = {(uintptr_t)memory, 8, mr->lkey};
    struct ibv_poll_cq_attr all_of_it = {0};
    for (uint64_t id = 1; id <= 2; ++id) {
        struct ibv_send_wr *bad, work = {.wr_id = id,
                                         .sg_list = &piece,
                                         .num_sge = 1,
                                         .opcode = IBV_WR_RDMA_WRITE,
                                         .wr.rdma = {(uintptr_t)memory, mr->rkey}};
        need(!ibv_post_send(from, &work, &bad), "ibv_post_send");
    }
    while (ibv_start_poll(shared_by_threads, &all_of_it) == ENOENT) {
    }
    pthread_t second;
    need(!pthread_create(&second, NULL, poll_second, NULL), "pthread_create");
    usleep(100000);
    const int too_soon = second_has_begun;
    const uint64_t first = shared_by_threads->wr_id;
    ibv_end_poll(shared_by_threads);
    void *other = NULL;
    need(!pthread_join(second, &other), "pthread_join");
    printf("first %lu, other %lu\n", (unsigned long)first, (unsigned long)(uintptr_t)other);
    return too_soon || first != 1 || (uintptr_t)other != 2;
}

int main(int count, char **words) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(count == 2 && list && list[0], "a device, and one word");
    context = ibv_open_device(list[0]);
    need(context != NULL, "ibv_open_device");
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 4096, NULL, NULL, 0);
    memory = aligned_alloc(page, 4 * page);
    memset(memory, 1, 4 * page);
    mr = ibv_reg_mr(pd, memory, 4 * page, all);
    need(mr != NULL, "ibv_reg_mr");
    a = make();
    b = make();
    join(a, b->qp_num);
    join(b, a->qp_num);
    if (!strcmp(words[1], "batch")) return batch();
    if (!strcmp(words[1], "threads")) return threads();
    if (!strcmp(words[1], "changing")) return changing();
    if (!strcmp(words[1], "retransmitted")) return retransmitted();
    if (!strcmp(words[1], "readonly")) return readonly();
    if (!strcmp(words[1], "added-to")) return unwritable(IBV_WR_ATOMIC_FETCH_AND_ADD);
    if (!strcmp(words[1], "swapped")) return unwritable(IBV_WR_ATOMIC_CMP_AND_SWP);
    if (!strcmp(words[1], "unaddressed")) return unaddressed();
    if (!strcmp(words[1], "attached")) return attached();
    if (!strcmp(words[1], "written")) return vanished(0, IBV_WR_RDMA_WRITE);
    if (!strcmp(words[1], "read")) return vanished(0, IBV_WR_RDMA_READ);
    if (!strcmp(words[1], "sent")) return vanished(1, IBV_WR_RDMA_WRITE);
    if (!strcmp(words[1], "filled")) return vanished(1, IBV_WR_RDMA_READ);
    if (!strcmp(words[1], "on-demand")) return on_demand();
    if (!strcmp(words[1], "advised")) return advised();
    if (!strcmp(words[1], "zero-based")) return zero_based();
    if (!strcmp(words[1], "device-memory")) return device_memory();
    if (!strcmp(words[1], "parent-domain")) return parent_domain();
    if (!strcmp(words[1], "windows")) return windows();
    if (!strcmp(words[1], "invalidated")) return invalidated();
    if (!strcmp(words[1], "extended")) return extended();
    if (!strcmp(words[1], "timed")) return timed();
    if (!strcmp(words[1], "errno")) return tell_errno();
    if (!strcmp(words[1], "flagged")) return send_flagged_pieces();
    if (!strcmp(words[1], "in-turns")) return poll_in_turns();
    if (!strcmp(words[1], "changed-whole")) return changed_whole();
    if (!strcmp(words[1], "changed-by-nothing")) return changed_by_nothing();
    if (!strcmp(words[1], "in-a-child")) return in_a_child();
    if (!strcmp(words[1], "of-another-context")) return of_another_context();
    if (!strcmp(words[1], "capacities")) return capacities();
    if (!strcmp(words[1], "being-destroyed")) return being_destroyed();
    return 2;
}
