// SPDX-License-Identifier: BSD-3-Clause
//
// The UDP sockets through which a process speaks RoCEv2 (InfiniBand annex A17): one for each
// address of the device's ports (listener.hpp). Routes that are used often have sockets of their
// own to send from (connected_socket.hpp), and processes of this host are reached through memory
// (neighbours.hpp).

#pragma once

#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "verbs/port/address.hpp"
#include "verbs/port/connected_socket.hpp"
#include "verbs/port/listener.hpp"
#include "verbs/port/neighbours.hpp"
#include "verbs/port/services.hpp"
#include "verbs/port/slot.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::port {

// The kernel cuts a batch into no more segments than this, of no more bytes together.
inline constexpr std::size_t batch_segments_max = 64;
inline constexpr std::size_t batch_bytes_max = 65000;

// A letter to the mailbox that asks for the state of a process (`lanewise rdma status`). The same
// user and root are answered; packets are taken from the same user only.
inline constexpr std::string_view status_question = "status";

class Wire {
  public:
    // Takes a slot and listens at `homes`.
    static Result<Wire> open(std::span<const Home> homes);
    // Listens there, and no longer anywhere else.
    Outcome listen(std::span<const Home> homes);

    // Where the next packets of a route will come from: to be asked once for each departure. What
    // is for `reliable_qpn` may overtake other packets, if that is not 0.
    Origin origin(const Route& route, std::uint32_t reliable_qpn = 0);
    // Sends nothing through memory, and takes nothing from there.
    void keep_to_sockets() { uses_memory_ = false; }
    // What was sealed for an origin that meanwhile is another is lost.
    Sent send(const Departure& departure);
    // Interfaces or addresses have changed.
    void close_connected() { connected_.close_all(); }

    // Hands what has arrived to `take`, at most one batch; false where there was nothing.
    bool receive(const std::function<void(const Datagram&)>& take);
    // The same for who asks again at once: looks where the last packet came, and elsewhere now and
    // then.
    bool receive_likely(const std::function<void(const Datagram&)>& take);
    // Whether the last packet came through memory, and no other has come there.
    bool is_idle_in_memory() const { return last_in_memory_ && !neighbours_.has_records(); }
    // The same for what other processes forwarded.
    bool receive_forwarded(const std::function<void(const Datagram&)>& take);

    // What to answer to whoever sends `status_question` to the mailbox.
    void answer_with(std::function<std::string()> status) { status_ = std::move(status); }

    // Of each socket.
    static std::uint32_t receive_buffer_bytes();
    // The socket that had no room for the last departure; -1 if it was sent, and no_socket if a
    // ring in memory had none.
    static constexpr int no_socket = -2;
    int full_socket() const { return full_socket_; }

    // For the thread that takes letters, without the lock: it is about to wait for socket(), true
    // if there is something to read in memory; and it waits no longer.
    bool sleep() { return neighbours_.sleep(); }
    void wake() { neighbours_.wake(); }
    // Readable where a process has ended that packets went to or came from through memory.
    int ended() const { return neighbours_.ended(); }
    // For the same thread, with the lock: forgets those that have ended; true if one has left
    // something to read.
    bool drop_ended() { return neighbours_.drop_ended(); }

    // After fork, in the child.
    void close_in_child();

    // Takes what comes to queue pair 1 for connections of this process, for the services that it
    // offers, and for those that nobody offers; without this call such packets are handed on or
    // dropped.
    void serve_connections();
    // Offers a service at an address, or at all for no_address; false where somebody else does, be
    // it at all addresses or at one of them.
    bool offer(std::uint64_t service, const Address& address);
    void withdraw(std::uint64_t service, const Address& address);
    // Hands a packet to queue pair 1 in again, as if it had just come.
    void hand_in(const Datagram& arrival, const std::function<void(const Datagram&)>& take) {
        hand_to_service(arrival, take);
    }

    // Readable where something has arrived at any address.
    int socket() const { return ready_.number(); }
    int mailbox() const { return slot_.mailbox.number(); }
    // Readable where somebody has forwarded something for a service.
    int services() const { return services_ready_.number(); }
    std::uint32_t slot() const { return slot_.number; }
    // For tests.
    const std::vector<Listener>& listeners() const { return listeners_; }
    std::uint64_t forwarded() const { return forwarded_; }
    // Letters from other users, which are thrown away.
    std::uint64_t letters_refused() const { return letters_refused_; }

  private:
    Wire(Slot slot, Descriptor ready);

    Listener *find(const Address& address, unsigned interface);
    void await_answers();
    bool receive_from(std::size_t at, const std::function<void(const Datagram&)>& take);
    bool look_at_sockets(const std::function<void(const Datagram&)>& take);
    void hand_over(Listener& listener, const Listener::Arrived& arrived,
                   const std::function<void(const Datagram&)>& take);
    void hand_to_service(const Datagram& arrival, const std::function<void(const Datagram&)>& take);
    bool forward_to(const std::string& name, const Datagram& arrival);
    bool open_service(const std::string& name);
    bool receive_letter(int mailbox, const std::function<void(const Datagram&)>& take);
    void take_letter(std::span<const std::byte> letter,
                     const std::function<void(const Datagram&)>& take);
    void answer(const sockaddr_un& to, socklen_t bytes);
    void take_offer(std::span<const std::byte> letter, std::vector<Descriptor> descriptors);
    bool receive_in_memory(const std::function<void(const Datagram&)>& take);

    Slot slot_;
    Descriptor ready_;
    std::vector<Listener> listeners_;
    std::size_t likely_ = 0;  // the listener that the last packet came to
    unsigned polls_ = 0;
    // While packets come through memory.
    static constexpr unsigned polls_between_sockets_min = 8;
    static constexpr unsigned polls_between_sockets_max = 64;
    unsigned polls_between_sockets_ = polls_between_sockets_min;
    ConnectedSockets connected_;
    Neighbours neighbours_;
    bool uses_memory_ = true;
    bool last_in_memory_ = false;  // the last packet came through memory
    int full_socket_ = -1;
    std::uint64_t forwarded_ = 0;
    std::uint64_t letters_refused_ = 0;
    uid_t owner_ = getuid();
    bool serves_connections_ = false;
    Descriptor services_ready_;
    std::map<std::string, Descriptor> services_;
    std::vector<std::byte> buffer_;
    std::function<std::string()> status_;
};

}  // namespace lanewise::verbs::port
