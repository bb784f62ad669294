// SPDX-License-Identifier: BSD-3-Clause
//
// See anonymous_files.hpp.

#include "wavefront/store/anonymous_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lanewise::wavefront {

AnonymousFiles::~AnonymousFiles() {
    for (const auto& [path, file] : files_) ::close(file);
}

int AnonymousFiles::open(const std::string& path, Missing missing) {
    auto found = files_.find(path);
    if (found == files_.end()) {
        errno = ENOENT;
        if (missing == Missing::refused) return -1;
        const int made = ::memfd_create("lanewise-wavefront", MFD_CLOEXEC);
        if (made < 0) return -1;
        found = files_.emplace(path, made).first;
    }
    return ::fcntl(found->second, F_DUPFD_CLOEXEC, 0);
}

bool AnonymousFiles::read(const std::string& path, void *to, std::size_t size) const {
    const auto found = files_.find(path);
    if (found == files_.end()) return false;
    return ::pread(found->second, to, size, 0) == static_cast<ssize_t>(size);
}

Outcome AnonymousFiles::replace(const std::string& path, const void *bytes, std::size_t size) {
    const int file = open(path, Missing::made);
    const bool whole = file >= 0 && ::ftruncate(file, 0) == 0 &&
                       ::pwrite(file, bytes, size, 0) == static_cast<ssize_t>(size);
    const auto why = std::string(std::strerror(errno));
    if (file >= 0) ::close(file);
    if (whole) return Done{};
    return Failure{LW_ERR_MEMORY, "no memory for " + path + ": " + why};
}

void AnonymousFiles::remove(const std::string& path) {
    const auto found = files_.find(path);
    if (found == files_.end()) return;
    ::close(found->second);
    files_.erase(found);
}

}  // namespace lanewise::wavefront
