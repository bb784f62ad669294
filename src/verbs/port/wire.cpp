// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port/wire.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "verbs/port/random.hpp"
#include "verbs/port/socket.hpp"
#include "verbs/port/steering.hpp"

namespace lanewise::verbs::port {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t receive_bytes = 1 << 17;
constexpr auto answer_wait = std::chrono::milliseconds(20);
// How often a program that polls looks at the sockets that the last packet did not come to.
constexpr unsigned polls_between_others = 8;

// What stands before a packet that is forwarded.
struct Forwarded {
    Address source;
    Address destination;
    std::uint32_t number;
    std::uint32_t interface;
    std::uint16_t source_port;
};

}  // namespace

Wire::Wire(Slot slot, Descriptor ready)
    : slot_(std::move(slot)), ready_(std::move(ready)), buffer_(receive_bytes) {}

Result<Wire> Wire::open(std::span<const Home> homes) {
    Result<Slot> slot = claim_slot(random_number() % slots_max);
    if (!slot) return slot.failure();
    Descriptor ready(epoll_create1(EPOLL_CLOEXEC));
    if (!ready) return Failure{LW_ERR_IO, std::string("cannot wait: ") + std::strerror(errno)};
    Wire wire(std::move(*slot), std::move(ready));
    const Outcome listens = wire.listen(homes);
    if (!listens) return listens.failure();
    wire.await_answers();
    return wire;
}

Outcome Wire::listen(std::span<const Home> homes) {
    std::erase_if(listeners_, [&](const Listener& one) {
        return std::find(homes.begin(), homes.end(), one.home()) == homes.end();
    });
    likely_ = 0;
    for (const Home& home : homes) {
        if (find(home.address, home.interface)) continue;
        Result<Listener> opened = Listener::open(home, slot_.number);
        if (!opened) return opened.failure();
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        epoll_ctl(ready_.number(), EPOLL_CTL_ADD, opened->socket(), &wanted);
        listeners_.push_back(std::move(*opened));
    }
    return Done{};
}

// The answers come over the loopback interface; where that is down, the guesses stand.
void Wire::await_answers() {
    const auto until = steady_clock::now() + answer_wait;
    const auto is_waiting = [](const Listener& one) { return !one.is_answered(); };
    while (std::any_of(listeners_.begin(), listeners_.end(), is_waiting) &&
           steady_clock::now() < until) {
        if (!receive([](const Datagram&) {})) {
            pollfd ready{socket(), POLLIN, 0};
            poll(&ready, 1, 1);
        }
    }
}

Listener *Wire::find(const Address& address, unsigned interface) {
    const auto found = std::find_if(listeners_.begin(), listeners_.end(), [&](const Listener& one) {
        return one.home() == Home{address, interface};
    });
    return found == listeners_.end() ? nullptr : &*found;
}

void Wire::close_in_child() {
    connected_.close_all();
    for (const Listener& one : listeners_) close(one.socket());
    close(socket());
    close(mailbox());
}

std::uint32_t Wire::receive_buffer_bytes() {
    const Descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    enlarge_buffer(any.number(), SO_RCVBUFFORCE, SO_RCVBUF);
    int bytes = 0;
    socklen_t size = sizeof bytes;
    getsockopt(any.number(), SOL_SOCKET, SO_RCVBUF, &bytes, &size);
    return static_cast<std::uint32_t>(bytes);
}

Origin Wire::origin(const Route& route) {
    const ConnectedSocket *connected = connected_.use(route);
    return connected ? connected->origin() : Origin{roce_udp_port, 0};
}

Sent Wire::send(const Departure& departure) {
    full_socket_ = -1;
    if (departure.origin.source_udp_port == roce_udp_port) {
        Listener *own = find(departure.route.source, departure.route.interface);
        const Sent sent = own ? own->send(departure) : Sent::lost;
        if (sent == Sent::later) full_socket_ = own->socket();
        return sent;
    }
    ConnectedSocket *connected = connected_.find(departure.route);
    if (!connected || connected->origin() != departure.origin) return Sent::lost;
    const Sent sent = connected->send(departure.pieces, departure.segment_bytes);
    if (sent == Sent::later) full_socket_ = connected->number();
    if (sent == Sent::lost) connected_.close(departure.route);
    return sent;
}

bool Wire::receive_from(std::size_t at, const std::function<void(const Datagram&)>& take) {
    Listener::Arrived arrived;
    if (!listeners_[at].receive(buffer_, arrived)) return false;
    likely_ = at;
    hand_over(listeners_[at], arrived, take);
    return true;
}

bool Wire::receive(const std::function<void(const Datagram&)>& take) {
    if (likely_ < listeners_.size() && receive_from(likely_, take)) return true;
    const std::size_t tried = likely_;
    for (std::size_t at = 0; at < listeners_.size(); ++at) {
        if (at != tried && receive_from(at, take)) return true;
    }
    return false;
}

bool Wire::receive_likely(const std::function<void(const Datagram&)>& take) {
    if (++polls_ % polls_between_others == 0) return receive(take);
    return likely_ < listeners_.size() && receive_from(likely_, take);
}

void Wire::hand_over(Listener& listener, const Listener::Arrived& arrived,
                     const std::function<void(const Datagram&)>& take) {
    const std::span<const std::byte> whole = arrived.batch.packet;
    const std::size_t step = arrived.segment_bytes > 0 ? arrived.segment_bytes : whole.size();
    Datagram one = arrived.batch;
    for (std::size_t at = 0; at < whole.size(); at += step, ++one.number) {
        one.packet = whole.subspan(at, std::min(step, whole.size() - at));
        if (one.packet.size() < destination_offset + 3 || listener.take_answer(one)) continue;
        const std::uint32_t owner = slot_of(destination_of(one.packet));
        if (owner == slot_.number || owner < first_slot || owner > last_slot) {
            take(one);
            continue;
        }
        ++forwarded_;
        forward_to(owner, one);
    }
}

void Wire::forward_to(std::uint32_t owner, const Datagram& arrival) {
    const Forwarded head{arrival.source, arrival.destination, arrival.number, arrival.interface,
                         arrival.source_port};
    std::vector<std::byte> letter(sizeof head + arrival.packet.size());
    std::memcpy(letter.data(), &head, sizeof head);
    std::copy(arrival.packet.begin(), arrival.packet.end(),
              letter.begin() + static_cast<std::ptrdiff_t>(sizeof head));
    forward(slot_, owner, letter);
}

void Wire::answer(const sockaddr_un& to, socklen_t bytes) {
    if (!status_) return;
    const std::string text = status_();
    sendto(mailbox(), text.data(), text.size(), MSG_DONTWAIT,
           reinterpret_cast<const sockaddr *>(&to), bytes);
}

bool Wire::receive_forwarded(const std::function<void(const Datagram&)>& take) {
    sockaddr_un from{};
    Control control{};
    iovec place{buffer_.data(), buffer_.size()};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(mailbox(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return false;
    const std::span<const std::byte> letter =
        std::span(buffer_).first(static_cast<std::size_t>(got));
    const bool is_question =
        letter.size() == status_question.size() &&
        std::memcmp(letter.data(), status_question.data(), letter.size()) == 0;
    const bool is_own = is_from(message, owner_);
    if (is_question && (is_own || is_from(message, 0))) {
        answer(from, message.msg_namelen);
    } else if (!is_own) {
        ++letters_refused_;
    } else if (letter.size() >= sizeof(Forwarded) + destination_offset + 3) {
        take_letter(letter, take);
    }
    return true;
}

void Wire::take_letter(std::span<const std::byte> letter,
                       const std::function<void(const Datagram&)>& take) {
    Forwarded head{};
    std::memcpy(&head, letter.data(), sizeof head);
    Listener *reached = find(head.destination, head.interface);
    if (reached && reached->may_ask_again()) reached->ask_place();
    take({.source = head.source,
          .destination = head.destination,
          .source_port = head.source_port,
          .interface = head.interface,
          .number = head.number,
          .packet = letter.subspan(sizeof head)});
}

}  // namespace lanewise::verbs::port
