// SPDX-License-Identifier: BSD-3-Clause
//
// Sends a hundred messages to itself over a queue pair that is looped, one after the other. Prints
// the status of the last completion, how many came, then each asynchronous event. At the end it
// runs the command that it was given, if any, while it still has the device. With -s the queue pair
// is the second that it creates; the first one stays idle. With -r it is reset after half of the
// messages, and looped again. With -x it polls after them until a signal handler ends the process.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { messages = 100, events_wait_ms = 300 };

static char memory[64];
static struct ibv_context *context;
static struct ibv_qp *qp;
static struct ibv_cq *cq;
static struct ibv_mr *mr;

static void make(int is_second) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    context = ibv_open_device(devices[0]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr wanted = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {8, 8, 1, 1, 0}};
    if (is_second && !ibv_create_qp(pd, &wanted)) exit(2);
    qp = ibv_create_qp(pd, &wanted);
    if (!mr || !qp) exit(2);
}

static void reset(void) {
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_RESET};
    if (ibv_modify_qp(qp, &to, IBV_QP_STATE)) exit(2);
}

static void loop(void) {
    union ibv_gid gid;
    ibv_query_gid(context, 1, 0, &gid);
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    int error = ibv_modify_qp(qp, &to,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    to = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = qp->qp_num,
        .min_rnr_timer = 1,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}}};
    error |= ibv_modify_qp(qp, &to,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                               IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    to = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 6};
    error |= ibv_modify_qp(qp, &to,
                           IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                               IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error) exit(2);
}

// The status of the two completions of a message, of which the first that is not well counts.
static enum ibv_wc_status pass_on(void) {
    struct ibv_sge piece = {(uintptr_t)memory, sizeof memory, mr->lkey};
    struct ibv_recv_wr receive = {.sg_list = &piece, .num_sge = 1}, *bad_receive;
    struct ibv_send_wr send = {.sg_list = &piece,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    if (ibv_post_recv(qp, &receive, &bad_receive) || ibv_post_send(qp, &send, &bad)) exit(2);
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    for (int done = 0; done < 2 && status == IBV_WC_SUCCESS;) {
        struct ibv_wc completion;
        if (ibv_poll_cq(cq, 1, &completion) < 1) continue;
        ++done;
        status = completion.status;
    }
    return status;
}

static void end(int number) {
    (void)number;
    exit(0);
}

static void poll_until_a_signal(void) {
    signal(SIGALRM, end);
    alarm(1);
    for (;;) {
        struct ibv_wc completion;
        ibv_poll_cq(cq, 1, &completion);
    }
}

int main(int argc, char **argv) {
    const char option = argc > 1 && argv[1][0] == '-' ? argv[1][1] : '\0';
    const char *command = argv[option ? 2 : 1];
    make(option == 's');
    loop();
    int passed = 0;
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    while (passed < messages && (status = pass_on()) == IBV_WC_SUCCESS) {
        if (++passed != messages / 2 || option != 'r') continue;
        reset();
        loop();
    }
    printf("%s, %d messages\n", ibv_wc_status_str(status), passed);
    fflush(stdout);
    if (option == 'x') poll_until_a_signal();
    struct pollfd ready = {context->async_fd, POLLIN, 0};
    while (poll(&ready, 1, events_wait_ms) == 1) {
        struct ibv_async_event event;
        if (ibv_get_async_event(context, &event)) break;
        printf("%s\n", ibv_event_type_str(event.event_type));
        ibv_ack_async_event(&event);
    }
    fflush(stdout);
    return command && system(command) != 0;
}
