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

/* What is wrong with standard output; empty where it took all that was printed. */
std::string output_failure() {
    int error = std::fflush(stdout) == 0 ? 0 : errno;
    if (error == 0 && std::ferror(stdout) == 0) return "";
    // The reason of a write that failed earlier is lost. A write of nothing knows some of them.
    if (error == 0 && ::write(STDOUT_FILENO, "", 0) < 0) error = errno;
    if (error == 0)
        return "some of the output could not be written; free space there or raise ulimit -f";
    return std::string("the output cannot be written: ") + std::strerror(error) +
           free_space_there(error);
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
    const auto failure = status == 0 ? output_failure() : "";
    if (failure.empty()) return status;
    std::fprintf(stderr, "%s: %s\n", program.c_str(), failure.c_str());
    return 1;
}

void keep_standard_streams_apart() {
    for (const int stream : {0, 1, 2}) {
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
    }
}

}  // namespace lanewise::tools
