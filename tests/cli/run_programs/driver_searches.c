/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: says at the end how often the driver of ROCm was looked for in the folders. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int searches;

void *dlopen(const char *file, int mode) {
    static void *(*next)(const char *, int);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    if (file && strcmp(file, "libamdhip64.so.7") == 0) ++searches;
    return next(file, mode);
}

__attribute__((destructor)) static void say(void) {
    if (searches > 0) fprintf(stderr, "%d searches\n", searches);
}
