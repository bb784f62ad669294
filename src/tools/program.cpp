// SPDX-License-Identifier: BSD-3-Clause
//
// See program.hpp.

#include "tools/program.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

namespace lanewise::tools {

int exit_status(const Failure& failure) {
    switch (failure.status) {
        case LW_OK: return 0;
        case LW_ERR_ARGUMENT:
        case LW_ERR_LIMIT:
        case LW_ERR_NOT_FOUND:
        case LW_ERR_UNSUPPORTED: return 2;
        default: return 1;
    }
}

int say_failure(const char *program, const Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", program, failure.sentence.c_str());
    return exit_status(failure);
}

void keep_standard_streams_apart() {
    for (const int stream : {0, 1, 2}) {
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
    }
}

}  // namespace lanewise::tools
