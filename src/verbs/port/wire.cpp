// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/wire.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/file.hpp"
#include "verbs/port/random.hpp"
#include "verbs/port/socket.hpp"
#include "verbs/port/steering.hpp"

namespace lanewise::verbs::port {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t receive_bytes = 1 << 17;
constexpr int forward_tries = 20;
constexpr auto forward_pause = std::chrono::microseconds(50);
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
    std::uint8_t traffic_class;
    std::uint8_t hop_limit;
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
        Result<Listener> opened =
            is_multicast(home.address) ? Listener::join(home) : Listener::open(home, slot_.number);
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
    neighbours_.close_in_child();
    for (const Listener& one : listeners_) one.close_in_child();
    close(socket());
    close(mailbox());
    if (services_ready_) close(services());
    for (const auto& [name, mailbox_of_service] : services_) close(mailbox_of_service.number());
}

std::uint32_t Wire::receive_buffer_bytes() {
    const Descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    enlarge_buffer(any.number(), SO_RCVBUFFORCE, SO_RCVBUF);
    int bytes = 0;
    socklen_t size = sizeof bytes;
    getsockopt(any.number(), SOL_SOCKET, SO_RCVBUF, &bytes, &size);
    return static_cast<std::uint32_t>(bytes);
}

Origin Wire::origin(const Route& route, std::uint32_t reliable_qpn) {
    const std::uint32_t slot = slot_of(reliable_qpn);
    if (uses_memory_ && slot >= first_slot && slot <= last_slot &&
        neighbours_.reaches(slot_, slot, route.destination)) {
        return {.in_memory = true};
    }
    const ConnectedSocket *connected = connected_.use(route);
    return connected ? connected->origin() : Origin{.source_udp_port = roce_udp_port};
}

Sent Wire::send(const Departure& departure) {
    full_socket_ = -1;
    if (departure.origin.in_memory) {
        const iovec& first = departure.pieces.front();
        const std::span packet(static_cast<const std::byte *>(first.iov_base), first.iov_len);
        std::uint32_t bytes = 0;
        for (const iovec& one : departure.pieces) bytes += static_cast<std::uint32_t>(one.iov_len);
        const Sent sent =
            neighbours_.send(slot_of(destination_of(packet)),
                             {bytes, static_cast<std::uint16_t>(departure.segment_bytes),
                              departure.route.source, departure.route.destination},
                             departure.pieces);
        if (sent == Sent::later) full_socket_ = no_socket;
        return sent;
    }
    if (departure.origin.source_udp_port == roce_udp_port) {
        Listener *own = find(departure.route.source, departure.route.interface);
        const Sent sent = own ? own->send(departure) : Sent::lost;
        if (sent == Sent::later) full_socket_ = own->socket();
        return sent;
    }
    ConnectedSocket *connected = connected_.find(departure.route);
    if (!connected || connected->origin() != departure.origin) return Sent::lost;
    const Sent sent =
        connected->send(departure.pieces, departure.segment_bytes, departure.traffic_class);
    if (sent == Sent::later) full_socket_ = connected->number();
    if (sent == Sent::lost) connected_.close(departure.route);
    return sent;
}

bool Wire::receive_from(std::size_t at, const std::function<void(const Datagram&)>& take) {
    Listener::Arrived arrived;
    if (!listeners_[at].receive(buffer_, arrived)) return false;
    likely_ = at;
    last_in_memory_ = false;
    hand_over(listeners_[at], arrived, take);
    return true;
}

// The writer is of the same user, and still may write what it likes.
bool Wire::receive_in_memory(const std::function<void(const Datagram&)>& take) {
    const bool has_received =
        neighbours_.receive([&](const RingRecord& record, std::span<const std::byte> packets) {
            Datagram one{.source = record.source,
                         .destination = record.destination,
                         .in_memory = true,
                         .packet = {}};
            const std::size_t step =
                record.segment_bytes > 0 ? record.segment_bytes : packets.size();
            for (std::size_t at = 0; at < packets.size(); at += step, ++one.number) {
                one.packet = packets.subspan(at, std::min(step, packets.size() - at));
                if (one.packet.size() < destination_offset + 3) continue;
                if (slot_of(destination_of(one.packet)) == slot_.number) take(one);
            }
        });
    last_in_memory_ = last_in_memory_ || has_received;
    return has_received;
}

bool Wire::receive(const std::function<void(const Datagram&)>& take) {
    if (neighbours_.has_rings() && receive_in_memory(take)) return true;
    if (likely_ < listeners_.size() && receive_from(likely_, take)) return true;
    const std::size_t tried = likely_;
    for (std::size_t at = 0; at < listeners_.size(); ++at) {
        if (at != tried && receive_from(at, take)) return true;
    }
    return false;
}

bool Wire::receive_likely(const std::function<void(const Datagram&)>& take) {
    if (neighbours_.has_rings()) {
        if (receive_in_memory(take)) return true;
        if (last_in_memory_) return ++polls_ >= polls_between_sockets_ && look_at_sockets(take);
    }
    if (++polls_ % polls_between_others == 0) return receive(take);
    return likely_ < listeners_.size() && receive_from(likely_, take);
}

// A look at a socket takes longer than all the rest, so it is the more seldom the longer nothing
// has come there.
bool Wire::look_at_sockets(const std::function<void(const Datagram&)>& take) {
    polls_ = 0;
    const bool has_received = receive(take);
    polls_between_sockets_ = has_received
                                 ? polls_between_sockets_min
                                 : std::min(2 * polls_between_sockets_, polls_between_sockets_max);
    return has_received;
}

void Wire::hand_over(Listener& listener, const Listener::Arrived& arrived,
                     const std::function<void(const Datagram&)>& take) {
    const std::span<const std::byte> whole = arrived.batch.packet;
    const std::size_t step = arrived.segment_bytes > 0 ? arrived.segment_bytes : whole.size();
    Datagram one = arrived.batch;
    for (std::size_t at = 0; at < whole.size(); at += step, ++one.number) {
        one.packet = whole.subspan(at, std::min(step, whole.size() - at));
        if (one.packet.size() < destination_offset + 3 || listener.take_answer(one)) continue;
        const std::uint32_t number = destination_of(one.packet);
        if (number == services_qpn) {
            hand_to_service(one, take);
            continue;
        }
        const std::uint32_t owner = slot_of(number);
        if (owner == slot_.number || owner < first_slot || owner > last_slot) {
            take(one);
            continue;
        }
        forward_to(mailbox_name(owner), one);
    }
}

void Wire::serve_connections() {
    serves_connections_ = true;
    services_ready_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    open_service(any_service_name);  // unless somebody else answers for those already
}

bool Wire::open_service(const std::string& name) {
    Descriptor mailbox = claim_name(name);
    if (!mailbox) return false;
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    epoll_ctl(services_ready_.number(), EPOLL_CTL_ADD, mailbox.number(), &wanted);
    services_.insert_or_assign(name, std::move(mailbox));
    return true;
}

bool Wire::offer(std::uint64_t service, const Address& address) {
    if (!open_service(service_name(service, address))) return false;
    // Looked at afterwards: of two that come at the same time, one sees the other.
    const Result<std::string> listing = read_file("/proc/net/unix");
    if (!listing || !is_offered_beside(*listing, service, address)) return true;
    withdraw(service, address);
    return false;
}

void Wire::withdraw(std::uint64_t service, const Address& address) {
    services_.erase(service_name(service, address));
}

// A packet of a connection goes to its process; one for a service to who offers it at the address,
// at all addresses, or answers for the rest, in this order.
void Wire::hand_to_service(const Datagram& arrival,
                           const std::function<void(const Datagram&)>& take) {
    const std::optional<Addressee> to = addressee_of(arrival.packet);
    if (!to) return;
    if (to->slot == slot_.number) return take(arrival);
    if (to->slot != 0) {
        if (to->slot <= last_slot) forward_to(mailbox_name(to->slot), arrival);
        return;
    }
    for (const std::string& name :
         {service_name(to->service, arrival.destination), service_name(to->service, no_address),
          std::string(any_service_name)}) {
        if (services_.contains(name)) return take(arrival);
        // A mailbox holds a few letters only, and is emptied soon by a thread that does just that.
        for (int tries = 0; tries < forward_tries; ++tries) {
            if (forward_to(name, arrival)) return;
            if (errno != EAGAIN) break;
            std::this_thread::sleep_for(forward_pause);
        }
    }
    if (serves_connections_) take(arrival);
}

bool Wire::forward_to(const std::string& name, const Datagram& arrival) {
    const Forwarded head{arrival.source,    arrival.destination, arrival.number,
                         arrival.interface, arrival.source_port, arrival.traffic_class,
                         arrival.hop_limit};
    std::vector<std::byte> letter(sizeof head + arrival.packet.size());
    std::memcpy(letter.data(), &head, sizeof head);
    std::copy(arrival.packet.begin(), arrival.packet.end(),
              letter.begin() + static_cast<std::ptrdiff_t>(sizeof head));
    const bool forwarded = forward_to_name(slot_, name, letter);
    if (forwarded) ++forwarded_;
    return forwarded;
}

void Wire::answer(const sockaddr_un& to, socklen_t bytes) {
    if (!status_) return;
    const std::string text = status_();
    sendto(mailbox(), text.data(), text.size(), MSG_DONTWAIT,
           reinterpret_cast<const sockaddr *>(&to), bytes);
}

bool Wire::receive_forwarded(const std::function<void(const Datagram&)>& take) {
    if (receive_letter(mailbox(), take)) return true;
    return std::any_of(services_.begin(), services_.end(),
                       [&](const auto& one) { return receive_letter(one.second.number(), take); });
}

bool Wire::receive_letter(int mailbox, const std::function<void(const Datagram&)>& take) {
    sockaddr_un from{};
    Control control{};
    iovec place{buffer_.data(), buffer_.size()};
    msghdr message = message_of({&place, 1}, control);
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(mailbox, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return false;
    const std::span<const std::byte> letter =
        std::span(buffer_).first(static_cast<std::size_t>(got));
    const bool is_question = letter.size() == status_question.size() &&
                             std::memcmp(letter.data(), status_question.data(), letter.size()) == 0;
    const bool is_own = is_from(message, owner_);
    std::vector<Descriptor> descriptors = descriptors_of(message);
    if (is_question && (is_own || is_from(message, 0))) {
        answer(from, message.msg_namelen);
    } else if (!is_own) {
        ++letters_refused_;
    } else if (!descriptors.empty()) {
        take_offer(letter, std::move(descriptors));
    } else if (letter.size() >= sizeof(Forwarded) + destination_offset + 3) {
        take_letter(letter, take);
    }
    return true;
}

// Only for an address of this process: another host may have a process with the same slot.
void Wire::take_offer(std::span<const std::byte> letter, std::vector<Descriptor> descriptors) {
    RingOffer offer;
    if (!uses_memory_ || letter.size() != sizeof offer || descriptors.size() != 2) return;
    std::memcpy(&offer, letter.data(), sizeof offer);
    const bool is_meant =
        offer.what == RingOffer::meant &&
        std::any_of(listeners_.begin(), listeners_.end(),
                    [&](const Listener& one) { return one.home().address == offer.destination; });
    if (!is_meant) return;
    const SharedRing *taken =
        neighbours_.take(std::move(descriptors[0]), std::move(descriptors[1]));
    if (!taken) return;
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    epoll_ctl(ready_.number(), EPOLL_CTL_ADD, taken->bell(), &wanted);
}

void Wire::take_letter(std::span<const std::byte> letter,
                       const std::function<void(const Datagram&)>& take) {
    Forwarded head{};
    std::memcpy(&head, letter.data(), sizeof head);
    const std::span<const std::byte> packet = letter.subspan(sizeof head);
    Listener *reached = find(head.destination, head.interface);
    // A packet to queue pair 1 comes to any of the group, and says nothing of a place in it.
    const bool is_astray = destination_of(packet) != services_qpn;
    if (reached && is_astray && reached->may_ask_again()) reached->ask_place();
    take({.source = head.source,
          .destination = head.destination,
          .source_port = head.source_port,
          .interface = head.interface,
          .number = head.number,
          .traffic_class = head.traffic_class,
          .hop_limit = head.hop_limit,
          .packet = packet});
}

}  // namespace lanewise::verbs::port
