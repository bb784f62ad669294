// SPDX-License-Identifier: BSD-3-Clause
//
// What rsocket(7) promises of streams, where it is hard to keep: both ends are on this host. The
// word on the command line says what is tried; the status is 0 if it was as promised.

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { port = 7471 };

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

static int calling(void) {
    struct sockaddr_in to = here();
    const int made = rsocket(AF_INET, SOCK_STREAM, 0);
    need(made >= 0 && !rconnect(made, (struct sockaddr *)&to, sizeof to), "rconnect");
    return made;
}

static int listening(void) {
    struct sockaddr_in name = here();
    const int made = rsocket(AF_INET, SOCK_STREAM, 0);
    need(made >= 0 && !rbind(made, (struct sockaddr *)&name, sizeof name), "rbind");
    need(!rlisten(made, 1), "rlisten");
    return made;
}

// The two ends of a stream of this process.
static int accepted, caller;

static void *call(void *unused) {
    caller = calling();
    return unused;
}

static void connect_ends(void) {
    const int listens = listening();
    pthread_t thread;
    need(!pthread_create(&thread, NULL, call, NULL), "pthread_create");
    accepted = raccept(listens, NULL, NULL);
    need(accepted >= 0, "raccept");
    pthread_join(thread, NULL);
}

// Reads to the end, and closes; what the last read returned.
static void *read_all(void *unused) {
    char part[64];
    ssize_t got = 0;
    while ((got = rrecv(accepted, part, sizeof part, 0)) > 0) continue;
    need(!rclose(accepted), "rclose");
    return got == 0 ? unused : "an error";
}

// A script of faults breaks the stream: the sender hears of it, and the reader does not take what
// has come for everything.
static int break_stream(void) {
    enum { messages = 100000 };
    connect_ends();
    pthread_t reader;
    void *last = NULL;
    need(!pthread_create(&reader, NULL, read_all, NULL), "pthread_create");
    int sent = 0;
    while (sent < messages && rsend(caller, "m", 1, 0) == 1) ++sent;
    const int send_error = errno;
    need(!rclose(caller), "rclose");
    pthread_join(reader, &last);
    printf("sent %d, then %s; read to %s\n", sent, strerror(send_error), last ? "-1" : "0");
    return sent == messages || send_error != ECONNRESET || !last;
}

// Who ends without a call of rclose() has sent everything nevertheless.
static int end_unclosed(void) {
    const int listens = listening();
    const pid_t child = fork();
    if (child == 0) {
        const int stream = calling();
        need(rsend(stream, "all", 3, 0) == 3, "rsend");
        exit(0);
    }
    const int stream = raccept(listens, NULL, NULL);
    char read[4] = "";
    need(waitpid(child, NULL, 0) == child, "waitpid");
    const ssize_t got = rrecv(stream, read, sizeof read, MSG_WAITALL);
    const ssize_t last = rrecv(stream, read + got, 1, 0);
    printf("read %s, then %zd\n", read, last);
    return strcmp(read, "all") != 0 || last != 0;
}

// Neither has a peer that reads only when more has been sent than it has room for.
static int end_unclosed_before_read(void) {
    enum { messages = 90 };
    const int listens = listening();
    const pid_t child = fork();
    if (child == 0) {
        const int stream = calling();
        for (int i = 0; i < messages; ++i) need(rsend(stream, "m", 1, 0) == 1, "rsend");
        exit(0);
    }
    const int stream = raccept(listens, NULL, NULL);
    sleep(2);  // longer than a stream is waited for whose peer is gone
    char read[messages];
    const ssize_t got = rrecv(stream, read, sizeof read, MSG_WAITALL);
    const ssize_t last = rrecv(stream, read, 1, 0);
    need(waitpid(child, NULL, 0) == child, "waitpid");
    printf("read %zd, then %zd\n", got, last);
    return got != messages || last != 0;
}

static int is_refused(int status) {
    return status == -1 && errno == EINVAL;
}

// Only a stream that listens accepts, and a peer that leaves is no caller.
static int accept_unasked(void) {
    const int fresh = rsocket(AF_INET, SOCK_STREAM, 0);
    int wrong = !is_refused(raccept(fresh, NULL, NULL));
    connect_ends();
    need(!rclose(caller), "rclose");
    char read[1];
    usleep(200000);
    wrong += !is_refused(raccept(accepted, NULL, NULL));
    wrong += rrecv(accepted, read, 1, 0) != 0 || rclose(accepted) != 0;
    printf("%d wrong\n", wrong);
    return wrong;
}

// What is not mapped is not written to, and a call that cannot end says why.
static int write_unmapped(void) {
    static char target[64], source[100];
    memset(source, 's', sizeof source);
    connect_ends();
    need(riomap(accepted, target, sizeof target, PROT_WRITE, 0, 0) == 0, "riomap");
    int wrong = riowrite(caller, source, sizeof source, 0, 0) != sizeof target;
    wrong += riowrite(caller, source, 1, sizeof target, 0) != (size_t)-1 || errno != EINVAL;
    wrong += riowrite(caller, source, 1, -1, MSG_DONTWAIT) != (size_t)-1 || errno != EINVAL;
    need(rsend(caller, "w", 1, 0) == 1 && rrecv(accepted, source, 1, 0) == 1, "rrecv");
    wrong += target[0] != 's' || target[sizeof target - 1] != 's';
    need(!rclose(accepted), "rclose");
    int again = 0;
    while (riowrite(caller, source, 1, 0, 0) == 1 && again < 1000000) ++again;
    wrong += again == 1000000 || errno != ECONNRESET;
    printf("%d wrong\n", wrong);
    return wrong;
}

static int sent_first, read_back;

// Sends many small messages before it reads any.
static void *send_then_read(void *stream) {
    enum { messages = 20000 };
    const int *own = stream;
    char byte = 0;
    for (int i = 0; i < messages; ++i) {
        const char sent = (char)i;
        need(rsend(*own, &sent, 1, 0) == 1, "rsend");
    }
    __atomic_add_fetch(&sent_first, messages, __ATOMIC_RELAXED);
    for (int i = 0; i < messages; ++i) {
        need(rrecv(*own, &byte, 1, 0) == 1 && byte == (char)i, "rrecv");
    }
    __atomic_add_fetch(&read_back, messages, __ATOMIC_RELAXED);
    return NULL;
}

// Two ends that send before they read get along, as far as their buffers go.
static int send_before_reading(void) {
    connect_ends();
    pthread_t other;
    need(!pthread_create(&other, NULL, send_then_read, &caller), "pthread_create");
    send_then_read(&accepted);
    pthread_join(other, NULL);
    printf("sent %d, read %d\n", sent_first, read_back);
    return read_back != sent_first;
}

// What was sent before a stream was closed arrives, though the reader is in no hurry, and though
// the sender does not wait for it.
static int close_before_read(void) {
    enum { messages = 90 };
    const int listens = listening();
    const pid_t child = fork();
    if (child == 0) {
        const int stream = calling();
        for (int i = 0; i < messages; ++i) need(rsend(stream, "m", 1, 0) == 1, "rsend");
        const time_t begun = time(NULL);
        need(!rclose(stream), "rclose");
        exit(time(NULL) - begun > 3);
    }
    const int stream = raccept(listens, NULL, NULL);
    char read[messages + 1];
    int status = 0;
    sleep(5);
    const ssize_t got = rrecv(stream, read, sizeof read, MSG_WAITALL);
    need(waitpid(child, &status, 0) == child, "waitpid");
    printf("read %zd, then %zd, closed %d\n", got, rrecv(stream, read, 1, 0), status);
    return got != messages || status != 0;
}

// A peer that was killed says nothing, and is missed by who asks for that.
static int miss_killed(void) {
    const int listens = listening(), on = 1, idle_s = 1;
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // also where the parent ends before
        calling();
        for (;;) pause();
    }
    const int stream = raccept(listens, NULL, NULL);
    need(!rsetsockopt(stream, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on), "SO_KEEPALIVE");
    need(!rsetsockopt(stream, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s), "TCP_KEEPIDLE");
    int told[2] = {0, 0};
    socklen_t size = sizeof *told;
    need(!rgetsockopt(stream, SOL_SOCKET, SO_KEEPALIVE, &told[0], &size), "SO_KEEPALIVE");
    need(!rgetsockopt(stream, IPPROTO_TCP, TCP_KEEPIDLE, &told[1], &size), "TCP_KEEPIDLE");
    char read[1];
    struct pollfd one = {stream, POLLIN, 0};
    // Longer than the idle time: who is there answers.
    const int early = rpoll(&one, 1, 2500);
    kill(child, SIGKILL);
    const ssize_t got = rrecv(stream, read, 1, 0);
    printf("on %d after %d s, early %d, then %zd\n", told[0], told[1], early, got);
    return told[0] != 1 || told[1] != 1 || early != 0 || got != -1;
}

static int is_unknown(int stream, int level, int option) {
    const int value = 1;
    return rsetsockopt(stream, level, option, &value, sizeof value) == -1 && errno == ENOPROTOOPT;
}

// What is not there is refused: options, ways to shut down, closed descriptors and times.
static int refuse_unknown(void) {
    const int stream = rsocket(AF_INET, SOCK_STREAM, 0), closed = dup(0);
    const int value = 4096;
    need(stream >= 0 && !close(closed), "rsocket");
    int wrong = !is_unknown(stream, SOL_SOCKET, SO_RCVTIMEO);
    wrong += !is_unknown(stream, IPPROTO_TCP, TCP_USER_TIMEOUT);
    wrong += !is_unknown(stream, SOL_SOCKET, 4711);
    wrong += rsetsockopt(stream, SOL_SOCKET, SO_SNDBUF, &value, sizeof value) != 0;
    wrong += !is_refused(rshutdown(stream, 7));
    fd_set read;
    FD_ZERO(&read);
    FD_SET(closed, &read);
    struct timeval shortly = {0, 1000}, negative = {-1, 0};
    wrong += rselect(closed + 1, &read, NULL, NULL, &shortly) != -1 || errno != EBADF;
    wrong += !is_refused(rselect(0, NULL, NULL, NULL, &negative));
    printf("%d wrong\n", wrong);
    return wrong;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void end_wait(int number) {
    (void)number;
}

// A wait is as long as was asked for, be it less than a millisecond or more milliseconds than an
// int has.
static int select_for_as_long(void) {
    struct timeval shortest = {0, 900}, longest = {4294968, 0};
    struct sigaction noted = {.sa_handler = end_wait};
    const double begun_s = now_s();
    need(!rselect(0, NULL, NULL, NULL, &shortest), "rselect");
    const double took_s = now_s() - begun_s;
    need(!sigaction(SIGALRM, &noted, NULL), "sigaction");
    alarm(1);
    const int ended = rselect(0, NULL, NULL, NULL, &longest), error = errno;
    printf("took %f s, then %d %s\n", took_s, ended, strerror(error));
    return took_s < 0.0009 || ended != -1 || error != EINTR;
}

int main(int count, char **words) {
    const struct {
        const char *name;
        int (*tried)(void);
    } all[] = {{"broken", break_stream},
               {"unclosed", end_unclosed},
               {"unread", end_unclosed_before_read},
               {"unmapped", write_unmapped},
               {"many", send_before_reading},
               {"late", close_before_read},
               {"killed", miss_killed},
               {"unknown", refuse_unknown},
               {"select", select_for_as_long},
               {"accept", accept_unasked}};
    for (size_t i = 0; count == 2 && i < sizeof all / sizeof *all; ++i) {
        if (strcmp(words[1], all[i].name) == 0) return all[i].tried();
    }
    return 2;
}
