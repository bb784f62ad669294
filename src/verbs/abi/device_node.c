/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The second object that `lanewise rdma run` preloads: it answers for the files and folders that a
 * kernel device would have. UCX will not look at a device without a device file, though it never
 * opens it, and reads the kind of a GID from sysfs; others look there for the network interfaces of
 * a device.
 *
 * It is apart from liblanewise_verbs.so because these names must carry no
 * version, and there all do: the loader does not bind a program's stat() to a
 * stat@IBVERBS_1.0.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICE_FILE "/dev/infiniband/lanewise%u%n"
#define DEVICE_CLASS "/sys/class/infiniband"
#define DEVICE_FOLDER DEVICE_CLASS "/lanewise%u%n"

/* The interfaces of a device, counted from 0, as eth0,eth1; NULL where there is no such device.
 */
static const char *interfaces_of(unsigned device) {
    const char *at = getenv("LANEWISE_HCA_PORTS");
    if (!at || !*at) at = "lo";
    for (; device > 0 && at; --device) {
        at = strchr(at, ';');
        if (at) ++at;
    }
    return at;
}

/* The name of the interface of a port, counted from 1, into `name`; 0 where there is none. */
static int interface_of(unsigned device, unsigned port, char *name, size_t size) {
    const char *at = interfaces_of(device);
    for (; port > 1 && at; --port) {
        at += strcspn(at, ",;");
        at = *at == ',' ? at + 1 : NULL;
    }
    if (!at) return 0;
    snprintf(name, size, "%.*s", (int)strcspn(at, ",;"), at);
    return 1;
}

/* A descriptor to read a line of text; -1 with errno where there can be none. */
static int open_line(const char *text) {
    const int made = memfd_create("lanewise", MFD_CLOEXEC);
    if (made < 0) return -1;
    if (write(made, text, strlen(text)) < 0 || write(made, "\n", 1) < 0 ||
        lseek(made, 0, SEEK_SET) < 0) {
        close(made);
        return -1;
    }
    return made;
}

/* What liblanewise_verbs.so, which is preloaded as well, knows of counters (sysfs_counters.cpp). */
typedef const char *counter_name(const char *folder, unsigned index);
typedef int read_counter(const char *interface, const char *folder, const char *name,
                         unsigned long long *value);

static const char *name_of_counter(const char *folder, unsigned index) {
    counter_name *name = __extension__(counter_name *) dlsym(RTLD_DEFAULT, "lanewise_counter_name");
    return name ? name(folder, index) : NULL;
}

/* The counter that a path below a device's folder names: its port, and its two names. */
static int is_counter(const char *rest, unsigned *port, char *folder, char *name) {
    int end = 0;
    if (sscanf(rest, "/ports/%u/%11[a-z_]/%31[a-z_]%n", port, folder, name, &end) != 3) return 0;
    if (rest[end] != '\0') return 0;
    const char *known = NULL;
    for (unsigned at = 0; (known = name_of_counter(folder, at)) != NULL; ++at) {
        if (strcmp(known, name) == 0) return 1;
    }
    return 0;
}

/* A descriptor to read a counter of a port; -1 where `path` names none. */
static int open_counter(const char *path) {
    unsigned device = 0;
    unsigned port = 0;
    int end = 0;
    char folder[12];
    char name[32];
    char interface[64];
    char text[32];
    unsigned long long value = 0;
    if (!path || sscanf(path, DEVICE_FOLDER, &device, &end) != 1) return -1;
    if (!is_counter(path + end, &port, folder, name)) return -1;
    if (!interface_of(device, port, interface, sizeof interface)) return -1;
    read_counter *read = __extension__(read_counter *) dlsym(RTLD_DEFAULT, "lanewise_read_counter");
    if (!read || read(interface, folder, name, &value) != 0) return -1;
    snprintf(text, sizeof text, "%llu", value);
    return open_line(text);
}

enum { gids_max = 16 }; /* in the table of a port (ports.hpp) */

/* The entry of a port's GID table that a path below a device's folder names: what is asked of it,
 * and its index. */
static int is_gid_attribute(unsigned device, const char *rest, unsigned *port, char *what) {
    unsigned index = 0;
    int end = 0;
    char interface[64];
    if (sscanf(rest, "/ports/%u/gid_attrs/%7[a-z]/%u%n", port, what, &index, &end) != 3) return 0;
    if (rest[end] != '\0' || index >= gids_max) return 0;
    if (strcmp(what, "ndevs") != 0 && strcmp(what, "types") != 0) return 0;
    return interface_of(device, *port, interface, sizeof interface);
}

/* A descriptor to read what the kernel would say of a GID; -1 where `path` asks for no such thing.
 */
static int open_gid_attribute(const char *path) {
    unsigned device = 0;
    unsigned port = 0;
    int end = 0;
    char what[8];
    char interface[64];
    if (!path || sscanf(path, DEVICE_FOLDER, &device, &end) != 1) return -1;
    if (!is_gid_attribute(device, path + end, &port, what)) return -1;
    if (strcmp(what, "ndevs") == 0) {
        return interface_of(device, port, interface, sizeof interface) ? open_line(interface) : -1;
    }
    const char *link_layer = getenv("LANEWISE_HCA_LINK_LAYER");
    if (!link_layer) link_layer = getenv("LANEWISE_HCA_PERSONALITY"); /* its name in 0.1 */
    const int infiniband = link_layer && strcmp(link_layer, "infiniband") == 0;
    return open_line(infiniband ? "IB/RoCE v1" : "RoCE v2");
}

enum { names_max = 32, name_bytes = 32 }; /* more than counters; longer than IF_NAMESIZE */

/* A folder of ours: what readdir has yet to return. */
struct folder {
    char names[names_max][name_bytes];
    unsigned count;
    unsigned next;
    unsigned char kind; /* of what it holds */
    struct dirent entry;
    struct folder *later;
};

static unsigned listed(struct folder *into, const char *name) {
    if (!into || into->count == names_max) return 1;
    snprintf(into->names[into->count++], name_bytes, "%s", name);
    return 1;
}

/* Whether a folder below that of a device is one of counters, and what it holds. */
static unsigned is_counters(unsigned device, const char *rest, struct folder *into) {
    char interface[64];
    char folder[12];
    unsigned port = 0;
    int end = 0;
    if (sscanf(rest, "/ports/%u/%11[a-z_]%n", &port, folder, &end) != 2) return 0;
    if (rest[end] != '\0' || !name_of_counter(folder, 0)) return 0;
    if (!interface_of(device, port, interface, sizeof interface)) return 0;
    if (into) into->kind = DT_REG;
    const char *name = NULL;
    for (unsigned at = 0; (name = name_of_counter(folder, at)) != NULL; ++at) listed(into, name);
    return 1;
}

/* Whether a folder below that of a device is one of GIDs, and what it holds. */
static unsigned is_gid_attributes(unsigned device, const char *rest, struct folder *into) {
    char name[name_bytes];
    unsigned port = 0;
    int end = 0;
    if (sscanf(rest, "/ports/%u/gid_attrs%n", &port, &end) != 1 || end == 0) return 0;
    if (!interface_of(device, port, name, sizeof name)) return 0;
    if (rest[end] == '\0') return listed(into, "ndevs") && listed(into, "types");
    if (strcmp(rest + end, "/ndevs") != 0 && strcmp(rest + end, "/types") != 0) return 0;
    if (into) into->kind = DT_REG;
    for (unsigned index = 0; index < gids_max; ++index) {
        snprintf(name, sizeof name, "%u", index);
        listed(into, name);
    }
    return 1;
}

/* Whether a folder below that of a device is ours, and what it holds. */
static unsigned is_below_device(unsigned device, const char *rest, struct folder *into) {
    char name[name_bytes];
    if (*rest == '\0') return listed(into, "device") && listed(into, "ports");
    if (strcmp(rest, "/device") == 0) return listed(into, "net");
    const int numbers = strcmp(rest, "/ports") == 0;
    if (strcmp(rest, "/device/net") == 0 || numbers) {
        for (unsigned port = 1; interface_of(device, port, name, sizeof name); ++port) {
            if (numbers) snprintf(name, sizeof name, "%u", port);
            listed(into, name);
        }
        return 1;
    }
    for (unsigned port = 1; interface_of(device, port, name, sizeof name); ++port) {
        char number[name_bytes];
        snprintf(number, sizeof number, "%u", port);
        if (strncmp(rest, "/device/net/", 12) == 0 && strcmp(rest + 12, name) == 0) return 1;
        if (strncmp(rest, "/ports/", 7) == 0 && strcmp(rest + 7, number) == 0) {
            return listed(into, "counters") && listed(into, "gid_attrs") &&
                   listed(into, "hw_counters");
        }
    }
    return is_counters(device, rest, into) || is_gid_attributes(device, rest, into);
}

static unsigned list_devices(struct folder *into) {
    for (unsigned device = 0; interfaces_of(device); ++device) {
        char name[name_bytes];
        snprintf(name, sizeof name, "lanewise%u", device);
        listed(into, name);
    }
    return 1;
}

/* Whether a path is a folder of ours, and what it holds. A slash at its end changes nothing. */
static unsigned is_folder(const char *path, struct folder *into) {
    const size_t class_length = strlen(DEVICE_CLASS);
    char whole[256];
    size_t length = path ? strlen(path) : 0;
    if (length < class_length || length >= sizeof whole) return 0;
    memcpy(whole, path, length + 1);
    while (whole[length - 1] == '/') whole[--length] = '\0';
    if (strcmp(whole, DEVICE_CLASS) == 0) return list_devices(into);
    unsigned device = 0;
    int end = 0;
    if (sscanf(whole, DEVICE_FOLDER, &device, &end) != 1 || !interfaces_of(device)) return 0;
    return is_below_device(device, whole + end, into);
}

/* The mode of a file or folder of ours; 0 where `path` is neither. */
static mode_t invented(const char *path) {
    if (!path) return 0;
    unsigned device = 0;
    int end = 0;
    if (sscanf(path, DEVICE_FILE, &device, &end) == 1 && path[end] == '\0' &&
        interfaces_of(device)) {
        return S_IFCHR | 0666;
    }
    if (is_folder(path, NULL)) return S_IFDIR | 0755;
    unsigned port = 0;
    char folder[12];
    char name[32];
    if (sscanf(path, DEVICE_FOLDER, &device, &end) != 1) return 0;
    const int is_file = is_gid_attribute(device, path + end, &port, name) ||
                        (is_counter(path + end, &port, folder, name) &&
                         interface_of(device, port, name, sizeof name));
    return is_file ? S_IFREG | 0444 : 0;
}

static int fill(mode_t mode, struct stat *status) {
    memset(status, 0, sizeof *status);
    status->st_mode = mode;
    status->st_nlink = 1;
    return 0;
}

int stat(const char *path, struct stat *status) {
    const mode_t mode = invented(path);
    return mode ? fill(mode, status) : fstatat(AT_FDCWD, path, status, 0);
}

int lstat(const char *path, struct stat *status) {
    const mode_t mode = invented(path);
    return mode ? fill(mode, status) : fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

/* The same structs where off_t has 64 bits. */
int stat64(const char *path, struct stat64 *status) {
    return stat(path, (struct stat *)status);
}

int lstat64(const char *path, struct stat64 *status) {
    return lstat(path, (struct stat *)status);
}

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *status) {
    const mode_t mode = invented(path);
    if (!mode) return (int)syscall(SYS_statx, folder, path, flags, mask, status);
    memset(status, 0, sizeof *status);
    status->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK;
    status->stx_mode = (unsigned short)mode;
    status->stx_nlink = 1;
    return 0;
}

/* -1 with errno: the files of ours can only be read, as those of the kernel. */
static int refuse_access(void) {
    errno = EACCES;
    return -1;
}

int access(const char *path, int mode) {
    const mode_t found = invented(path);
    if (!found) return faccessat(AT_FDCWD, path, mode, 0);
    return S_ISREG(found) && (mode & (W_OK | X_OK)) != 0 ? refuse_access() : 0;
}

#define THE_NEXT(name) (__extension__(__typeof__(&(name))) dlsym(RTLD_NEXT, #name))

/* A descriptor to read a file of ours; -1 where `path` names none. */
static int open_ours(const char *path) {
    const int attribute = open_gid_attribute(path);
    return attribute >= 0 ? attribute : open_counter(path);
}

/* A handler of a signal may open a file, and not wait for the loader as dlsym does. */
static __typeof__(&openat) next_openat;

__attribute__((constructor)) static void find_openat(void) {
    next_openat = THE_NEXT(openat);
}

static int open_any(int folder, const char *path, int flags, mode_t mode) {
    if ((flags & O_ACCMODE) != O_RDONLY && S_ISREG(invented(path))) return refuse_access();
    const int made = open_ours(path);
    if (made >= 0) return made;
    if (!next_openat) find_openat();
    return next_openat(folder, path, flags, mode);
}

/* The mode that comes last, which only a call that makes a file has. */
#define MODE_BEHIND(flags)                    \
    va_list more;                             \
    va_start(more, flags);                    \
    const mode_t mode = va_arg(more, mode_t); \
    va_end(more)

int open(const char *path, int flags, ...) {
    MODE_BEHIND(flags);
    return open_any(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_BEHIND(flags);
    return open_any(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE_BEHIND(flags);
    return open_any(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE_BEHIND(flags);
    return open_any(folder, path, flags | O_LARGEFILE, mode);
}

/* What these become in a program that is compiled with _FORTIFY_SOURCE, where nothing is made. */
int open_2(const char *path, int flags) __asm__("__open_2");
int open64_2(const char *path, int flags) __asm__("__open64_2");
int openat_2(int folder, const char *path, int flags) __asm__("__openat_2");
int openat64_2(int folder, const char *path, int flags) __asm__("__openat64_2");

int open_2(const char *path, int flags) {
    return open_any(AT_FDCWD, path, flags, 0);
}

int open64_2(const char *path, int flags) {
    return open_any(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

int openat_2(int folder, const char *path, int flags) {
    return open_any(folder, path, flags, 0);
}

int openat64_2(int folder, const char *path, int flags) {
    return open_any(folder, path, flags | O_LARGEFILE, 0);
}

/* A stream to read a file of ours; where `path` names none, what the next library opens. */
static FILE *open_stream(const char *path, const char *mode, __typeof__(&fopen) next) {
    if (strpbrk(mode, "wa+") && S_ISREG(invented(path))) {
        refuse_access();
        return NULL;
    }
    const int made = open_ours(path);
    return made >= 0 ? fdopen(made, "r") : next(path, mode);
}

FILE *fopen(const char *path, const char *mode) {
    return open_stream(path, mode, THE_NEXT(fopen));
}

FILE *fopen64(const char *path, const char *mode) {
    return open_stream(path, mode, THE_NEXT(fopen64));
}

/* The folders of ours that are open. To the program each is a DIR, which nothing looks into. */
static struct folder *open_folders;
static pthread_mutex_t open_folders_lock = PTHREAD_MUTEX_INITIALIZER;

static struct folder *ours(DIR *stream) {
    pthread_mutex_lock(&open_folders_lock);
    struct folder *found = open_folders;
    while (found && (DIR *)found != stream) found = found->later;
    pthread_mutex_unlock(&open_folders_lock);
    return found;
}

DIR *opendir(const char *path) {
    if (!is_folder(path, NULL)) return THE_NEXT(opendir)(path);
    struct folder *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->kind = DT_DIR;
    is_folder(path, made);
    pthread_mutex_lock(&open_folders_lock);
    made->later = open_folders;
    open_folders = made;
    pthread_mutex_unlock(&open_folders_lock);
    return (DIR *)made;
}

struct dirent *readdir(DIR *stream) {
    struct folder *folder = ours(stream);
    if (!folder) return THE_NEXT(readdir)(stream);
    if (folder->next == folder->count) return NULL;
    folder->entry = (struct dirent){.d_ino = folder->next + 1, .d_type = folder->kind};
    snprintf(folder->entry.d_name, sizeof folder->entry.d_name, "%s",
             folder->names[folder->next++]);
    const size_t bytes = offsetof(struct dirent, d_name) + strlen(folder->entry.d_name) + 1;
    const size_t alignment = _Alignof(struct dirent);
    folder->entry.d_reclen = (unsigned short)((bytes + alignment - 1) / alignment * alignment);
    return &folder->entry;
}

struct dirent64 *readdir64(DIR *stream) {
    return (struct dirent64 *)readdir(stream);
}

/* Of old programs, which bring the room for an entry: often for the longest name, without what
 * aligns a struct. `name` is what the call would be otherwise.
 */
static int read_into(DIR *stream, struct dirent *into, struct dirent **found, const char *name) {
    typedef int reader(DIR *, struct dirent *, struct dirent **);
    if (!ours(stream)) {
        return (__extension__(reader *) dlsym(RTLD_NEXT, name))(stream, into, found);
    }
    const struct dirent *entry = readdir(stream);
    if (entry) memcpy(into, entry, entry->d_reclen);
    *found = entry ? into : NULL;
    return 0;
}

int readdir_r(DIR *stream, struct dirent *into, struct dirent **found) {
    return read_into(stream, into, found, "readdir_r");
}

int readdir64_r(DIR *stream, struct dirent64 *into, struct dirent64 **found) {
    return read_into(stream, (struct dirent *)into, (struct dirent **)found, "readdir64_r");
}

void seekdir(DIR *stream, long place) {
    struct folder *folder = ours(stream);
    if (!folder) {
        THE_NEXT(seekdir)(stream, place);
    } else if (place >= 0 && place <= (long)folder->count) {
        folder->next = (unsigned)place;
    }
}

long telldir(DIR *stream) {
    struct folder *folder = ours(stream);
    return folder ? (long)folder->next : THE_NEXT(telldir)(stream);
}

void rewinddir(DIR *stream) {
    struct folder *folder = ours(stream);
    if (!folder) {
        THE_NEXT(rewinddir)(stream);
    } else {
        folder->next = 0;
    }
}

int dirfd(DIR *stream) {
    if (!ours(stream)) return THE_NEXT(dirfd)(stream);
    errno = ENOTSUP;
    return -1;
}

int closedir(DIR *stream) {
    struct folder *folder = ours(stream);
    if (!folder) return THE_NEXT(closedir)(stream);
    pthread_mutex_lock(&open_folders_lock);
    struct folder **link = &open_folders;
    while (*link != folder) link = &(*link)->later;
    *link = folder->later;
    pthread_mutex_unlock(&open_folders_lock);
    free(folder);
    return 0;
}

typedef int is_wanted(const struct dirent *entry);
typedef int comparison(const struct dirent **one, const struct dirent **other);

static struct dirent *copy_of(const struct dirent *entry) {
    struct dirent *made = malloc(sizeof *made);
    if (made) *made = *entry;
    return made;
}

static int scan(DIR *stream, struct dirent ***list, is_wanted *filter, comparison *compare) {
    struct dirent **found = calloc(names_max, sizeof(void *));
    int count = 0;
    const struct dirent *entry = NULL;
    while (found && (entry = readdir(stream)) != NULL) {
        if (filter && !filter(entry)) continue;
        found[count] = copy_of(entry);
        if (!found[count]) break;
        ++count;
    }
    closedir(stream);
    if (!found) return -1;
    if (compare) {
        qsort(found, (size_t)count, sizeof(void *), (int (*)(const void *, const void *))compare);
    }
    *list = found;
    return count;
}

int scandir(const char *path, struct dirent ***list, is_wanted *filter, comparison *compare) {
    if (!is_folder(path, NULL)) return THE_NEXT(scandir)(path, list, filter, compare);
    DIR *stream = opendir(path);
    return stream ? scan(stream, list, filter, compare) : -1;
}

int scandir64(const char *path, struct dirent64 ***list, int (*filter)(const struct dirent64 *),
              int (*compare)(const struct dirent64 **, const struct dirent64 **)) {
    return scandir(path, (struct dirent ***)list, (is_wanted *)filter, (comparison *)compare);
}
