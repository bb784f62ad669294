// SPDX-License-Identifier: BSD-3-Clause
//
// Opens a device, and makes a channel, where the system has nothing left to give: the calls fail,
// and say so by errno. The word on the command line says what is scarce; the status is 0 if all was
// as it is to be.

#define _GNU_SOURCE
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { descriptors_max = 200, limit_s = 30 };

static struct ibv_device *device;

static void need(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(2);
}

// Leaves so many descriptors to be opened.
static void leave(int count) {
    const int next = dup(0);
    need(next >= 0 && !close(next), "dup");
    struct rlimit limit;
    need(!getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = (rlim_t)(next + count);
    need(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

static void leave_all(void) {
    struct rlimit limit;
    need(!getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    need(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

// A device either has all that it needs, or is not opened.
static int without_descriptors(void) {
    int wrong = 0, failed = 0;
    for (int left = 0; left < descriptors_max; ++left) {
        leave(left);
        errno = 0;
        struct ibv_context *context = ibv_open_device(device);
        const int error = errno;
        leave_all();
        if (!context) {
            ++failed;
            wrong += error == 0;
            continue;
        }
        wrong += context->async_fd < 0;
        leave(0);
        errno = 0;
        wrong += ibv_create_comp_channel(context) != NULL || errno != EMFILE;
        leave_all();
        wrong += ibv_close_device(context) != 0;
        if (left > failed + 5) break;
    }
    printf("%d failed, %d wrong\n", failed, wrong);
    return wrong || failed == 0;
}

// As where a user may have no more threads: the stack of one would have no room.
static int without_threads(void) {
    pthread_attr_t large;
    need(!pthread_attr_init(&large), "pthread_attr_init");
    need(!pthread_attr_setstacksize(&large, (size_t)1 << 46), "pthread_attr_setstacksize");
    need(!pthread_setattr_default_np(&large), "pthread_setattr_default_np");
    errno = 0;
    int wrong = ibv_open_device(device) != NULL || errno != EAGAIN;
    sigset_t blocked;
    need(!pthread_sigmask(SIG_SETMASK, NULL, &blocked), "pthread_sigmask");
    wrong += sigismember(&blocked, SIGTERM);
    printf("%d wrong\n", wrong);
    return wrong;
}

int main(int count, char **words) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(count == 2 && list && list[0], "a device, and one word");
    device = list[0];
    alarm(limit_s);
    return strcmp(words[1], "threads") == 0 ? without_threads() : without_descriptors();
}
