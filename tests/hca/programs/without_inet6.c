// SPDX-License-Identifier: BSD-3-Clause
//
// A library to be preloaded: the host has no IPv6, as with ipv6.disable=1 on the command line of
// its kernel. There no socket of that family can be made, while a testbed can only have no
// addresses of it.

#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int socket(int domain, int type, int protocol) {
    static int (*real)(int, int, int);
    if (real == NULL) real = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    if (domain == AF_INET6) {
        static const char refused[] = "without IPv6\n";
        if (write(STDERR_FILENO, refused, sizeof refused - 1) < 0) _exit(2);
        errno = EAFNOSUPPORT;
        return -1;
    }
    return real(domain, type, protocol);
}
