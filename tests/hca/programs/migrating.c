/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two programs that send numbered messages to and fro over one queue pair with an alternate path.
 *
 *   migrating rc|uc listen  ADDRESS MESSAGES
 *   migrating rc|uc connect ADDRESS MESSAGES [COMMAND_AT]
 *   migrating ... until-port-error
 *
 * Path one joins the ports 1, path two the ports 2. The connecting side asks for the alternate
 * path itself after COMMAND_AT messages, where that is given; otherwise, once `armed` stands on
 * standard output, it goes on until the path has migrated, and MESSAGES further. With the last
 * form a program ends only after it was told that a port failed, which may come later than the
 * news that the other end has migrated. What was not received exactly once and in order ends a
 * program with a line and status 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { tcp_port = 18515, message_bytes = 3000, last_message = 0x7fffffff };

struct end {
    uint32_t qp_number;
    union ibv_gid gids[2];
};

static struct ibv_context *context;
static struct ibv_cq *queue;
static struct ibv_qp *qp;
static struct ibv_mr *region;
static uint32_t *buffer; /* the second half is for what comes in */
static int migrations, port_errors;

static void check(int good, const char *what) {
    if (good) return;
    printf("failed: %s (%s)\n", what, strerror(errno));
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int meet(int listening, const char *address) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(tcp_port)};
    check(inet_pton(AF_INET, address, &at.sin_addr) == 1, "an address");
    int made = socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;
    if (listening) {
        setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        check(bind(made, (struct sockaddr *)&at, sizeof at) == 0, "bind");
        check(listen(made, 1) == 0, "listen");
        puts("ready");
        return accept(made, NULL, NULL);
    }
    check(connect(made, (struct sockaddr *)&at, sizeof at) == 0, "connect");
    return made;
}

static struct end exchange(int link, struct end own) {
    struct end other;
    check(write(link, &own, sizeof own) == sizeof own, "tell");
    check(recv(link, &other, sizeof other, MSG_WAITALL) == sizeof other, "be told");
    return other;
}

static void post_receive(void) {
    struct ibv_sge place = {(uintptr_t)buffer + message_bytes, message_bytes, region->lkey};
    struct ibv_recv_wr work = {.sg_list = &place, .num_sge = 1}, *bad;
    check(ibv_post_recv(qp, &work, &bad) == 0, "ibv_post_recv");
}

static void send_message(uint32_t number) {
    buffer[0] = number;
    buffer[message_bytes / 4 - 1] = ~number;
    struct ibv_sge place = {(uintptr_t)buffer, message_bytes, region->lkey};
    struct ibv_send_wr work = {.wr_id = 1, .sg_list = &place, .num_sge = 1};
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    struct ibv_send_wr *bad;
    errno = ibv_post_send(qp, &work, &bad);
    check(errno == 0, "ibv_post_send");
}

static void tell_events(void) {
    struct ibv_async_event event;
    while (ibv_get_async_event(context, &event) == 0) {
        const int of_port =
            event.event_type == IBV_EVENT_PORT_ERR || event.event_type == IBV_EVENT_PORT_ACTIVE;
        printf("event %s", ibv_event_type_str(event.event_type));
        if (of_port) printf(" %d", event.element.port_num);
        printf("\n");
        if (event.event_type == IBV_EVENT_PATH_MIG) ++migrations;
        if (event.event_type == IBV_EVENT_PORT_ERR) ++port_errors;
        ibv_ack_async_event(&event);
    }
}

/* Waits for one message to have come and one to have gone. */
static uint32_t wait_for_message(void) {
    const double until = seconds() + 20;
    int sent = 0, received = 0;
    while (!sent || !received) {
        struct ibv_wc done;
        const int got = ibv_poll_cq(queue, 1, &done);
        check(got >= 0 && seconds() < until, "a message within 20 s");
        tell_events();
        if (got == 0) continue;
        check(done.status == IBV_WC_SUCCESS, ibv_wc_status_str(done.status));
        if (done.wr_id == 1)
            sent = 1;
        else
            received = 1;
    }
    const uint32_t *came = buffer + message_bytes / 4;
    check(came[0] == ~came[message_bytes / 4 - 1], "a whole message");
    return came[0];
}

static struct ibv_qp_attr ask(void) {
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr unused;
    check(ibv_query_qp(qp, &attributes, IBV_QP_PATH_MIG_STATE, &unused) == 0, "ibv_query_qp");
    return attributes;
}

static struct ibv_ah_attr path(const struct end *other, int port) {
    struct ibv_ah_attr made = {.is_global = 1, .port_num = (uint8_t)port};
    made.grh.dgid = other->gids[port - 1];
    made.grh.hop_limit = 64;
    return made;
}

static void connect_paths(const struct end *other, int reliable) {
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    check(ibv_modify_qp(qp, &init,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "INIT");
    struct ibv_qp_attr receiver = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024};
    receiver.dest_qp_num = other->qp_number;
    receiver.max_dest_rd_atomic = 1;
    receiver.min_rnr_timer = 1;
    receiver.ah_attr = path(other, 1);
    receiver.alt_ah_attr = path(other, 2);
    receiver.alt_port_num = 2;
    receiver.alt_timeout = 10;
    int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_ALT_PATH;
    if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    check(ibv_modify_qp(qp, &receiver, mask) == 0, "RTR");
    post_receive();
    struct ibv_qp_attr sender = {.qp_state = IBV_QPS_RTS, .timeout = 10, .retry_cnt = 7};
    sender.rnr_retry = 7;
    sender.max_rd_atomic = 1;
    sender.path_mig_state = IBV_MIG_REARM;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_PATH_MIG_STATE;
    if (reliable) {
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    check(ibv_modify_qp(qp, &sender, mask) == 0, "RTS");
    check(ask().path_mig_state == IBV_MIG_REARM, "REARM");
}

static void open_device(int reliable) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    check(list && list[0], "a device");
    context = ibv_open_device(list[0]);
    check(context != NULL, "ibv_open_device");
    struct ibv_device_attr device;
    check(ibv_query_device(context, &device) == 0, "ibv_query_device");
    check(device.phys_port_cnt == 2, "two ports");
    check(device.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG, "automatic path migration");
    fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
    struct ibv_pd *domain = ibv_alloc_pd(context);
    buffer = calloc(2, message_bytes);
    region = ibv_reg_mr(domain, buffer, 2 * message_bytes, IBV_ACCESS_LOCAL_WRITE);
    queue = ibv_create_cq(context, 8, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {.send_cq = queue, .recv_cq = queue};
    init.cap = (struct ibv_qp_cap){
        .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1};
    init.qp_type = reliable ? IBV_QPT_RC : IBV_QPT_UC;
    qp = ibv_create_qp(domain, &init);
    check(region && queue && qp, "objects");
}

static void command_migration(void) {
    struct ibv_qp_attr migrate = {.path_mig_state = IBV_MIG_MIGRATED};
    check(ibv_modify_qp(qp, &migrate, IBV_QP_PATH_MIG_STATE) == 0, "MIGRATED");
    tell_events();
}

static void wait_for_port_error(void) {
    const double until = seconds() + 20;
    while (port_errors == 0) {
        check(seconds() < until, "a port error within 20 s");
        tell_events();
    }
}

/* Sends until the path has migrated and `messages` further; the last message says so. */
static void lead(int messages, int command_at) {
    int left = messages, armed = 0;
    for (uint32_t number = 1;; ++number) {
        const uint32_t sent = left == 0 ? last_message : number;
        send_message(sent);
        check(wait_for_message() == sent, "the answer in its turn");
        if (left == 0) return;
        post_receive();
        if (!armed && ask().path_mig_state == IBV_MIG_ARMED) {
            armed = 1;
            puts("armed");
        }
        if (armed && (int)number == command_at) command_migration();
        if (migrations) --left;
    }
}

/*
 * Answers each message with its number, once the answer before it is acknowledged: a message may
 * come ahead of the acknowledgement that the peer owes, and the send queue holds only two.
 */
static void follow(void) {
    int is_answering = 0;
    for (uint32_t expected = 1;; ++expected) {
        int received = 0;
        while (!received || is_answering) {
            struct ibv_wc done = {0};
            if (ibv_poll_cq(queue, 1, &done) == 0) {
                tell_events();
                continue;
            }
            check(done.status == IBV_WC_SUCCESS, ibv_wc_status_str(done.status));
            if (done.wr_id == 1)
                is_answering = 0;
            else
                received = 1;
        }
        const uint32_t *came = buffer + message_bytes / 4;
        check(came[0] == expected || came[0] == last_message, "the message in its turn");
        const int is_last = came[0] == last_message;
        post_receive();
        send_message(is_last ? last_message : expected);
        if (is_last) return;
        is_answering = 1;
    }
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(count >= 5, "usage");
    const int until_port_error = strcmp(words[count - 1], "until-port-error") == 0;
    count -= until_port_error;
    const int reliable = strcmp(words[1], "rc") == 0, listening = strcmp(words[2], "listen") == 0;
    open_device(reliable);
    struct end own = {.qp_number = qp->qp_num};
    for (uint8_t port = 1; port <= 2; ++port) {
        check(ibv_query_gid(context, port, 0, &own.gids[port - 1]) == 0, "ibv_query_gid");
    }
    const int link = meet(listening, words[3]);
    const struct end other = exchange(link, own);
    connect_paths(&other, reliable);
    exchange(link, own);
    if (listening)
        follow();
    else
        lead(atoi(words[4]), count > 5 ? atoi(words[5]) : 0);
    tell_events();
    if (until_port_error) wait_for_port_error();
    const struct ibv_qp_attr now = ask();
    const char *states[] = {"migrated", "rearm", "armed"};
    printf("port %d %s\n", now.port_num, states[now.path_mig_state]);
    exchange(link, own);
    return 0;
}
