// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port/wire.hpp"

#include <fmt/format.h>
#include <poll.h>
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
// A process whose place is wrong asks at most this often.
constexpr auto ask_again_after = std::chrono::milliseconds(100);
constexpr auto answer_wait = std::chrono::milliseconds(20);
// Places beyond the members announced: sockets of those who are just coming or going.
constexpr std::uint32_t places_more = 8;

struct Probe {
    std::array<std::uint8_t, 5> before{};
    std::array<std::uint8_t, 3> number{};
    std::uint32_t process = 0;
    std::uint32_t unused = 0;
    std::uint64_t nonce = 0;
};

// What stands before a packet that is forwarded.
struct Forwarded {
    Address source;
    Address destination;
    std::uint32_t number;
    std::uint32_t interface;
    std::uint16_t source_port;
};

Result<Descriptor> open_socket() {
    Descriptor made(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto refused = [](const char *what) {
        return Failure{LW_ERR_IO, fmt::format("cannot {}: {}", what, std::strerror(errno))};
    };
    if (!made) return refused("open an IPv6 socket");
    const int number = made.number();
    const int yes = 1;
    const int no = 0;
    const bool prepared =
        set(number, SOL_IPV6, IPV6_V6ONLY, no) && set(number, SOL_SOCKET, SO_REUSEPORT, yes) &&
        set(number, SOL_IPV6, IPV6_RECVPKTINFO, yes) && forbid_fragments(number, AF_INET6);
    if (!prepared) return refused("prepare a UDP socket");
    set(number, SOL_UDP, UDP_GRO, yes);
    enlarge_buffer(number, SO_RCVBUFFORCE, SO_RCVBUF);
    enlarge_buffer(number, SO_SNDBUFFORCE, SO_SNDBUF);
    const sockaddr_in6 any = socket_address(Address{}, roce_udp_port, 0);
    if (bind(number, reinterpret_cast<const sockaddr *>(&any), sizeof any) != 0) {
        return refused("bind UDP port 4791 (does rdma_rxe or another user hold it?)");
    }
    return made;
}

std::uint32_t destination_of(std::span<const std::byte> packet) {
    std::uint32_t number = 0;
    for (std::size_t at = 0; at < 3; ++at) {
        number = number << 8 | std::to_integer<std::uint32_t>(packet[destination_offset + at]);
    }
    return number;
}

// What the kernel said beside a datagram.
std::size_t read_controls(msghdr& message, Datagram& arrival) {
    std::size_t segment_bytes = 0;
    for (cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
        if (one->cmsg_level == SOL_IPV6 && one->cmsg_type == IPV6_PKTINFO) {
            in6_pktinfo information{};
            std::memcpy(&information, CMSG_DATA(one), sizeof information);
            arrival.destination = address_of(information.ipi6_addr);
            arrival.interface = information.ipi6_ifindex;
        } else if (one->cmsg_level == SOL_UDP && one->cmsg_type == UDP_GRO) {
            int bytes = 0;
            std::memcpy(&bytes, CMSG_DATA(one), sizeof bytes);
            segment_bytes = static_cast<std::size_t>(bytes);
        }
    }
    return segment_bytes;
}

}  // namespace

Wire::Wire(Descriptor socket, Slot slot)
    : socket_(std::move(socket)), slot_(std::move(slot)), buffer_(receive_bytes) {}

Result<Wire> Wire::open() {
    Result<Slot> slot = claim_slot(random_number() % slots_max);
    if (!slot) return slot.failure();
    Result<Descriptor> socket = open_socket();
    if (!socket) return socket.failure();
    Wire wire(std::move(*socket), std::move(*slot));
    wire.stand_at(static_cast<std::uint32_t>(read_members().size()));
    wire.ask_place();
    // The answer comes over the loopback interface; where that is down, the guess stands.
    const auto until = steady_clock::now() + answer_wait;
    const std::uint64_t asked = wire.answers_;
    while (wire.answers_ == asked && steady_clock::now() < until) {
        if (!wire.receive([](const Datagram&) {})) {
            pollfd ready{wire.socket(), POLLIN, 0};
            poll(&ready, 1, 1);
        }
    }
    return wire;
}

std::uint32_t Wire::receive_buffer_bytes() const {
    int bytes = 0;
    socklen_t size = sizeof bytes;
    getsockopt(socket(), SOL_SOCKET, SO_RCVBUF, &bytes, &size);
    return static_cast<std::uint32_t>(bytes);
}

void Wire::ask_place() {
    asked_ = steady_clock::now();
    nonce_ = std::uint64_t{random_number()} << 32 | random_number();
    is_confirmed_ = false;
    const std::vector<Member> members = read_members();
    const auto places = static_cast<std::uint32_t>(members.size()) + places_more;
    for (std::uint32_t place = 0; place < places; ++place) {
        Probe probe;
        const std::uint32_t number = probe_number(place);
        probe.number = {static_cast<std::uint8_t>(number >> 16),
                        static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
        probe.process = slot_.number;
        probe.nonce = nonce_;
        const in_addr loopback{htonl(INADDR_LOOPBACK)};
        const sockaddr_in6 self = socket_address(address_of(loopback), roce_udp_port, 0);
        sendto(socket(), &probe, sizeof probe, MSG_DONTWAIT,
               reinterpret_cast<const sockaddr *>(&self), sizeof self);
    }
}

void Wire::stand_at(std::uint32_t place) {
    if (!announcement_ || place != place_) {
        place_ = place;
        announcement_ = {};
        announcement_ = announce({slot_.number, place});
    }
    ++tables_made_;
    attach_steering(socket(), read_members());
}

// Anybody may send a probe, so one counts only if it came from this host with the number of the
// last question, and costs nothing where it tells nothing new.
bool Wire::is_answer(const Datagram& datagram) {
    const std::uint32_t number = destination_of(datagram.packet);
    if (!is_probe(number)) return false;
    Probe probe;
    const bool is_local = datagram.source == address_of(in_addr{htonl(INADDR_LOOPBACK)});
    if (!is_local || datagram.packet.size() != sizeof probe) return true;
    std::memcpy(&probe, datagram.packet.data(), sizeof probe);
    if (probe.process != slot_.number || probe.nonce != nonce_) return true;
    // A probe for a place behind the last falls to any member, so of several answers the least is
    // true; and a place only ever becomes less, when the last of the group moves up.
    const std::uint32_t place = number - probe_number(0);
    const bool is_first = ++answers_ == 1;
    if (!is_first && (place > place_ || (place == place_ && is_confirmed_))) return true;
    is_confirmed_ = true;
    stand_at(place);
    return true;
}

Origin Wire::origin(const Route& route) {
    const ConnectedSocket *connected = connected_.use(route);
    return connected ? connected->origin() : Origin{roce_udp_port, 0};
}

Sent Wire::send(const Departure& departure) {
    full_socket_ = -1;
    if (departure.origin.source_udp_port == roce_udp_port) {
        const Sent sent = send_from_any(departure);
        if (sent == Sent::later) full_socket_ = socket();
        return sent;
    }
    ConnectedSocket *connected = connected_.find(departure.route);
    if (!connected || connected->origin() != departure.origin) return Sent::lost;
    const Sent sent = connected->send(departure.pieces, departure.segment_bytes);
    if (sent == Sent::later) full_socket_ = connected->number();
    if (sent == Sent::lost) connected_.close(departure.route);
    return sent;
}

Sent Wire::send_from_any(const Departure& departure) {
    const Route& route = departure.route;
    sockaddr_in6 to = socket_address(route.destination, roce_udp_port, route.interface);
    Control control{};
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof to;
    message.msg_iov = const_cast<iovec *>(departure.pieces.data());
    message.msg_iovlen = departure.pieces.size();
    message.msg_control = control.bytes.data();

    cmsghdr *next = &control.aligned;
    in6_pktinfo from{};
    std::memcpy(from.ipi6_addr.s6_addr, route.source.data(), route.source.size());
    from.ipi6_ifindex = route.interface;
    add_control(message, next, SOL_IPV6, IPV6_PKTINFO, from);
    if (departure.segment_bytes > 0) {
        const auto segment = static_cast<std::uint16_t>(departure.segment_bytes);
        add_control(message, next, SOL_UDP, UDP_SEGMENT, segment);
    }
    if (sendmsg(socket(), &message, MSG_DONTWAIT) >= 0) return Sent::yes;
    return errno == EAGAIN || errno == ENOBUFS ? Sent::later : Sent::lost;
}

bool Wire::receive(const std::function<void(const Datagram&)>& take) {
    sockaddr_in6 from{};
    Control control{};
    iovec place{buffer_.data(), buffer_.size()};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(socket(), &message, MSG_DONTWAIT);
    if (got < 0) return false;

    Datagram batch;
    batch.source = address_of(from.sin6_addr);
    batch.source_port = ntohs(from.sin6_port);
    batch.packet = std::span(buffer_).first(static_cast<std::size_t>(got));
    const std::size_t segment_bytes = read_controls(message, batch);
    hand_over(batch, segment_bytes, take);
    return true;
}

void Wire::hand_over(const Datagram& batch, std::size_t segment_bytes,
                     const std::function<void(const Datagram&)>& take) {
    const std::size_t step = segment_bytes > 0 ? segment_bytes : batch.packet.size();
    Datagram one = batch;
    for (std::size_t at = 0; at < batch.packet.size(); at += step, ++one.number) {
        one.packet = batch.packet.subspan(at, std::min(step, batch.packet.size() - at));
        if (one.packet.size() < destination_offset + 3 || is_answer(one)) continue;
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
    if (steady_clock::now() - asked_ > ask_again_after) ask_place();
    take({.source = head.source,
          .destination = head.destination,
          .source_port = head.source_port,
          .interface = head.interface,
          .number = head.number,
          .packet = letter.subspan(sizeof head)});
}

}  // namespace lanewise::verbs::port
