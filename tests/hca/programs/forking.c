// SPDX-License-Identifier: BSD-3-Clause
//
// Makes children while another thread opens and closes the device. None is to hold a socket of the
// device: the status is 0 if none does.

#define _GNU_SOURCE
#include <dirent.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { children = 200 };

static atomic_int enough;

static void *open_and_close(void *list) {
    while (!enough) {
        struct ibv_context *context = ibv_open_device(((struct ibv_device **)list)[0]);
        if (!context || ibv_close_device(context)) exit(2);
    }
    return NULL;
}

static int sockets(void) {
    int found = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *one = NULL; folder && (one = readdir(folder));) {
        char where[64] = "";
        const ssize_t bytes = readlinkat(dirfd(folder), one->d_name, where, sizeof where - 1);
        found += bytes > 0 && strncmp(where, "socket:", 7) == 0;
    }
    return found;
}

int main(void) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    pthread_t opening;
    const int own = sockets();
    if (!list || !list[0] || pthread_create(&opening, NULL, open_and_close, list)) return 2;
    int holding = 0;
    for (int made = 0; made < children; ++made) {
        const pid_t child = fork();
        if (child == 0) _exit(sockets() > own);
        int status = 1;
        if (waitpid(child, &status, 0) != child || status != 0) ++holding;
    }
    enough = 1;
    pthread_join(opening, NULL);
    printf("%d of %d children held sockets of the device\n", holding, children);
    return holding > 0;
}
