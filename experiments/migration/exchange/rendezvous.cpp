// SPDX-License-Identifier: BSD-3-Clause

#include "experiments/migration/exchange/rendezvous.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace lanewise::exchange {
namespace {

constexpr int attempts_max = 200;
constexpr timespec between_attempts{0, 50'000'000};

sockaddr_in address_of(const Settings& settings) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(settings.tcp_port);
    require(inet_pton(AF_INET, settings.address.c_str(), &made.sin_addr) == 1,
            settings.address + " is not an IPv4 address");
    return made;
}

int accept_one(const sockaddr_in& at) {
    const int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const bool open =
        bind(door, reinterpret_cast<const sockaddr *>(&at), sizeof at) == 0 && listen(door, 1) == 0;
    require(open, std::string("cannot listen: ") + std::strerror(errno));
    const int made = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
    close(door);
    return made;
}

int call(const sockaddr_in& at) {
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(made, reinterpret_cast<const sockaddr *>(&at), sizeof at) == 0) return made;
        close(made);
        nanosleep(&between_attempts, nullptr);
    }
    throw Broken(std::string("nobody listens: ") + std::strerror(errno));
}

}  // namespace

Rendezvous::Rendezvous(const Settings& settings) {
    const sockaddr_in at = address_of(settings);
    socket_ = settings.listens ? accept_one(at) : call(at);
    require(socket_ >= 0, std::string("no connection: ") + std::strerror(errno));
}

Rendezvous::~Rendezvous() {
    close(socket_);
}

std::vector<std::uint64_t> Rendezvous::swap(const std::vector<std::uint64_t>& mine,
                                            const std::function<void()>& meanwhile) {
    std::vector<std::uint64_t> theirs(mine.size());
    const std::size_t bytes = mine.size() * sizeof mine[0];
    const ssize_t sent = send(socket_, mine.data(), bytes, MSG_NOSIGNAL);
    require(sent == static_cast<ssize_t>(bytes), "the peer is gone");
    pollfd there{socket_, POLLIN, 0};
    while (meanwhile && poll(&there, 1, 0) == 0) meanwhile();
    const ssize_t got = recv(socket_, theirs.data(), bytes, MSG_WAITALL);
    require(got == static_cast<ssize_t>(bytes), "the peer is gone");
    return theirs;
}

}  // namespace lanewise::exchange
