// SPDX-License-Identifier: BSD-3-Clause
//
// See program.hpp.

#include "tools/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "base/file.hpp"

namespace lanewise::tools {
namespace {

/* Why standard output did not take all that was printed; 0 where it did. */
int output_error() {
    if (std::fflush(stdout) != 0) return errno;
    if (std::ferror(stdout) == 0) return 0;
    // The reason of a write that failed earlier is lost. The next one has it, if it still holds.
    return ::write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
}

}  // namespace

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

int print(const Leave& leave) {
    std::fputs(leave.text.c_str(), stdout);
    return 0;
}

int run_and_report(const char *program, const char *memory_remedy,
                   const std::function<int()>& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return say_failure(program,
                           {LW_ERR_MEMORY, std::string("out of memory; ") + memory_remedy});
    } catch (const std::exception& error) {
        return say_failure(program, {LW_ERR_OPERATION, error.what()});
    }
}

int printed(const std::string& program, int status) {
    const int error = status == 0 ? output_error() : 0;
    if (error == 0) return status;
    std::fprintf(stderr, "%s: the output cannot be written: %s%s\n", program.c_str(),
                 std::strerror(error), free_space_there(error).c_str());
    return 1;
}

void keep_standard_streams_apart() {
    for (const int stream : {0, 1, 2}) {
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
    }
}

}  // namespace lanewise::tools
