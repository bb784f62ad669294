// SPDX-License-Identifier: BSD-3-Clause
//
// What the manual pages of librdmacm and rsocket(7) promise, and what programs know of the kernel's
// connection manager, kept or not: both ends are on this host. The word on the command line says
// what is tried; the status is 0 if it was as promised.

#include <arpa/inet.h>
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
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { port = 7471, soon_ms = 20000 };

static void need(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

static uint16_t port_here = port;

static struct sockaddr_in here(void) {
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(port_here)};
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

static int is_denied(int status) {
    return status == -1 && errno == EPERM;
}

// What a child does with what it has a copy of; how much of it goes wrong.
static int use_inherited(struct rdma_event_channel *inherited, struct rdma_cm_id *listens,
                         int stream) {
    struct rdma_cm_event *event = NULL;
    struct rdma_cm_id *id = NULL;
    port_here = port + 1;
    struct rdma_event_channel *mine = channel();
    listener(mine, RDMA_PS_TCP);
    int wrong = !is_denied(rdma_get_cm_event(inherited, &event));
    wrong += !is_denied(rdma_listen(listens, 0));
    wrong += !is_denied(rdma_create_id(inherited, &id, NULL, RDMA_PS_TCP));
    wrong += !is_denied(rlisten(stream, 1));
    wrong += rdma_destroy_id(listens) != 0 || rclose(stream) != 0;
    rdma_destroy_event_channel(inherited);
    // Its own listener is still there.
    call(channel(), RDMA_PS_TCP, IBV_QPT_RC);
    wrong += !is_readable(mine->fd, soon_ms);
    return wrong;
}

// A child cannot use what its parent has, and takes nothing from it.
static int leave_to_parent(void) {
    struct rdma_event_channel *mine = channel();
    struct rdma_cm_id *listens = listener(mine, RDMA_PS_TCP);
    const int stream = rsocket(AF_INET, SOCK_STREAM, 0);
    call(channel(), RDMA_PS_TCP, IBV_QPT_RC);
    need(stream >= 0 && is_readable(mine->fd, soon_ms), "a request");
    const pid_t child = fork();
    if (child == 0) exit(use_inherited(mine, listens, stream));
    int status = 0;
    need(waitpid(child, &status, 0) == child, "waitpid");
    const int is_left = is_readable(mine->fd, 0);
    printf("status %x, %d left\n", (unsigned)status, is_left);
    if (status != 0 || !is_left) return 1;
    await(mine, RDMA_CM_EVENT_CONNECT_REQUEST);
    return 0;
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

// A request that nobody has taken yet moves with its listener, and so does what was made for it.
static int move_with_request(void) {
    struct rdma_event_channel *before = channel(), *after = channel();
    struct rdma_cm_id *listens = listener(before, RDMA_PS_TCP);
    struct rdma_cm_id *caller = call(channel(), RDMA_PS_TCP, IBV_QPT_RC);
    need(is_readable(before->fd, soon_ms), "a request");
    need(!rdma_migrate_id(listens, after), "rdma_migrate_id");
    rdma_destroy_event_channel(before);
    struct rdma_cm_event *event = NULL;
    need(!rdma_get_cm_event(after, &event), "rdma_get_cm_event");
    const int moved = event->id->channel == after;
    struct rdma_conn_param given = {.qp_num = 78};
    need(!rdma_accept(event->id, &given), "rdma_accept");
    rdma_ack_cm_event(event);
    need(!rdma_destroy_id(caller), "rdma_destroy_id");
    const int heard = moved && is_readable(after->fd, soon_ms);
    printf("moved %d heard %d\n", moved, heard);
    return !moved || !heard;
}

// A process that ends tells its peers, though its threads are in the middle of calls.
static void *bind_on_and_on(void *unused) {
    struct rdma_event_channel *mine = channel();
    struct sockaddr_in name = here();
    name.sin_port = 0;
    for (;;) {
        struct rdma_cm_id *id = NULL;
        need(!rdma_create_id(mine, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
        rdma_bind_addr(id, (struct sockaddr *)&name);
        rdma_destroy_id(id);
    }
    return unused;
}

static void end_while_busy(void) {
    struct rdma_event_channel *mine = channel();
    struct rdma_cm_id *id = call(mine, RDMA_PS_TCP, IBV_QPT_RC);
    await(mine, RDMA_CM_EVENT_CONNECT_RESPONSE);
    need(!rdma_establish(id), "rdma_establish");
    pthread_t thread;
    for (int i = 0; i < 4; ++i) {
        need(!pthread_create(&thread, NULL, bind_on_and_on, NULL), "pthread_create");
    }
    usleep(20000);
    exit(0);
}

static int hear_of_ends(void) {
    enum { peers = 12 };
    struct rdma_event_channel *mine = channel();
    listener(mine, RDMA_PS_TCP);
    int heard = 0;
    for (int i = 0; i < peers; ++i) {
        struct rdma_conn_param given = {.qp_num = 78};
        struct rdma_cm_event *event = NULL;
        const pid_t peer = fork();
        if (peer == 0) end_while_busy();
        need(!rdma_get_cm_event(mine, &event), "rdma_get_cm_event");
        struct rdma_cm_id *accepted = event->id;
        rdma_ack_cm_event(event);
        need(!rdma_accept(accepted, &given), "rdma_accept");
        await(mine, RDMA_CM_EVENT_ESTABLISHED);
        need(waitpid(peer, NULL, 0) == peer, "waitpid");
        if (is_readable(mine->fd, 1000)) {
            await(mine, RDMA_CM_EVENT_DISCONNECTED);
            ++heard;
        }
        rdma_destroy_id(accepted);
    }
    printf("heard of %d of %d\n", heard, peers);
    return heard < peers - 2;  // a thread that holds a lock may be without a core for a while
}

/* Without a descriptor for its events a channel is not made, nor an identifier that has its own. */
static int make_without_descriptors(void) {
    struct rdma_cm_id *id = NULL;
    need(channel() != NULL, "rdma_create_event_channel");
    const int next = dup(0);
    need(next >= 0 && !close(next), "dup");
    const struct rlimit none = {(rlim_t)next, (rlim_t)next};
    need(!setrlimit(RLIMIT_NOFILE, &none), "setrlimit");
    errno = 0;
    int wrong = rdma_create_event_channel() != NULL || errno != EMFILE;
    errno = 0;
    wrong += rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) == 0 || errno != EMFILE;
    printf("%d wrong\n", wrong);
    return wrong;
}

static int is_bound(in_addr_t address) {
    struct rdma_cm_id *id = NULL;
    struct sockaddr_in name = here();
    name.sin_addr.s_addr = htonl(address);
    need(!rdma_create_id(channel(), &id, NULL, RDMA_PS_TCP), "rdma_create_id");
    const int bound = rdma_bind_addr(id, (struct sockaddr *)&name) == 0;
    need(bound || errno == EADDRINUSE, "rdma_bind_addr");
    return bound;
}

// A port number is either of all addresses or of single ones, also for another process.
static int claim_once(void) {
    int status = 0, wrong = !is_bound(INADDR_LOOPBACK);
    const pid_t child = fork();
    if (child == 0) {
        const int refused = !is_bound(INADDR_ANY);
        port_here = port + 1;
        exit(!refused || !is_bound(INADDR_ANY) || is_bound(INADDR_LOOPBACK));
    }
    need(waitpid(child, &status, 0) == child, "waitpid");
    wrong += is_bound(INADDR_ANY);
    printf("%d wrong, child %x\n", wrong, (unsigned)status);
    return wrong || status != 0;
}

// Can be called after a while only, and says when that begins.
static int listen_late(void) {
    struct rdma_event_channel *mine = channel();
    sleep(1);
    puts("listens");
    fflush(stdout);
    listener(mine, RDMA_PS_TCP);
    pause();
    return 0;
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

// A caller that asks for no reads gets as many as the one who accepts offers, and the other way.
static int grant_what_is_offered(void) {
    struct rdma_conn_param none = {.retry_count = 7}, some = {.responder_resources = 2};
    some.initiator_depth = 3;
    struct rdma_cm_id *listens = endpoint(RAI_PASSIVE), *accepted = NULL;
    struct ibv_qp_attr has;
    struct ibv_qp_init_attr unused;
    need(!rdma_listen(listens, 0), "rdma_listen");
    const pid_t caller = fork();
    if (caller == 0) {
        struct rdma_cm_id *id = endpoint(0);
        need(!rdma_connect(id, &none), "rdma_connect");
        need(!ibv_query_qp(id->qp, &has, IBV_QP_MAX_DEST_RD_ATOMIC, &unused), "ibv_query_qp");
        _exit(has.max_dest_rd_atomic != 3 || has.max_rd_atomic != 2);
    }
    need(!rdma_get_request(listens, &accepted), "rdma_get_request");
    need(!rdma_accept(accepted, &some), "rdma_accept");
    need(!ibv_query_qp(accepted->qp, &has, IBV_QP_MAX_QP_RD_ATOMIC, &unused), "ibv_query_qp");
    int status = 0;
    need(waitpid(caller, &status, 0) == caller, "waitpid");
    printf("reads %d, caller %d\n", has.max_rd_atomic, status);
    return has.max_rd_atomic != 3 || has.max_dest_rd_atomic != 2 || status != 0;
}

static int is_gid(const union ibv_gid *gid) {
    return gid->global.interface_id != 0;
}

// Requests that the program has taken leave their places to others, and show the way they came.
static int take_more_than_the_backlog(void) {
    struct rdma_event_channel *asked = channel();
    struct rdma_cm_id *listens = NULL, *asking[3];
    struct sockaddr_in name = here();
    need(!rdma_create_id(asked, &listens, NULL, RDMA_PS_TCP), "rdma_create_id");
    need(!rdma_bind_addr(listens, (struct sockaddr *)&name), "rdma_bind_addr");
    need(!rdma_listen(listens, 1), "rdma_listen");
    int wrong = 0;
    for (int i = 0; i < 3; ++i) {
        call(channel(), RDMA_PS_TCP, IBV_QPT_RC);
        struct rdma_cm_event *event = NULL;
        need(is_readable(asked->fd, soon_ms), "a request");
        need(!rdma_get_cm_event(asked, &event), "rdma_get_cm_event");
        asking[i] = event->id;
        const struct rdma_ib_addr *ends = &asking[i]->route.addr.addr.ibaddr;
        wrong += asking[i]->route.num_paths != 1 || !asking[i]->route.path_rec;
        wrong += !is_gid(&ends->sgid) || !is_gid(&ends->dgid);
        rdma_ack_cm_event(event);
    }
    printf("%d wrong\n", wrong);
    return wrong;
}

// Resolves an address; the status of the event, 0 where it was resolved.
static int resolve(struct rdma_event_channel *mine, struct rdma_cm_id *id, const char *address) {
    struct sockaddr_in to = here();
    struct rdma_cm_event *event = NULL;
    to.sin_addr.s_addr = inet_addr(address);
    need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), "rdma_resolve_addr");
    need(!rdma_get_cm_event(mine, &event), "rdma_get_cm_event");
    const int status = event->event == RDMA_CM_EVENT_ADDR_RESOLVED ? 0 : event->status;
    rdma_ack_cm_event(event);
    return status;
}

// What could not be resolved is forgotten, and a path that is set needs no resolving.
static int resolve_after_errors(void) {
    struct rdma_event_channel *mine = channel();
    struct rdma_cm_id *id = NULL;
    struct ibv_path_data path = {0}, unusable = {0};
    path.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
    need(!rdma_create_id(mine, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
    const int nowhere = resolve(mine, id, "10.99.0.1"), elsewhere = resolve(mine, id, "10.1.0.2");
    const int at_home = resolve(mine, id, "127.0.0.1");
    const int option = RDMA_OPTION_IB_PATH;
    const int level = RDMA_OPTION_IB;
    const int refused = is_refused(rdma_set_option(id, level, option, &unusable, sizeof path));
    need(!rdma_set_option(id, level, option, &path, sizeof path), "rdma_set_option");
    await(mine, RDMA_CM_EVENT_ROUTE_RESOLVED);
    printf("nowhere %d elsewhere %d here %d\n", nowhere, elsewhere, at_home);
    return nowhere != -ENETUNREACH || elsewhere != -ENODEV || at_home != 0 || !refused;
}

// Whatever a call has come to, it may be disconnected.
static int disconnect_while_connecting(void) {
    struct rdma_cm_id *id = NULL;
    need(!rdma_create_id(channel(), &id, NULL, RDMA_PS_TCP), "rdma_create_id");
    const int fresh = is_refused(rdma_disconnect(id));
    listener(channel(), RDMA_PS_TCP);
    return !fresh || rdma_disconnect(call(channel(), RDMA_PS_TCP, IBV_QPT_RC)) != 0;
}

static void join(struct rdma_event_channel *mine, struct rdma_cm_id *id, uint32_t flags) {
    struct sockaddr_in group = here();
    group.sin_addr.s_addr = inet_addr("239.1.2.3");
    struct rdma_cm_join_mc_attr_ex wanted = {.join_flags = flags};
    wanted.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    wanted.addr = (struct sockaddr *)&group;
    need(!rdma_join_multicast_ex(id, &wanted, NULL), "rdma_join_multicast_ex");
    await(mine, RDMA_CM_EVENT_MULTICAST_JOIN);
}

// Who only sends to a group is not attached to it, so that there is nothing to detach.
static int join_only_to_send(void) {
    struct rdma_event_channel *mine = channel();
    int attached[2];
    for (uint32_t flags = 0; flags < 2; ++flags) {
        struct rdma_cm_id *id = NULL;
        struct ibv_qp_init_attr wanted = {.qp_type = IBV_QPT_UD, .cap = {1, 1, 1, 1, 0}};
        union ibv_gid gid = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
        need(!rdma_create_id(mine, &id, NULL, RDMA_PS_UDP), "rdma_create_id");
        need(!resolve(mine, id, "127.0.0.1"), "resolving");
        need(!rdma_create_qp(id, NULL, &wanted), "rdma_create_qp");
        join(mine, id, flags);
        attached[flags] = ibv_detach_mcast(id->qp, &gid, 0) == 0;
    }
    printf("member %d sender %d\n", attached[0], attached[1]);
    return !attached[0] || attached[1];
}

// The two ends of a stream between threads.
static int accepted_stream, calling_stream;

static void *call_stream(void *unused) {
    struct sockaddr_in to = here();
    calling_stream = rsocket(AF_INET, SOCK_STREAM, 0);
    need(!rconnect(calling_stream, (struct sockaddr *)&to, sizeof to), "rconnect");
    return unused;
}

static void connect_streams(void) {
    const int listens = rsocket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name = here();
    need(listens >= 0 && !rbind(listens, (struct sockaddr *)&name, sizeof name), "rbind");
    need(!rlisten(listens, 1), "rlisten");
    pthread_t caller;
    need(!pthread_create(&caller, NULL, call_stream, NULL), "pthread_create");
    accepted_stream = raccept(listens, NULL, NULL);
    need(accepted_stream >= 0, "raccept");
    pthread_join(caller, NULL);
}

// A script of faults ends the device: no message of the connection manager leaves it any more.
static int call_through_failed(void) {
    struct rdma_event_channel *asked = channel(), *calls = channel();
    struct rdma_cm_event *event = NULL;
    struct rdma_conn_param given = {.qp_num = 78};
    connect_streams();
    port_here = port + 1;
    listener(asked, RDMA_PS_TCP);
    struct rdma_cm_id *id = call(calls, RDMA_PS_TCP, IBV_QPT_RC);
    need(!rdma_get_cm_event(asked, &event), "rdma_get_cm_event");
    need(!rdma_accept(event->id, &given), "rdma_accept");
    rdma_ack_cm_event(event);
    await(calls, RDMA_CM_EVENT_CONNECT_RESPONSE);
    need(!rdma_establish(id), "rdma_establish");
    await(asked, RDMA_CM_EVENT_ESTABLISHED);
    for (int i = 0; i < 1000 && rsend(calling_stream, "m", 1, 0) == 1; ++i) usleep(1000);
    need(!rdma_destroy_id(id), "rdma_destroy_id");
    const int heard = is_readable(asked->fd, 1000);
    printf("heard %d\n", heard);
    return heard;
}

static void *close_calling(void *unused) {
    rclose(calling_stream);
    return unused;
}

// Ends with more unread messages each way than there is room for close without waiting for ever.
static int close_unread(void) {
    connect_streams();
    for (int i = 0; i < 90; ++i) {
        need(rsend(accepted_stream, "a", 1, 0) == 1, "rsend");
        need(rsend(calling_stream, "b", 1, 0) == 1, "rsend");
    }
    pthread_t closing;
    need(!pthread_create(&closing, NULL, close_calling, NULL), "pthread_create");
    rclose(accepted_stream);
    pthread_join(closing, NULL);
    return 0;
}

// Both ends may say that they are done before either reads.
static int half_close_unread(void) {
    connect_streams();
    for (int i = 0; i < 90; ++i) {
        need(rsend(accepted_stream, "a", 1, 0) == 1, "rsend");
        need(rsend(calling_stream, "b", 1, 0) == 1, "rsend");
    }
    need(!rshutdown(accepted_stream, SHUT_WR), "rshutdown");
    need(!rshutdown(calling_stream, SHUT_WR), "rshutdown");
    char read[100];
    const ssize_t first = rrecv(accepted_stream, read, sizeof read, MSG_WAITALL);
    const ssize_t second = rrecv(calling_stream, read, sizeof read, MSG_WAITALL);
    printf("read %zd and %zd\n", first, second);
    return first != 90 || second != 90;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A reader that was behind for a moment holds its sender up for about as long, and not for the
// 0.66 s that the connection manager lets a sender wait.
static int read_behind(void) {
    enum { messages = 96, tries = 5 };
    connect_streams();
    double shortest_s = 1e9;
    for (int i = 0; i < tries; ++i) {
        for (int j = 0; j < messages; ++j) need(rsend(calling_stream, "m", 1, 0) == 1, "rsend");
        usleep(20000);
        const double begun_s = now_s();
        char read[messages];
        need(rrecv(accepted_stream, read, messages, MSG_WAITALL) == messages, "rrecv");
        const double took_s = now_s() - begun_s;
        if (took_s < shortest_s) shortest_s = took_s;
    }
    printf("caught up in %.4f s\n", shortest_s);
    return shortest_s > 0.3;
}

static void note_signal(int number) {
    (void)number;
}

// A signal ends a wait, and a stream tells how large its buffers are.
static int interrupt_poll(void) {
    connect_streams();
    struct sigaction noted = {.sa_handler = note_signal};
    struct itimerval soon = {.it_value = {0, 100000}};
    struct pollfd one = {accepted_stream, POLLIN, 0};
    int bytes = 0;
    socklen_t size = sizeof bytes;
    need(!sigaction(SIGALRM, &noted, NULL) && !setitimer(ITIMER_REAL, &soon, NULL), "setitimer");
    const int polled = rpoll(&one, 1, soon_ms), error = errno;
    const int told = rgetsockopt(accepted_stream, SOL_SOCKET, SO_SNDBUF, &bytes, &size);
    printf("rpoll %d, %s; %d bytes\n", polled, strerror(error), bytes);
    return polled != -1 || error != EINTR || told != 0 || bytes <= 0;
}

int main(int count, char **words) {
    const struct {
        const char *name;
        int (*tried)(void);
    } all[] = {{"end", end_while_somebody_calls},
               {"kinds", reject_other_kinds},
               {"private", refuse_long_private_data},
               {"child", leave_to_parent},
               {"slow", listen_late},
               {"failed", call_through_failed},
               {"pending", move_with_request},
               {"busy", hear_of_ends},
               {"claims", claim_once},
               {"scarce", make_without_descriptors},
               {"pieces", read_what_is_there},
               {"order", go_in_order},
               {"any", resolve_any_address},
               {"timeout", refuse_long_ack_timeout},
               {"moved", move_when_acknowledged},
               {"late", receive_late},
               {"grants", grant_what_is_offered},
               {"backlog", take_more_than_the_backlog},
               {"errors", resolve_after_errors},
               {"connecting", disconnect_while_connecting},
               {"sender", join_only_to_send},
               {"unread", close_unread},
               {"half", half_close_unread},
               {"behind", read_behind},
               {"interrupt", interrupt_poll}};
    for (size_t i = 0; count == 2 && i < sizeof all / sizeof *all; ++i) {
        if (strcmp(words[1], all[i].name) == 0) return all[i].tried();
    }
    return 2;
}
