// SPDX-License-Identifier: BSD-3-Clause
//
// What the manual pages of librdmacm and rsocket(7) promise, kept or not: both ends are on this
// host. The word on the command line says what is tried; the status is 0 if it was as promised.

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { port = 7471, soon_ms = 20000 };

static void need(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

static struct sockaddr_in here(void) {
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(port)};
    made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return made;
}

static struct rdma_event_channel *channel(void) {
    struct rdma_event_channel *made = rdma_create_event_channel();
    need(made != NULL, "rdma_create_event_channel");
    return made;
}

static struct rdma_cm_id *listener(struct rdma_event_channel *on, enum rdma_port_space space) {
    struct rdma_cm_id *id = NULL;
    struct sockaddr_in name = here();
    need(!rdma_create_id(on, &id, NULL, space), "rdma_create_id");
    need(!rdma_bind_addr(id, (struct sockaddr *)&name), "rdma_bind_addr");
    need(!rdma_listen(id, 0), "rdma_listen");
    return id;
}

static void await(struct rdma_event_channel *on, enum rdma_cm_event_type wanted) {
    struct rdma_cm_event *event = NULL;
    need(!rdma_get_cm_event(on, &event), "rdma_get_cm_event");
    if (event->event != wanted) {
        fprintf(stderr, "%s, not %s\n", rdma_event_str(event->event), rdma_event_str(wanted));
        exit(1);
    }
    rdma_ack_cm_event(event);
}

// Asks for a connection whose queue pair is elsewhere.
static struct rdma_cm_id *call(struct rdma_event_channel *on, enum rdma_port_space space,
                               enum ibv_qp_type type) {
    struct rdma_cm_id *id = NULL;
    struct sockaddr_in to = here();
    need(!rdma_create_id(on, &id, NULL, space), "rdma_create_id");
    id->qp_type = type;
    need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), "rdma_resolve_addr");
    await(on, RDMA_CM_EVENT_ADDR_RESOLVED);
    need(!rdma_resolve_route(id, 1000), "rdma_resolve_route");
    await(on, RDMA_CM_EVENT_ROUTE_RESOLVED);
    struct rdma_conn_param given = {.qp_num = 77, .retry_count = 7};
    need(!rdma_connect(id, &given), "rdma_connect");
    return id;
}

static int is_readable(int descriptor, int wait_ms) {
    struct pollfd one = {descriptor, POLLIN, 0};
    return poll(&one, 1, wait_ms) > 0;
}

// A process that ends still hears of callers until it has run whatever it has to run then: this is
// registered before any library is initialised, and so called when all of them are finalised.
static struct rdma_event_channel *at_end;
static pid_t caller_at_end;
static int go_at_end;

static void hear_a_caller(int status, void *unused) {
    (void)status, (void)unused;
    if (!at_end) return;
    // Memory that was given back is somebody else's.
    for (size_t bytes = 24; bytes <= 256; bytes += 8) {
        for (int i = 0; i < 32; ++i) memset(malloc(bytes), 0x41, bytes);
    }
    const int told = write(go_at_end, "", 1) == 1;
    const int heard = told && is_readable(at_end->fd, soon_ms);
    kill(caller_at_end, SIGKILL);
    waitpid(caller_at_end, NULL, 0);
    _exit(heard ? 0 : 1);
}

static void register_first(void) {
    on_exit(hear_a_caller, NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*first)(void) = register_first;

static int end_while_somebody_calls(void) {
    int go[2];
    need(!pipe(go), "pipe");
    caller_at_end = fork();
    if (caller_at_end == 0) {
        char told = 0;
        close(go[1]);  // so that it ends with a parent that ends before
        need(read(go[0], &told, 1) == 1, "read");
        call(channel(), RDMA_PS_TCP, IBV_QPT_RC);
        for (;;) pause();
    }
    go_at_end = go[1];
    at_end = channel();
    listener(at_end, RDMA_PS_TCP);
    return 1;  // which is not what hear_a_caller() ends with
}

// Who asks a service for queue pairs that it has none of is rejected; the program hears nothing.
static int reject_other_kinds(void) {
    const struct {
        enum rdma_port_space space;
        enum ibv_qp_type type;
        enum rdma_cm_event_type answer;
    } kinds[] = {{RDMA_PS_UDP, IBV_QPT_RC, RDMA_CM_EVENT_REJECTED},
                 {RDMA_PS_TCP, IBV_QPT_UD, RDMA_CM_EVENT_UNREACHABLE}};
    for (int i = 0; i < 2; ++i) {
        struct rdma_event_channel *asked = channel();
        struct rdma_cm_id *listens = listener(asked, kinds[i].space);
        const pid_t caller = fork();
        if (caller == 0) {
            struct rdma_event_channel *answered = channel();
            call(answered, kinds[i].space, kinds[i].type);
            if (is_readable(answered->fd, soon_ms)) await(answered, kinds[i].answer);
            _exit(0);
        }
        int status = 0;
        need(waitpid(caller, &status, 0) == caller, "waitpid");
        if (status != 0 || is_readable(asked->fd, 0)) {
            fprintf(stderr, "the listener was asked for what it has not\n");
            return 1;
        }
        rdma_destroy_id(listens);
        rdma_destroy_event_channel(asked);
    }
    return 0;
}

// More private data than the message has room for is an error, and does not arrive cut.
static int refuse_long_private_data(void) {
    static char data[255];
    struct rdma_event_channel *one = channel();
    struct rdma_event_channel *other = channel();
    listener(one, RDMA_PS_TCP);
    call(other, RDMA_PS_TCP, IBV_QPT_RC);
    struct rdma_cm_event *event = NULL;
    need(!rdma_get_cm_event(one, &event), "rdma_get_cm_event");
    struct rdma_conn_param given = {.qp_num = 78, .private_data = data, .private_data_len = 197};
    const int accepts = rdma_accept(event->id, &given) == 0 || errno != EINVAL;
    const int rejects = rdma_reject(event->id, data, 149) == 0 || errno != EINVAL;
    given.private_data_len = 196;
    const int fits = rdma_accept(event->id, &given) == 0;
    printf("accepts %d rejects %d fits %d\n", accepts, rejects, fits);
    return accepts || rejects || !fits;
}

static void *write_four_bytes(void *unused) {
    const int caller = rsocket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = here();
    need(caller >= 0 && !rconnect(caller, (struct sockaddr *)&to, sizeof to), "rconnect");
    need(rwrite(caller, "four", 4) == 4, "rwrite");
    return unused;
}

// A read into several pieces returns with what has arrived, though it fills only the first.
static int read_what_is_there(void) {
    const int listens = rsocket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name = here();
    need(listens >= 0 && !rbind(listens, (struct sockaddr *)&name, sizeof name), "rbind");
    need(!rlisten(listens, 1), "rlisten");
    pthread_t caller;
    need(!pthread_create(&caller, NULL, write_four_bytes, NULL), "pthread_create");
    const int accepted = raccept(listens, NULL, NULL);
    need(accepted >= 0, "raccept");
    char first[4], second[4];
    struct iovec pieces[] = {{first, sizeof first}, {second, sizeof second}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    const ssize_t peeked = rrecvmsg(accepted, &message, MSG_PEEK);
    const ssize_t got = rreadv(accepted, pieces, 2);
    pthread_join(caller, NULL);
    printf("peeked %zd got %zd\n", peeked, got);
    return peeked != 4 || got != 4 || memcmp(first, "four", 4) != 0;
}

static int is_refused(int status) {
    return status == -1 && errno == EINVAL;
}

// Addresses, then routes, then the connection, each once.
static int go_in_order(void) {
    struct rdma_event_channel *mine = channel();
    struct rdma_cm_id *id = NULL;
    struct sockaddr_in name = here(), to = here();
    name.sin_port = 0;
    struct rdma_conn_param given = {.qp_num = 77};
    int wrong = !is_refused(rdma_create_id(mine, &id, NULL, (enum rdma_port_space)12345));
    need(!rdma_create_id(mine, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
    need(!rdma_bind_addr(id, (struct sockaddr *)&name), "rdma_bind_addr");
    wrong += !is_refused(rdma_resolve_route(id, 1000));
    wrong += !is_refused(rdma_connect(id, &given));
    need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), "rdma_resolve_addr");
    await(mine, RDMA_CM_EVENT_ADDR_RESOLVED);
    wrong += !is_refused(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
    wrong += !is_refused(rdma_connect(id, &given));
    need(!rdma_resolve_route(id, 1000), "rdma_resolve_route");
    await(mine, RDMA_CM_EVENT_ROUTE_RESOLVED);
    wrong += !is_refused(rdma_resolve_route(id, 1000));
    wrong += !is_refused(rdma_connect(id, NULL));
    given.responder_resources = 200;
    wrong += !is_refused(rdma_connect(id, &given));
    given.responder_resources = RDMA_MAX_RESP_RES;
    given.initiator_depth = 200;
    wrong += !is_refused(rdma_connect(id, &given));
    given.initiator_depth = RDMA_MAX_INIT_DEPTH;
    wrong += rdma_connect(id, &given) != 0;
    wrong += !is_refused(rdma_get_cm_event(mine, NULL));
    printf("%d wrong\n", wrong);
    return wrong;
}

static in_addr_t address_of(struct sockaddr *name) {
    return ((struct sockaddr_in *)name)->sin_addr.s_addr;
}

// 0.0.0.0 is this host, at the address that the caller has, as it is to a kernel.
static int resolve_any_address(void) {
    struct rdma_event_channel *mine = channel();
    struct sockaddr_in any = here(), name = here();
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    name.sin_port = 0;
    int wrong = 0;
    for (int bound = 0; bound < 2; ++bound) {
        struct rdma_cm_id *id = NULL;
        need(!rdma_create_id(mine, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
        if (bound) need(!rdma_bind_addr(id, (struct sockaddr *)&name), "rdma_bind_addr");
        need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&any, 1000), "rdma_resolve_addr");
        await(mine, RDMA_CM_EVENT_ADDR_RESOLVED);
        const in_addr_t local = address_of(rdma_get_local_addr(id));
        wrong += local != address_of((struct sockaddr *)&name);
        wrong += address_of(rdma_get_peer_addr(id)) != local;
    }
    printf("%d wrong\n", wrong);
    return wrong;
}

// The time for an acknowledgement has five bits.
static int refuse_long_ack_timeout(void) {
    struct rdma_cm_id *id = NULL;
    uint8_t longest = 31, longer = 32;
    need(!rdma_create_id(channel(), &id, NULL, RDMA_PS_TCP), "rdma_create_id");
    const int option = RDMA_OPTION_ID_ACK_TIMEOUT;
    const int taken = rdma_set_option(id, RDMA_OPTION_ID, option, &longest, sizeof longest);
    return taken != 0 ||
           !is_refused(rdma_set_option(id, RDMA_OPTION_ID, option, &longer, sizeof longer));
}

static atomic_int is_acknowledged = 0;

static void *acknowledge_late(void *event) {
    usleep(200000);
    is_acknowledged = 1;
    rdma_ack_cm_event(event);
    return NULL;
}

// An identifier moves to another channel when its events have been acknowledged.
static int move_when_acknowledged(void) {
    struct rdma_event_channel *mine = channel();
    struct rdma_cm_id *id = NULL;
    struct rdma_cm_event *event = NULL;
    struct sockaddr_in to = here();
    need(!rdma_create_id(mine, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
    need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), "rdma_resolve_addr");
    need(!rdma_get_cm_event(mine, &event), "rdma_get_cm_event");
    pthread_t thread;
    need(!pthread_create(&thread, NULL, acknowledge_late, event), "pthread_create");
    need(!rdma_migrate_id(id, channel()), "rdma_migrate_id");
    const int waited = is_acknowledged;
    pthread_join(thread, NULL);
    printf("moved %s\n", waited ? "afterwards" : "before");
    return !waited;
}

// An end of a connection with a queue pair for one message each way; `flags` tell which end.
static struct rdma_cm_id *endpoint(int flags) {
    struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *found = NULL;
    struct ibv_qp_init_attr wanted = {.sq_sig_all = 1};
    wanted.cap = (struct ibv_qp_cap){1, 1, 1, 1, 0};
    struct rdma_cm_id *id = NULL;
    need(!rdma_getaddrinfo("127.0.0.1", "7471", &hints, &found), "rdma_getaddrinfo");
    need(!rdma_create_ep(&id, found, NULL, &wanted), "rdma_create_ep");
    rdma_freeaddrinfo(found);
    return id;
}

// Each end tells the other how often to try again; 7 would be for ever.
static struct rdma_conn_param once = {.retry_count = 7, .rnr_retry_count = 1};

// Returns the status of its completion.
static int send_one(struct rdma_cm_id *id, char *bytes, size_t size) {
    struct ibv_mr *region = rdma_reg_msgs(id, bytes, size);
    struct ibv_wc completion;
    need(region && !rdma_connect(id, &once), "rdma_connect");
    need(!rdma_post_send(id, NULL, bytes, size, region, 0), "rdma_post_send");
    need(rdma_get_send_comp(id, &completion) == 1, "rdma_get_send_comp");
    return completion.status;
}

// A receive that is posted 0.1 s after the message was sent still gets it, with one retry.
static int receive_late(void) {
    static char bytes[4];
    struct rdma_cm_id *listens = endpoint(RAI_PASSIVE), *accepted = NULL;
    need(!rdma_listen(listens, 0), "rdma_listen");
    const pid_t caller = fork();
    if (caller == 0) _exit(send_one(endpoint(0), bytes, sizeof bytes));
    need(!rdma_get_request(listens, &accepted), "rdma_get_request");
    struct ibv_mr *region = rdma_reg_msgs(accepted, bytes, sizeof bytes);
    need(region && !rdma_accept(accepted, &once), "rdma_accept");
    usleep(100000);
    need(!rdma_post_recv(accepted, NULL, bytes, sizeof bytes, region), "rdma_post_recv");
    int status = 0;
    need(waitpid(caller, &status, 0) == caller, "waitpid");
    printf("sent with status %d\n", WEXITSTATUS(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int count, char **words) {
    const struct {
        const char *name;
        int (*tried)(void);
    } all[] = {{"end", end_while_somebody_calls},
               {"kinds", reject_other_kinds},
               {"private", refuse_long_private_data},
               {"pieces", read_what_is_there},
               {"order", go_in_order},
               {"any", resolve_any_address},
               {"timeout", refuse_long_ack_timeout},
               {"moved", move_when_acknowledged},
               {"late", receive_late}};
    for (size_t i = 0; count == 2 && i < sizeof all / sizeof *all; ++i) {
        if (strcmp(words[1], all[i].name) == 0) return all[i].tried();
    }
    return 2;
}
