// SPDX-License-Identifier: BSD-3-Clause

#include "base/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

namespace lanewise {

namespace fs = std::filesystem;

namespace {

constexpr int links_max = 40; /* as many as Linux follows */

// The end of a name to which nothing else is written here, not even by another thread.
std::string own_ending() {
    static std::atomic<unsigned> given = 0;
    return "." + std::to_string(getpid()) + "." + std::to_string(given++) + ".part";
}

// The descriptor, of this process or -1, whose link in /proc a path is; empty for other links.
std::optional<int> as_open_file(const fs::path& link) {
    std::error_code unknown;
    const auto folder = fs::canonical(fs::absolute(link, unknown).parent_path(), unknown);
    if (folder.filename() != "fd" || !folder.native().starts_with("/proc/")) return std::nullopt;
    const auto own = fs::canonical("/proc/self", unknown).native() + "/";
    return folder.native().starts_with(own) ? std::atoi(link.filename().c_str()) : -1;
}

}  // namespace

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
    if (!as_it_is) {
        const auto name = target + own_ending();
        std::FILE *file = std::fopen(name.c_str(), "wbe");
        if (file) beside = name;
        return file;
    }
    // What is written through a duplicate stands before what others write to its file later.
    const int file = descriptor >= 0 ? ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                                     : ::open(target.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    return file < 0 ? nullptr : ::fdopen(file, "wb");
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
        const Failure reason{LW_ERR_IO, path + " cannot be written: " + std::strerror(error) +
                                            free_space_there(error)};
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
