// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of rsocket(7): those of socket(7) with an r before them, for streams.

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/background_thread.hpp"
#include "verbs/cm/rsocket/stream.hpp"

namespace lanewise::verbs::cm {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// How long a wait may be wrong about what another thread has taken.
constexpr milliseconds poll_step{50};
constexpr nanoseconds for_ever{-1};
// How long a call, and then somebody else, waits for a peer that reads nothing of what is left.
constexpr milliseconds close_max{500};
constexpr milliseconds linger_max{30000};
constexpr int registry_tries = 200;
constexpr milliseconds registry_pause{1};

std::mutex streams_lock;
std::map<int, std::shared_ptr<Stream>>& streams() {
    static auto *all = new std::map<int, std::shared_ptr<Stream>>;
    return *all;
}

std::shared_ptr<Stream> stream_at(int descriptor) {
    const std::lock_guard guard(streams_lock);
    const auto found = streams().find(descriptor);
    const bool is_there = found != streams().end();
    if (is_there && !found->second->is_of_parent()) return found->second;
    errno = is_there ? EPERM : EBADF;
    return nullptr;
}

// Holds signals back while it lives; only the wait that they are to end lets them come, so that
// none is missed before it.
class SignalsHeld {
  public:
    SignalsHeld() {
        sigset_t held;
        sigfillset(&held);
        // Those of a fault in this thread cannot wait.
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&held, fault);
        pthread_sigmask(SIG_BLOCK, &held, &before_);
    }
    ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;
    const sigset_t& before() const { return before_; }

  private:
    sigset_t before_{};
};

// Streams that were closed before their peers had everything: as a kernel does, somebody stays with
// them until the peers have read, or for a while.
class Lingering {
  public:
    void add(const std::shared_ptr<Stream>& stream) {
        if (!has_begun(stream)) stream->close(linger_max);
    }
    void await_all() {
        std::unique_lock guard(lock_);
        changed_.wait(guard, [this] { return count_ == 0; });
    }

  private:
    // False where the system has no thread left.
    bool has_begun(const std::shared_ptr<Stream>& stream) {
        const std::lock_guard guard(lock_);
        std::thread thread;
        const auto stay = [this, kept = stream]() mutable {
            kept->close(linger_max);
            kept.reset();
            end_one();
        };
        if (start_background_thread(thread, "lanewise-rs", stay) != 0) return false;
        thread.detach();
        ++count_;
        return true;
    }
    void end_one() {
        const std::lock_guard guard(lock_);
        --count_;
        changed_.notify_all();
    }

    std::mutex lock_;
    std::condition_variable changed_;
    int count_ = 0;
};

// A child has none of its parent's.
Lingering *& lingering() {
    static auto *all = new Lingering;
    return all;
}

// The program may be ending in the middle of a call that holds the lock, which then never ends;
// other threads give it back soon.
std::vector<std::shared_ptr<Stream>> open_at_exit() {
    std::unique_lock guard(streams_lock, std::defer_lock);
    for (int tries = 0; tries < registry_tries && !guard.try_lock(); ++tries) {
        std::this_thread::sleep_for(registry_pause);
    }
    std::vector<std::shared_ptr<Stream>> open;
    if (!guard) return open;
    for (const auto& [descriptor, stream] : streams()) open.push_back(stream);
    return open;
}

// As a kernel does, whose peers would otherwise take the end for one before everything was sent.
void close_all_at_exit() {
    for (const std::shared_ptr<Stream>& stream : open_at_exit()) {
        if (!stream->is_of_parent() && !stream->close_at_exit()) lingering()->add(stream);
    }
    lingering()->await_all();
}

void leave_streams_to_parent() {
    lingering() = new Lingering;
    streams_lock.unlock();
}

int keep(std::shared_ptr<Stream> made) {
    if (!made) return -1;
    static const bool registered = [] {
        pthread_atfork([] { streams_lock.lock(); }, [] { streams_lock.unlock(); },
                       leave_streams_to_parent);
        return std::atexit(close_all_at_exit) == 0;
    }();
    static_cast<void>(registered);
    const int descriptor = made->descriptor();
    const std::lock_guard guard(streams_lock);
    streams()[descriptor] = std::move(made);
    return descriptor;
}

int fail_call(int error) {
    errno = error;
    return -1;
}

int copy_address(const sockaddr *from, sockaddr *into, socklen_t *bytes) {
    const socklen_t whole =
        from->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    std::memcpy(into, from, std::min(whole, *bytes));
    *bytes = whole;
    return 0;
}

template <typename Move>
ssize_t over_pieces(const iovec *pieces, std::size_t count, const Move& move) {
    ssize_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const ssize_t moved = move(pieces[i]);
        if (moved < 0) return total > 0 ? total : moved;
        total += moved;
        if (static_cast<std::size_t>(moved) < pieces[i].iov_len) break;
    }
    return total;
}

// Waits for the first byte only, unless all are wanted. What is merely looked at stays where it is,
// so that one piece is filled.
ssize_t receive_pieces(int socket, const iovec *pieces, std::size_t count, int flags) {
    ssize_t total = 0;
    return over_pieces(pieces, flags & MSG_PEEK ? std::min<std::size_t>(count, 1) : count,
                       [&](const iovec& piece) {
                           const bool waits = total == 0 || flags & MSG_WAITALL;
                           const ssize_t got = rrecv(socket, piece.iov_base, piece.iov_len,
                                                     waits ? flags : flags | MSG_DONTWAIT);
                           total += std::max<ssize_t>(got, 0);
                           return got;
                       });
}

std::span<const std::byte> to_send(const void *bytes, std::size_t count) {
    return {static_cast<const std::byte *>(bytes), count};
}

std::span<std::byte> to_fill(void *bytes, std::size_t count) {
    return {static_cast<std::byte *>(bytes), count};
}

// What is ready now; of descriptors that are no streams, what the kernel says.
int look(std::span<pollfd> wanted) {
    int ready = 0;
    for (pollfd& one : wanted) {
        one.revents = 0;
        if (one.fd < 0) continue;
        if (const auto stream = stream_at(one.fd)) {
            constexpr int always = POLLHUP | POLLERR;
            one.revents = static_cast<short>(stream->events() & (one.events | always));
        } else {
            poll(&one, 1, 0);
        }
        ready += one.revents != 0;
    }
    return ready;
}

// 0, or -1 with EINTR where a signal has come.
int wait_for_news(std::span<const pollfd> wanted, nanoseconds time, const sigset_t& signals) {
    std::vector<pollfd> below;
    std::vector<std::shared_ptr<Stream>> armed;
    for (const pollfd& one : wanted) {
        const auto stream = one.fd >= 0 ? stream_at(one.fd) : nullptr;
        if (!stream) {
            below.push_back(one);
            continue;
        }
        for (const int descriptor : stream->arm()) below.push_back({descriptor, POLLIN, 0});
        armed.push_back(stream);
    }
    // What came before it was armed makes no noise.
    std::vector<pollfd> again(wanted.begin(), wanted.end());
    const timespec longest{0, time.count()};
    const int woken = look(again) == 0 ? ppoll(below.data(), below.size(), &longest, &signals) : 0;
    const int error = errno;
    for (const auto& stream : armed) stream->disarm();
    return woken < 0 ? fail_call(error) : 0;
}

int poll_until(std::span<pollfd> wanted, nanoseconds time) {
    const SignalsHeld signals;
    const auto begun = steady_clock::now();
    for (;;) {
        const int ready = look(wanted);
        nanoseconds left = poll_step;
        if (time != for_ever) left = std::min(left, time - (steady_clock::now() - begun));
        if (ready > 0 || left.count() <= 0) return ready;
        if (wait_for_news(wanted, left, signals.before()) < 0) return -1;
    }
}

bool is_time(const timeval& time) {
    return time.tv_sec >= 0 && time.tv_usec >= 0 && time.tv_usec < 1'000'000;
}

// More than a century would be too much for the clock, and is for ever.
nanoseconds length_of(const timeval& time) {
    constexpr std::chrono::seconds longest{std::chrono::hours{24 * 365 * 100}};
    return std::min(std::chrono::seconds(time.tv_sec), longest) +
           std::chrono::microseconds(time.tv_usec);
}

bool is_closed(const pollfd& one) {
    return one.revents & POLLNVAL;
}

// Options of a stream are its own, whatever rsetsockopt() was given: sizes and delays are hints.
// None for one that it has not.
std::optional<int> option_value(int level, int option) {
    static const std::map<std::pair<int, int>, int> values{
        {{SOL_SOCKET, SO_TYPE}, SOCK_STREAM},
        {{SOL_SOCKET, SO_SNDBUF}, Stream::send_buffer_bytes},
        {{SOL_SOCKET, SO_RCVBUF}, Stream::receive_buffer_bytes},
        {{SOL_SOCKET, SO_REUSEADDR}, 1},
        {{SOL_SOCKET, SO_OOBINLINE}, 0},
        {{IPPROTO_TCP, TCP_NODELAY}, 1},
        {{IPPROTO_TCP, TCP_MAXSEG}, Stream::slot_bytes},
        {{IPPROTO_IPV6, IPV6_V6ONLY}, 0},
        {{SOL_RDMA, RDMA_SQSIZE}, Stream::send_slots},
        {{SOL_RDMA, RDMA_RQSIZE}, Stream::receive_slots},
        {{SOL_RDMA, RDMA_INLINE}, 0},
        {{SOL_RDMA, RDMA_IOMAPSIZE}, 0},
        // How often the peer is asked until it is given up, the device decides.
        {{IPPROTO_TCP, TCP_KEEPINTVL}, 1},
        {{IPPROTO_TCP, TCP_KEEPCNT}, 7},
    };
    const auto found = values.find({level, option});
    return found == values.end() ? std::nullopt : std::optional(found->second);
}

bool is_of_keep_alive(int level, int option) {
    return (level == SOL_SOCKET && option == SO_KEEPALIVE) ||
           (level == IPPROTO_TCP && option == TCP_KEEPIDLE);
}

std::optional<int> value_of(Stream& stream, int level, int option) {
    if (level == SOL_SOCKET && option == SO_ERROR) return stream.take_error();
    if (!is_of_keep_alive(level, option)) return option_value(level, option);
    return level == SOL_SOCKET ? int{stream.is_kept_alive()} : stream.keep_alive_s();
}

}  // namespace
}  // namespace lanewise::verbs::cm

using namespace lanewise::verbs::cm;

extern "C" {

int rsocket(int domain, int type, int protocol) {
    if (domain != AF_INET && domain != AF_INET6) return fail_call(EAFNOSUPPORT);
    if ((type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != SOCK_STREAM ||
        (protocol != 0 && protocol != IPPROTO_TCP)) {
        return fail_call(EPROTONOSUPPORT);
    }
    std::shared_ptr<Stream> made = Stream::make();
    if (made) made->non_blocking = type & SOCK_NONBLOCK;
    return keep(std::move(made));
}

int rbind(int socket, const sockaddr *addr, socklen_t) {
    const auto stream = stream_at(socket);
    return stream ? stream->bind(addr) : -1;
}

int rlisten(int socket, int backlog) {
    const auto stream = stream_at(socket);
    return stream ? stream->listen(backlog) : -1;
}

int raccept(int socket, sockaddr *addr, socklen_t *addrlen) {
    const auto stream = stream_at(socket);
    if (!stream) return -1;
    std::shared_ptr<Stream> made = stream->accept();
    if (!made) return -1;
    if (addr && addrlen) copy_address(made->peer_address(), addr, addrlen);
    return keep(std::move(made));
}

int rconnect(int socket, const sockaddr *addr, socklen_t) {
    const auto stream = stream_at(socket);
    return stream ? stream->connect(addr) : -1;
}

int rshutdown(int socket, int how) {
    const auto stream = stream_at(socket);
    return stream ? stream->shut_down(how) : -1;
}

int rclose(int socket) {
    const auto stream = stream_at(socket);
    if (!stream) return errno == EPERM ? 0 : -1;  // what a child inherits stays its parent's
    const bool is_closed = stream->close(close_max);
    {
        const std::lock_guard guard(streams_lock);
        streams().erase(socket);
    }
    if (!is_closed) lingering()->add(stream);
    return 0;
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags) {
    const auto stream = stream_at(socket);
    return stream ? stream->receive(to_fill(buf, len), flags) : -1;
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, sockaddr *src_addr,
                  socklen_t *addrlen) {
    const ssize_t got = rrecv(socket, buf, len, flags);
    if (got >= 0 && src_addr && addrlen) rgetpeername(socket, src_addr, addrlen);
    return got;
}

ssize_t rrecvmsg(int socket, msghdr *msg, int flags) {
    if (msg->msg_control && msg->msg_controllen > 0) return fail_call(ENOTSUP);
    return receive_pieces(socket, msg->msg_iov, msg->msg_iovlen, flags);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags) {
    const auto stream = stream_at(socket);
    return stream ? stream->send(to_send(buf, len), flags) : -1;
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags, const sockaddr *dest_addr,
                socklen_t) {
    if (dest_addr) return fail_call(EISCONN);
    return rsend(socket, buf, len, flags);
}

ssize_t rsendmsg(int socket, const msghdr *msg, int flags) {
    if (msg->msg_control && msg->msg_controllen > 0) return fail_call(ENOTSUP);
    return over_pieces(msg->msg_iov, msg->msg_iovlen, [&](const iovec& piece) {
        return rsend(socket, piece.iov_base, piece.iov_len, flags);
    });
}

ssize_t rread(int socket, void *buf, size_t count) {
    return rrecv(socket, buf, count, 0);
}

ssize_t rreadv(int socket, const iovec *iov, int iovcnt) {
    return receive_pieces(socket, iov, static_cast<std::size_t>(std::max(iovcnt, 0)), 0);
}

ssize_t rwrite(int socket, const void *buf, size_t count) {
    return rsend(socket, buf, count, 0);
}

ssize_t rwritev(int socket, const iovec *iov, int iovcnt) {
    return over_pieces(iov, static_cast<std::size_t>(std::max(iovcnt, 0)),
                       [&](const iovec& one) { return rwrite(socket, one.iov_base, one.iov_len); });
}

int rpoll(pollfd *fds, nfds_t nfds, int timeout) {
    return poll_until({fds, nfds}, timeout < 0 ? for_ever : milliseconds(timeout));
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, timeval *timeout) {
    std::vector<pollfd> wanted;
    for (int fd = 0; fd < nfds; ++fd) {
        int events = 0;
        if (readfds && FD_ISSET(fd, readfds)) events |= POLLIN;
        if (writefds && FD_ISSET(fd, writefds)) events |= POLLOUT;
        if (exceptfds && FD_ISSET(fd, exceptfds)) events |= POLLPRI;
        if (events) wanted.push_back({fd, static_cast<short>(events), 0});
    }
    if (timeout && !is_time(*timeout)) return fail_call(EINVAL);
    const int polled = poll_until(wanted, timeout ? length_of(*timeout) : for_ever);
    if (polled < 0) return polled;
    if (std::any_of(wanted.begin(), wanted.end(), is_closed)) return fail_call(EBADF);
    int bits = 0;
    const auto answer = [&](fd_set *set, const pollfd& one, int asked, int meant) {
        if (!set || !(one.events & asked)) return;
        if (one.revents & meant) {
            ++bits;
        } else {
            FD_CLR(one.fd, set);
        }
    };
    for (const pollfd& one : wanted) {
        answer(readfds, one, POLLIN, POLLIN | POLLHUP | POLLERR);
        answer(writefds, one, POLLOUT, POLLOUT | POLLERR);
        answer(exceptfds, one, POLLPRI, POLLPRI);
    }
    return bits;
}

int rgetpeername(int socket, sockaddr *addr, socklen_t *addrlen) {
    const auto stream = stream_at(socket);
    if (!stream) return -1;
    if (stream->peer_address()->sa_family == 0) return fail_call(ENOTCONN);
    return copy_address(stream->peer_address(), addr, addrlen);
}

int rgetsockname(int socket, sockaddr *addr, socklen_t *addrlen) {
    const auto stream = stream_at(socket);
    return stream ? copy_address(stream->local_address(), addr, addrlen) : -1;
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen) {
    const auto stream = stream_at(socket);
    if (!stream) return -1;
    if (!optval) return fail_call(EFAULT);
    if (!is_of_keep_alive(level, optname)) {
        const bool is_hint = option_value(level, optname).has_value() ||
                             (level == SOL_SOCKET && optname == SO_LINGER);
        return is_hint ? 0 : fail_call(ENOPROTOOPT);
    }
    if (optlen < sizeof(int)) return fail_call(EINVAL);
    int value = 0;
    std::memcpy(&value, optval, sizeof value);
    if (level == SOL_SOCKET) {
        stream->keep_alive(value != 0);
    } else if (optname == TCP_KEEPIDLE) {
        if (value < 1) return fail_call(EINVAL);
        stream->keep_alive_after(std::chrono::seconds(value));
    }
    return 0;
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen) {
    const auto stream = stream_at(socket);
    if (!stream) return -1;
    if (!optval || !optlen || *optlen < sizeof(int)) return fail_call(EINVAL);
    const std::optional<int> value = value_of(*stream, level, optname);
    if (!value) return fail_call(ENOPROTOOPT);
    std::memcpy(optval, &*value, sizeof *value);
    *optlen = sizeof *value;
    return 0;
}

int rfcntl(int socket, int cmd, ...) {
    const auto stream = stream_at(socket);
    if (!stream) return -1;
    va_list arguments;
    va_start(arguments, cmd);
    const int flags = cmd == F_SETFL ? va_arg(arguments, int) : 0;
    va_end(arguments);
    switch (cmd) {
        case F_GETFL: return O_RDWR | (stream->non_blocking ? O_NONBLOCK : 0);
        case F_SETFL: stream->non_blocking = flags & O_NONBLOCK; return 0;
        default: return fail_call(ENOTSUP);
    }
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset) {
    const auto stream = stream_at(socket);
    if (!stream) return -1;
    if (!buf || len == 0 || (prot & ~(PROT_READ | PROT_WRITE | PROT_NONE)) != 0) {
        return fail_call(EINVAL);
    }
    const bool chosen = flags & MAP_FIXED || offset >= 0;
    return stream->map(buf, len, prot & PROT_WRITE, chosen ? offset : -1);
}

int riounmap(int socket, void *buf, size_t len) {
    const auto stream = stream_at(socket);
    return stream ? stream->unmap(buf, len) : -1;
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags) {
    const auto stream = stream_at(socket);
    const ssize_t written = stream ? stream->write_mapped(to_send(buf, count), offset, flags) : -1;
    return static_cast<size_t>(written);
}

}  // extern "C"
