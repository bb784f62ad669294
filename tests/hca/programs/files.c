// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a file of the device and its folder by each function of the C library that opens one.
// Prints those that read something else; the status is 0 if none did.

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/sys/class/infiniband/lanewise0"
#define FILE_OF_IT "ports/1/gid_attrs/types/0"
#define KIND "RoCE v2"

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

static const char path[] = FOLDER "/" FILE_OF_IT;
static int wrong;

static void told(const char *name, const char *text) {
    if (strncmp(text, KIND, strlen(KIND)) == 0) return;
    ++wrong;
    printf("%s read '%s'\n", name, text);
}

static void try_descriptor(const char *name, int descriptor) {
    char text[64] = "";
    if (descriptor >= 0 && read(descriptor, text, sizeof text - 1) < 0) perror("read");
    if (descriptor >= 0) close(descriptor);
    told(name, text);
}

static void try_stream(const char *name, FILE *stream) {
    char text[64] = "";
    if (stream && !fgets(text, sizeof text, stream)) perror("fgets");
    if (stream) fclose(stream);
    told(name, text);
}

static int is_no_point(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int is_no_point64(const struct dirent64 *entry) {
    return entry->d_name[0] != '.';
}

static void scanned(const char *name, int count, const char *first, const char *last) {
    if (count == 2 && strcmp(first, "device") == 0 && strcmp(last, "ports") == 0) return;
    ++wrong;
    printf("%s found %d files\n", name, count);
}

int main(void) {
    try_descriptor("open", open(path, O_RDONLY));
    try_descriptor("open64", open64(path, O_RDONLY));
    try_descriptor("openat", openat(AT_FDCWD, path, O_RDONLY));
    try_descriptor("openat64", openat64(AT_FDCWD, path, O_RDONLY));
    // As _FORTIFY_SOURCE makes of flags that the compiler does not know.
    volatile int flags = O_RDONLY;
    extern int __open_2(const char *, int), __open64_2(const char *, int);
    extern int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);
    try_descriptor("__open_2", __open_2(path, flags));
    try_descriptor("__open64_2", __open64_2(path, flags));
    try_descriptor("__openat_2", __openat_2(AT_FDCWD, path, flags));
    try_descriptor("__openat64_2", __openat64_2(AT_FDCWD, path, flags));
    try_stream("fopen", fopen(path, "r"));
    try_stream("fopen64", fopen64(path, "r"));
    char text[64] = "";
    ibv_read_sysfs_file(FOLDER, FILE_OF_IT, text, sizeof text);
    told("ibv_read_sysfs_file", text);
    struct dirent **list = NULL;
    int count = scandir(FOLDER, &list, is_no_point, alphasort);
    scanned("scandir", count, count > 1 ? list[0]->d_name : "", count > 1 ? list[1]->d_name : "");
    struct dirent64 **list64 = NULL;
    count = scandir64(FOLDER, &list64, is_no_point64, alphasort64);
    scanned("scandir64", count, count > 1 ? list64[0]->d_name : "",
            count > 1 ? list64[1]->d_name : "");
    // Those that are the kernel's are still there.
    FILE *own = fopen("/proc/self/comm", "r");
    const int devices = scandir("/sys/class", &list, NULL, NULL);
    const int relative = openat(open("/proc", O_RDONLY | O_DIRECTORY), "self/comm", O_RDONLY);
    wrong += !own || devices < 1 || relative < 0;
    printf("%d wrong\n", wrong);
    return wrong > 0;
}
