// SPDX-License-Identifier: BSD-3-Clause
//
// The UDP sockets through which a process speaks RoCEv2 (InfiniBand annex A17).
//
// One socket serves all ports of the device, IPv4 and IPv6: it is bound to the
// wildcard address, reads from each datagram where it arrived, and says with
// each one it sends which address and interface it leaves by. Path MTU
// discovery is on, so that the kernel leaves the IPv4 identification at 0, 1,
// 2 … over the segments of a batch, and the invariant CRC can be computed.
// Routes that are used often have sockets of their own to send from (line.hpp).

#pragma once

#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "verbs/port/address.hpp"
#include "verbs/port/connected_socket.hpp"
#include "verbs/port/descriptor.hpp"
#include "verbs/port/slot.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::port {

// The kernel cuts a batch into no more segments than this, of no more bytes together.
inline constexpr std::size_t batch_segments_max = 64;
inline constexpr std::size_t batch_bytes_max = 65000;

// Packets for one destination, all of `segment_bytes` but the last, which may be shorter. Their
// ICRCs hold for `origin`.
struct Departure {
    Route route;
    Origin origin;
    std::size_t segment_bytes = 0;
    std::span<const iovec> pieces;
};

// A packet as it came. `number` counts the packets of a batch from 0.
struct Datagram {
    Address source{};
    Address destination{};
    std::uint16_t source_port = 0;
    unsigned interface = 0;
    unsigned number = 0;
    std::span<const std::byte> packet;
};

// A letter to the mailbox that asks for the state of a process (`lanewise rdma status`). The same
// user and root are answered; packets are taken from the same user only.
inline constexpr std::string_view status_question = "status";

class Wire {
  public:
    // Opens the socket, takes a slot, joins the group.
    static Result<Wire> open();

    // Where the next packets of a route will come from: to be asked once for each departure.
    Origin origin(const Route& route);
    // What was sealed for an origin that meanwhile is another is lost.
    Sent send(const Departure& departure);
    // Interfaces or addresses have changed.
    void close_connected() { connected_.close_all(); }

    // Hands what has arrived to `take`, at most one batch; false where there was nothing.
    bool receive(const std::function<void(const Datagram&)>& take);
    // The same for what other processes forwarded.
    bool receive_forwarded(const std::function<void(const Datagram&)>& take);

    // What to answer to whoever sends `status_question` to the mailbox.
    void answer_with(std::function<std::string()> status) { status_ = std::move(status); }

    std::uint32_t receive_buffer_bytes() const;
    // The socket that had no room for the last departure; -1 if it was sent.
    int full_socket() const { return full_socket_; }

    int socket() const { return socket_.number(); }
    int mailbox() const { return slot_.mailbox.number(); }
    std::uint32_t slot() const { return slot_.number; }
    // Where this process stands in the group; for tests.
    std::uint32_t place() const { return place_; }
    // How often it has told the kernel who stands where; for tests.
    std::uint64_t tables_made() const { return tables_made_; }
    std::uint64_t forwarded() const { return forwarded_; }
    // Letters from other users, which are thrown away.
    std::uint64_t letters_refused() const { return letters_refused_; }

  private:
    Wire(Descriptor socket, Slot slot);

    // From the socket that receives.
    Sent send_from_any(const Departure& departure);
    // Asks where in the group this process stands; `receive` reads the answer.
    void ask_place();
    void stand_at(std::uint32_t place);
    bool is_answer(const Datagram& datagram);
    void hand_over(const Datagram& batch, std::size_t segment_bytes,
                   const std::function<void(const Datagram&)>& take);
    void forward_to(std::uint32_t owner, const Datagram& arrival);
    void take_letter(std::span<const std::byte> letter,
                     const std::function<void(const Datagram&)>& take);
    void answer(const sockaddr_un& to, socklen_t bytes);

    Descriptor socket_;
    Slot slot_;
    ConnectedSockets connected_;
    Descriptor announcement_;
    std::uint32_t place_ = 0;
    int full_socket_ = -1;
    std::uint64_t forwarded_ = 0;
    std::uint64_t letters_refused_ = 0;
    uid_t owner_ = getuid();
    std::uint64_t answers_ = 0;
    std::uint64_t tables_made_ = 0;
    std::uint64_t nonce_ = 0;    // of the last question
    bool is_confirmed_ = false;  // that question had an answer
    std::chrono::steady_clock::time_point asked_{};
    std::vector<std::byte> buffer_;
    std::function<std::string()> status_;
};

}  // namespace lanewise::verbs::port
