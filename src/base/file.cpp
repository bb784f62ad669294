// SPDX-License-Identifier: BSD-3-Clause

#include "base/file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

namespace lanewise {

namespace fs = std::filesystem;

namespace {

constexpr int links_max = 40; /* as many as Linux follows */

// A name beside `target` that nothing else writes to here, not even another thread. Others may have
// taken it.
std::string name_beside(const fs::path& target) {
    constexpr std::size_t name_kept = 200; /* of 255 bytes, which leaves room for the ending */
    static std::atomic<unsigned> given = 0;
    const auto ending = "." + std::to_string(getpid()) + "." + std::to_string(given++) + ".part";
    return target.parent_path() / (target.filename().string().substr(0, name_kept) + ending);
}

// The descriptor, of this process or -1, whose link in /proc a path is; empty for other links.
std::optional<int> as_open_file(const fs::path& link) {
    std::error_code unknown;
    const auto folder = fs::canonical(fs::absolute(link, unknown).parent_path(), unknown);
    if (folder.filename() != "fd" || !folder.native().starts_with("/proc/")) return std::nullopt;
    const auto own = fs::canonical("/proc/self", unknown).native() + "/";
    return folder.native().starts_with(own) ? std::atoi(link.filename().c_str()) : -1;
}

// What is written through a duplicate stands before what others write to its file later.
int open_as_it_is(const WritingPlace& place) {
    if (place.descriptor >= 0) return ::fcntl(place.descriptor, F_DUPFD_CLOEXEC, 0);
    return ::open(place.target.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
}

// Gives a new file the owner, group and mode of the one that it replaces. Where the group cannot be
// kept, another one may do what others may.
void take_over_access(int file, const struct stat& before) {
    constexpr auto same_owner = static_cast<uid_t>(-1);
    mode_t mode = before.st_mode & 0777;
    const bool keeps_group = ::fchown(file, before.st_uid, before.st_gid) == 0 ||
                             ::fchown(file, same_owner, before.st_gid) == 0;
    if (!keeps_group) mode = (mode & 0707) | (mode & 07) << 3;
    // The umask applies to new files only. Where there are no modes, all is as it was.
    ::fchmod(file, mode);
}

// A file that is replaced must be one that may be written.
int open_beside(WritingPlace& place) {
    struct stat before {};
    const bool replaces = ::stat(place.target.c_str(), &before) == 0;
    if (replaces && ::faccessat(AT_FDCWD, place.target.c_str(), W_OK, AT_EACCESS) != 0) return -1;
    const mode_t mode = replaces ? 0600 : 0666;
    std::string name;
    int file = -1;
    do {
        name = name_beside(place.target);
        file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    } while (file < 0 && errno == EEXIST);
    if (file < 0) return -1;
    place.beside = name;
    if (replaces) take_over_access(file, before);
    return file;
}

// While it lives, SIGXFSZ does not reach the thread. The kernel sends it to the one that writes,
// which takes it back.
class WithoutSizeSignal {
  public:
    WithoutSizeSignal() {
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    }
    WithoutSizeSignal(const WithoutSizeSignal&) = delete;
    WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;
    ~WithoutSizeSignal() {
        const int error = errno;
        constexpr timespec at_once{0, 0};
        if (!was_pending_) sigtimedwait(&signal_, nullptr, &at_once);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error;
    }

  private:
    sigset_t signal_;
    sigset_t before_;
    bool was_pending_ = false;
};

// Takes the last bytes that were written here away, unless somebody has appended to them.
void take_back(int file, std::size_t bytes) {
    const off_t end = lseek(file, 0, SEEK_CUR);
    struct stat now {};
    if (fstat(file, &now) != 0 || now.st_size != end) return;
    [[maybe_unused]] const int cut = ftruncate(file, end - static_cast<off_t>(bytes));
}

// A descriptor that is open for reading only counts as a bad one for writing.
std::string why_not_written(int error) {
    return error == EBADF ? "it is not open for writing" : std::strerror(error);
}

}  // namespace

bool append_whole(int file, std::span<const std::byte> bytes) {
    if (bytes.empty()) return true;
    const WithoutSizeSignal quiet;
    std::size_t written = 0;
    while (written < bytes.size()) {
        const ssize_t now = ::write(file, bytes.data() + written, bytes.size() - written);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) break;
        written += static_cast<std::size_t>(now);
    }
    if (written == bytes.size()) return true;
    const int error = errno;
    if (written > 0) take_back(file, written);
    errno = error;
    return false;
}

Result<std::string> read_file(const std::string& path) {
    const auto failure = [&path] {
        const bool missing = errno == ENOENT || errno == ENOTDIR;
        const auto status = missing           ? LW_ERR_NOT_FOUND
                            : errno == EISDIR ? LW_ERR_ARGUMENT
                                              : LW_ERR_IO;
        return Failure{status, path + " cannot be read: " + std::strerror(errno)};
    };
    const auto close = [](std::FILE *file) { std::fclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rbe"), close);
    if (!file) return failure();
    std::string content;
    char buffer[1 << 14];
    // Files of /proc and pipes have no size to ask for.
    while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) {
        content.append(buffer, count);
    }
    if (std::ferror(file.get())) return failure();
    return content;
}

std::string free_space_there(int error) {
    return error == ENOSPC || error == EDQUOT ? "; free space there" : "";
}

std::FILE *WritingPlace::open() {
    const int file = as_it_is ? open_as_it_is(*this) : open_beside(*this);
    if (file < 0) return nullptr;
    if (std::FILE *stream = ::fdopen(file, "wb")) return stream;
    // A descriptor that is open for reading only is an invalid argument there.
    const int error = errno == EINVAL ? EBADF : errno;
    ::close(file);
    errno = error;
    return nullptr;
}

WritingPlace place_to_write(const std::string& path) {
    std::error_code unknown;
    fs::path target = path;
    for (int links = 0; links < links_max && fs::is_symlink(target, unknown); ++links) {
        if (const auto open_file = as_open_file(target)) return {path, true, *open_file, {}};
        target = target.parent_path() / fs::read_symlink(target, unknown);
    }
    // Links that lead back to themselves stay; opening them says why.
    const bool is_new = !fs::is_symlink(target, unknown) && !fs::exists(target, unknown);
    return {target.string(), !is_new && !fs::is_regular_file(target, unknown), -1, {}};
}

Outcome write_file(const std::string& path, const std::string& content) {
    auto place = place_to_write(path);
    const auto failure = [&] {
        const int error = errno;
        const bool refused = error == EACCES || error == EBADF;
        const Failure reason{refused ? LW_ERR_ARGUMENT : LW_ERR_IO,
                             path + " cannot be written: " + why_not_written(error) +
                                 (refused ? "; name another" : free_space_there(error))};
        if (!place.beside.empty()) std::remove(place.beside.c_str());
        return reason;
    };
    std::FILE *file = place.open();
    if (!file) return failure();
    const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed) return failure();
    if (!place.as_it_is && std::rename(place.beside.c_str(), place.target.c_str()) != 0)
        return failure();
    return Done{};
}

}  // namespace lanewise
