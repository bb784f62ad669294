// SPDX-License-Identifier: BSD-3-Clause
//
// Ends while another thread closes the device: that begins when the end of the program asks for a
// lock, the first time or the second, as the word on the command line says. What is freed is to be
// filled with nonsense (MALLOC_PERTURB_). The status is 0 if nobody looked at it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { wait_ms = 500 };

static int (*try_lock)(pthread_mutex_t *);
static struct ibv_context *context, *other;
static atomic_int is_ending, is_closed;
static int closes_at;

__attribute__((constructor)) static void find_try_lock(void) {
    *(void **)&try_lock = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
}

static void *close_device(void *unused) {
    if (ibv_close_device(context) || ibv_close_device(other)) perror("ibv_close_device");
    is_closed = 1;
    return unused;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    static _Thread_local int calls;
    if (is_ending && gettid() == getpid() && ++calls == closes_at) {
        pthread_t closing;
        pthread_create(&closing, NULL, close_device, NULL);
        for (int waited = 0; waited < wait_ms && !is_closed; ++waited) usleep(1000);
    }
    return try_lock(mutex);
}

int main(int count, char **words) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (count != 2 || !list || !list[0]) return 2;
    context = ibv_open_device(list[0]);
    other = ibv_open_device(list[0]);
    if (!context || !other) return 2;
    closes_at = atoi(words[1]);
    is_ending = 1;
    return 0;
}
