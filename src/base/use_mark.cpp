// SPDX-License-Identifier: BSD-3-Clause

#include "base/use_mark.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace lanewise {
namespace {

constexpr std::string_view name_of_file = "/memfd:lanewise-rdma";

using Path = std::array<char, 64>;

bool is_ours(const Path& path) {
    Path target{};
    const ssize_t bytes = readlink(path.data(), target.data(), target.size());
    return bytes > 0 && std::string_view(target.data(), static_cast<std::size_t>(bytes))
                            .starts_with(name_of_file);
}

}  // namespace

UseMark::UseMark(const char *variable) {
    const char *text = std::getenv(variable);
    int process = 0;
    int descriptor = -1;
    if (!text || std::sscanf(text, "%d:%d", &process, &descriptor) != 2) return;
    process_ = process;
    descriptor_ = descriptor;
}

bool UseMark::is_first() const {
    return process_ != 0 && process_ == getpid();
}

int UseMark::open() const {
    if (process_ == 0) return -1;
    Path path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/fd/%d", process_, descriptor_);
    return is_ours(path) ? ::open(path.data(), O_RDWR | O_CLOEXEC) : -1;
}

void UseMark::set(unsigned use) const {
    const int file = open();
    if (file < 0) return;
    constexpr char mark = 1;
    const ssize_t written = pwrite(file, &mark, 1, static_cast<off_t>(use));
    static_cast<void>(written);  // there is nobody to tell
    close(file);
}

bool UseMark::is_set(unsigned use) const {
    const int file = open();
    if (file < 0) return true;
    char mark = 0;
    const ssize_t bytes = pread(file, &mark, 1, static_cast<off_t>(use));
    close(file);
    return bytes < 0 || mark != 0;
}

}  // namespace lanewise
