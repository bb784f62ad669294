// SPDX-License-Identifier: BSD-3-Clause

#include "base/file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace lanewise {

Result<std::string> read_file(const std::string& path) {
    const auto failure = [&path] {
        return Failure{LW_ERR_IO, path + " cannot be read: " + std::strerror(errno)};
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

}  // namespace lanewise
