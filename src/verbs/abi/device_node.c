/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The second object that `lanewise rdma run` preloads: it answers for the files that
 * a kernel device would have. UCX will not look at a device without a device
 * file, though it never opens it, and reads the kind of a GID from sysfs.
 *
 * It is apart from liblanewise_verbs.so because these names must carry no
 * version, and there all do: the loader does not bind a program's stat() to a
 * stat@IBVERBS_1.0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE_FILE "/dev/infiniband/lanewise0"
#define DEVICE_CLASS "/sys/class/infiniband"
#define GID_ATTRIBUTE DEVICE_CLASS "/lanewise0/ports/%u/gid_attrs/%7[a-z]/%u"

/* Fills `status` where `path` is one of ours. */
static int invented(const char *path, struct stat *status) {
    if (!path) return 0;
    const int is_file = strcmp(path, DEVICE_FILE) == 0;
    if (!is_file && strcmp(path, DEVICE_CLASS) != 0) return 0;
    memset(status, 0, sizeof *status);
    status->st_mode = is_file ? S_IFCHR | 0666 : S_IFDIR | 0755;
    status->st_nlink = 1;
    return 1;
}

/* The name of the interface of a port, counted from 1, into `name`; 0 where there is none. */
static int interface_of(unsigned port, char *name, size_t size) {
    const char *at = getenv("LANEWISE_HCA_PORTS");
    if (!at) at = "lo";
    for (; port > 1 && at; --port) {
        at = strchr(at, ',');
        if (at) ++at;
    }
    if (!at) return 0;
    snprintf(name, size, "%.*s", (int)strcspn(at, ","), at);
    return 1;
}

/* A descriptor to read what the kernel would say of a GID; -1 where `path` asks for no such thing.
 */
static int open_gid_attribute(const char *path) {
    unsigned port = 0;
    unsigned index = 0;
    char what[8];
    char text[64];
    if (!path || sscanf(path, GID_ATTRIBUTE, &port, what, &index) != 3) return -1;
    const char *link_layer = getenv("LANEWISE_HCA_LINK_LAYER");
    if (!link_layer) link_layer = getenv("LANEWISE_HCA_PERSONALITY"); /* its name in 0.1 */
    if (strcmp(what, "ndevs") == 0) {
        if (!interface_of(port, text, sizeof text - 1)) return -1;
    } else if (strcmp(what, "types") == 0) {
        const int infiniband = link_layer && strcmp(link_layer, "infiniband") == 0;
        strcpy(text, infiniband ? "IB/RoCE v1" : "RoCE v2");
    } else {
        return -1;
    }
    strcat(text, "\n");
    const int made = memfd_create("lanewise", MFD_CLOEXEC);
    if (made < 0) return -1;
    if (write(made, text, strlen(text)) < 0 || lseek(made, 0, SEEK_SET) < 0) {
        close(made);
        return -1;
    }
    return made;
}

int stat(const char *path, struct stat *status) {
    if (invented(path, status)) return 0;
    return fstatat(AT_FDCWD, path, status, 0);
}

int access(const char *path, int mode) {
    struct stat unused;
    if (invented(path, &unused)) return 0;
    return faccessat(AT_FDCWD, path, mode, 0);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    const int made = open_gid_attribute(path);
    return made >= 0 ? made : openat(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return open(path, flags | O_LARGEFILE, mode);
}
