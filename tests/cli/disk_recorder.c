// SPDX-License-Identifier: BSD-3-Clause
//
// Disk recorder: a library for LD_PRELOAD that notes what a program does to the files of one
// folder, so that power_cut.py can tell what a power cut at any moment would leave of them.
//
// $DISK_RECORDER_ROOT is the folder, $DISK_RECORDER_LOG the file to which every process appends. A
// record says that a name came, went or changed, that a write or a sync began, or that it ended. A
// write is noted with its bytes before it is made; a sync covers what had ended when it began.
// Writes through io_uring are noted when they are submitted, and have ended when the program has
// taken their completion. Stdio is noted as a whole file when it is flushed or closed.
//
// What bypasses all of this, such as a shared mapping, is found by whoever compares the folder with
// what the records make of it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind {
    file_created = 1,
    folder_created,
    name_changed,
    name_removed,
    file_cut,   /* to `offset` bytes */
    file_grown, /* to `offset` bytes at least */
    write_began,
    write_ended, /* after `offset` bytes */
    sync_began,
    sync_ended,
};

struct record {
    uint64_t kind;
    uint64_t file;   /* inode */
    uint64_t number; /* of a write or a sync; the same in its two records */
    uint64_t offset;
    uint64_t name_bytes; /* of the path below the root, which follows; of names and syncs */
    uint64_t data_bytes; /* which follow the name */
};

/* A write that io_uring is still busy with. */
struct submitted {
    struct io_uring *ring;
    uint64_t user_data;
    uint64_t number;
};

enum { submitted_max = 1024, rings_max = 16, log_descriptor_min = 900 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static int log_file = -1;
static uint64_t last_number;
static struct submitted submitted[submitted_max];
static struct {
    struct io_uring *ring;
    unsigned taken; /* completions that have been looked at */
} rings[rings_max];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void give_up(const char *why) {
    fprintf(stderr, "disk recorder: %s\n", why);
    abort();
}

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("DISK_RECORDER_ROOT");
    const char *log = getenv("DISK_RECORDER_LOG");
    if (!folder || !log || !realpath(folder, root)) give_up("name a root and a log");
    const int file = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    log_file = fcntl(file, F_DUPFD_CLOEXEC, log_descriptor_min);
    if (log_file < 0) give_up("cannot open the log");
    REAL(close)(file);
    // Numbers of several processes must differ.
    last_number = (uint64_t)getpid() << 32;
}

// One call per record: the file system keeps those of several processes apart.
static void append(struct record record, const char *name, const void *data) {
    record.name_bytes = strlen(name);
    struct iovec parts[] = {{&record, sizeof record},
                            {(void *)name, record.name_bytes},
                            {(void *)data, record.data_bytes}};
    const size_t all = sizeof record + record.name_bytes + record.data_bytes;
    if (REAL(writev)(log_file, parts, 3) != (ssize_t)all) give_up("the log is cut short");
}

static int is_below_root(const char *path) {
    const size_t length = strlen(root);
    return root[0] && strncmp(path, root, length) == 0 && (path[length] == '/' || !path[length]);
}

// The path below the root of the file that `path` names; NULL: it lies elsewhere.
static const char *below_root(const char *path, char *whole) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') folder[--length] = '\0';
    char *slash = strrchr(folder, '/');
    const char *name = slash ? slash + 1 : folder;
    char parent[PATH_MAX];
    if (slash) *slash = '\0';
    if (!realpath(!slash ? "." : slash == folder ? "/" : folder, parent)) return NULL;
    if (snprintf(whole, PATH_MAX, "%s/%s", parent, name) >= PATH_MAX) return NULL;
    return is_below_root(whole) ? whole + strlen(root) + 1 : NULL;
}

static uint64_t inode_of(int file) {
    struct stat status;
    return fstat(file, &status) == 0 ? status.st_ino : 0;
}

// The path below the root of an open file; NULL: it lies elsewhere.
static const char *recorded_path(int file, char *whole) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, whole, PATH_MAX - 1);
    if (length < 0) return NULL;
    whole[length] = '\0';
    if (!is_below_root(whole)) return NULL;
    const char *path = whole + strlen(root);
    return *path == '/' ? path + 1 : path;
}

static int is_recorded(int file) {
    char whole[PATH_MAX];
    return recorded_path(file, whole) != NULL;
}

static int exists(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

// What opening `path` did to the folder and the file; also where the call failed, for a file may
// have been created by one that did.
static void note_opened(const char *path, int existed, int flags) {
    char whole[PATH_MAX];
    const char *name = below_root(path, whole);
    struct stat status;
    if (!name || stat(path, &status) != 0 || S_ISDIR(status.st_mode)) return;
    if (!existed)
        append((struct record){.kind = file_created, .file = status.st_ino}, name, NULL);
    else if (flags & O_TRUNC)
        append((struct record){.kind = file_cut, .file = status.st_ino}, "", NULL);
}

static int open_noted(const char *path, int flags, mode_t mode) {
    const int existed = exists(path);
    const int file = REAL(open)(path, flags, mode);
    const int error = errno;
    if ((flags & O_CREAT && !existed) || (flags & O_TRUNC && file >= 0)) {
        pthread_mutex_lock(&lock);
        note_opened(path, existed, flags);
        pthread_mutex_unlock(&lock);
    }
    errno = error;
    return file;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_noted(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_noted(path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
    const int status = REAL(mkdir)(path, mode);
    const int error = errno;
    char whole[PATH_MAX];
    struct stat made;
    const char *name = status == 0 ? below_root(path, whole) : NULL;
    if (name && stat(path, &made) == 0) {
        pthread_mutex_lock(&lock);
        append((struct record){.kind = folder_created, .file = made.st_ino}, name, NULL);
        pthread_mutex_unlock(&lock);
    }
    errno = error;
    return status;
}

int rename(const char *from, const char *to) {
    char whole_from[PATH_MAX];
    char whole_to[PATH_MAX];
    const char *name_from = below_root(from, whole_from);
    const char *name_to = below_root(to, whole_to);
    pthread_mutex_lock(&lock);
    const int status = REAL(rename)(from, to);
    const int error = errno;
    if (status == 0 && (name_from || name_to)) {
        if (!name_from || !name_to) give_up("a name left the folder");
        append((struct record){.kind = name_changed, .data_bytes = strlen(name_to)}, name_from,
               name_to);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return status;
}

static int removed_noted(const char *path, int (*remove_it)(const char *)) {
    char whole[PATH_MAX];
    const char *name = below_root(path, whole);
    pthread_mutex_lock(&lock);
    const int status = remove_it(path);
    const int error = errno;
    if (status == 0 && name) append((struct record){.kind = name_removed}, name, NULL);
    pthread_mutex_unlock(&lock);
    errno = error;
    return status;
}
int unlink(const char *path) {
    return removed_noted(path, REAL(unlink));
}
int remove(const char *path) {
    return removed_noted(path, REAL(remove));
}

static void note_size(enum kind kind, int file, off_t size) {
    pthread_mutex_lock(&lock);
    append((struct record){.kind = kind, .file = inode_of(file), .offset = (uint64_t)size}, "",
           NULL);
    pthread_mutex_unlock(&lock);
}

int posix_fallocate(int file, off_t offset, off_t bytes) {
    const int error = REAL(posix_fallocate)(file, offset, bytes);
    if (error == 0 && is_recorded(file)) note_size(file_grown, file, offset + bytes);
    return error;
}
int posix_fallocate64(int file, off64_t offset, off64_t bytes) {
    return posix_fallocate(file, offset, bytes);
}

int ftruncate(int file, off_t bytes) {
    const int status = REAL(ftruncate)(file, bytes);
    if (status == 0 && is_recorded(file)) note_size(file_cut, file, bytes);
    return status;
}
int ftruncate64(int file, off64_t bytes) {
    return ftruncate(file, bytes);
}

static uint64_t begin_write(int file, const void *bytes, size_t count, off_t offset) {
    const uint64_t number = ++last_number;
    append((struct record){.kind = write_began,
                           .file = inode_of(file),
                           .number = number,
                           .offset = (uint64_t)offset,
                           .data_bytes = count},
           "", bytes);
    return number;
}

static void end_write(uint64_t number, ssize_t moved) {
    append(
        (struct record){
            .kind = write_ended, .number = number, .offset = moved > 0 ? (uint64_t)moved : 0},
        "", NULL);
}

static ssize_t write_noted(int file, const void *bytes, size_t count, off_t offset, int at) {
    pthread_mutex_lock(&lock);
    const uint64_t number = begin_write(file, bytes, count, offset);
    pthread_mutex_unlock(&lock);
    const ssize_t moved =
        at ? REAL(pwrite)(file, bytes, count, offset) : REAL(write)(file, bytes, count);
    const int error = errno;
    pthread_mutex_lock(&lock);
    end_write(number, moved);
    pthread_mutex_unlock(&lock);
    errno = error;
    return moved;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    if (!is_recorded(file)) return REAL(pwrite)(file, bytes, count, offset);
    return write_noted(file, bytes, count, offset, 1);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    return pwrite(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (!is_recorded(file)) return REAL(write)(file, bytes, count);
    return write_noted(file, bytes, count, lseek(file, 0, SEEK_CUR), 0);
}

// Where completions of `ring` are counted; they are looked at before their places are used again.
static unsigned *taken_of(struct io_uring *ring) {
    for (int i = 0; i < rings_max; ++i) {
        if (rings[i].ring == ring) return &rings[i].taken;
    }
    for (int i = 0; i < rings_max; ++i) {
        if (rings[i].ring) continue;
        rings[i].ring = ring;
        rings[i].taken = *ring->cq.khead;
        return &rings[i].taken;
    }
    give_up("too many rings");
    return NULL;
}

static void note_completions(struct io_uring *ring) {
    unsigned *taken = taken_of(ring);
    const unsigned end = __atomic_load_n(ring->cq.khead, __ATOMIC_ACQUIRE);
    for (; *taken != end; ++*taken) {
        const struct io_uring_cqe *done = &ring->cq.cqes[*taken & *ring->cq.kring_mask];
        for (int i = 0; i < submitted_max; ++i) {
            if (submitted[i].ring != ring || submitted[i].user_data != done->user_data) continue;
            end_write(submitted[i].number, done->res);
            submitted[i].ring = NULL;
            break;
        }
    }
}

static void note_submission(struct io_uring *ring, const struct io_uring_sqe *entry) {
    if (entry->opcode == IORING_OP_READ || entry->opcode == IORING_OP_READ_FIXED) return;
    if (entry->opcode != IORING_OP_WRITE && entry->opcode != IORING_OP_WRITE_FIXED)
        give_up("io_uring is asked for something that is not recorded");
    if (!is_recorded(entry->fd)) return;
    for (int i = 0; i < submitted_max; ++i) {
        if (submitted[i].ring) continue;
        const void *bytes = (const void *)(uintptr_t)entry->addr;
        submitted[i] = (struct submitted){
            ring, entry->user_data, begin_write(entry->fd, bytes, entry->len, (off_t)entry->off)};
        return;
    }
    give_up("too many writes under way");
}

int io_uring_submit(struct io_uring *ring) {
    pthread_mutex_lock(&lock);
    note_completions(ring);
    for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail; ++i)
        note_submission(ring, &ring->sq.sqes[i & *ring->sq.kring_mask]);
    pthread_mutex_unlock(&lock);
    return REAL(io_uring_submit)(ring);
}

void io_uring_queue_exit(struct io_uring *ring) {
    pthread_mutex_lock(&lock);
    note_completions(ring);
    for (int i = 0; i < rings_max; ++i) {
        if (rings[i].ring == ring) rings[i].ring = NULL;
    }
    for (int i = 0; i < submitted_max; ++i) {
        if (submitted[i].ring == ring) submitted[i].ring = NULL;
    }
    pthread_mutex_unlock(&lock);
    REAL(io_uring_queue_exit)(ring);
}

static int writes(const char *mode) {
    return strpbrk(mode, "wa+") != NULL;
}

static FILE *fopen_noted(const char *path, const char *mode) {
    const int existed = exists(path);
    FILE *stream = REAL(fopen)(path, mode);
    const int error = errno;
    if (stream && writes(mode)) {
        pthread_mutex_lock(&lock);
        note_opened(path, existed, mode[0] == 'w' ? O_TRUNC : 0);
        pthread_mutex_unlock(&lock);
    }
    errno = error;
    return stream;
}
FILE *fopen(const char *path, const char *mode) {
    return fopen_noted(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    return fopen_noted(path, mode);
}

// As one write of all that the file has.
static void note_contents(FILE *stream) {
    const int file = stream ? fileno(stream) : -1;
    if (file < 0 || !is_recorded(file) || (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY) return;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const int again = REAL(open)(link, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (again < 0 || fstat(again, &status) != 0) give_up("cannot read a stream's file");
    char *bytes = malloc((size_t)status.st_size + 1);
    const ssize_t count = bytes ? pread(again, bytes, (size_t)status.st_size, 0) : -1;
    if (count != status.st_size) give_up("cannot read a stream's file");
    pthread_mutex_lock(&lock);
    end_write(begin_write(again, bytes, (size_t)count, 0), count);
    pthread_mutex_unlock(&lock);
    free(bytes);
    REAL(close)(again);
}

int fflush(FILE *stream) {
    const int status = REAL(fflush)(stream);
    const int error = errno;
    note_contents(stream);
    errno = error;
    return status;
}

int fclose(FILE *stream) {
    REAL(fflush)(stream);
    note_contents(stream);
    return REAL(fclose)(stream);
}

static int sync_noted(int file, int (*sync_it)(int)) {
    char whole[PATH_MAX];
    const char *path = recorded_path(file, whole);
    if (!path) return sync_it(file);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < rings_max; ++i) {
        if (rings[i].ring) note_completions(rings[i].ring);
    }
    const struct record began = {
        .kind = sync_began, .file = inode_of(file), .number = ++last_number};
    append(began, path, NULL);
    pthread_mutex_unlock(&lock);
    const int status = sync_it(file);
    const int error = errno;
    pthread_mutex_lock(&lock);
    const struct record ended = {
        .kind = sync_ended, .file = began.file, .number = began.number, .offset = status != 0};
    append(ended, "", NULL);
    pthread_mutex_unlock(&lock);
    errno = error;
    return status;
}
int fsync(int file) {
    return sync_noted(file, REAL(fsync));
}
int fdatasync(int file) {
    return sync_noted(file, REAL(fdatasync));
}
