// SPDX-License-Identifier: BSD-3-Clause

#include "base/file.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace lanewise {
namespace {

constexpr int links_max = 40; /* as many as Linux follows */

// The end of a name to which nothing else is written here, not even by another thread.
std::string own_ending() {
    static std::atomic<unsigned> given = 0;
    return "." + std::to_string(getpid()) + "." + std::to_string(given++) + ".part";
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

WritingPlace place_to_write(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code unknown;
    const bool regular = fs::is_regular_file(path, unknown) || !fs::exists(path, unknown);
    if (!regular) return {path, path};
    fs::path target = path;
    for (int links = 0; links < links_max && fs::is_symlink(target, unknown); ++links) {
        target = target.parent_path() / fs::read_symlink(target, unknown);
    }
    // Links that lead back to themselves stay; opening them says why.
    if (fs::is_symlink(target, unknown)) return {path, path};
    return {target.string() + own_ending(), target.string()};
}

Outcome write_file(const std::string& path, const std::string& content) {
    const auto place = place_to_write(path);
    const auto failure = [&] {
        const int error = errno;
        const Failure reason{LW_ERR_IO, path + " cannot be written: " + std::strerror(error) +
                                            free_space_there(error)};
        if (!place.as_it_is()) std::remove(place.beside.c_str());
        return reason;
    };
    std::FILE *file = std::fopen(place.beside.c_str(), "wbe");
    if (!file) return failure();
    const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed) return failure();
    if (!place.as_it_is() && std::rename(place.beside.c_str(), place.target.c_str()) != 0)
        return failure();
    return Done{};
}

}  // namespace lanewise
