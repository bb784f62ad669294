// SPDX-License-Identifier: BSD-3-Clause
//
// Many processes behind UDP 4791 of one address.
//
// All bind the port with SO_REUSEPORT, which the kernel allows to one user for each address, and a
// classic BPF program picks the socket of the process that owns the destination queue pair of the
// packet. The kernel knows the sockets of such a group by their places 0, 1, 2 …, and when one
// closes, the last is moved into its place. No process is notified. So:
//
//   - the program is a table from slots to places, made of what the members announce (slot.hpp),
//     and anyone who joins attaches a new one;
//   - a packet that reaches the wrong process is forwarded to the owner's mailbox, whatever the
//     program says: nothing depends on the table;
//   - who is sent a packet through the mailbox knows by this that the table is wrong about it. It
//     finds its place anew and attaches a new program.
//
// A process finds its place by asking: the program sends a packet for the queue pair
// `probe_number(k)` to the socket in place k. Where there is no such place the kernel chooses one,
// so only the least of the answers is sure. A question has a random number, so that nobody else can
// answer it.

#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "verbs/port/slot.hpp"

namespace lanewise::verbs::port {

// Where the number of the destination queue pair stands in a packet (IBA 9.2, BTH).
inline constexpr std::size_t destination_offset = 5;

// The number in a packet that is long enough to have one.
std::uint32_t destination_of(std::span<const std::byte> packet);

constexpr std::uint32_t probe_number(std::uint32_t place) {
    return first_number(slots_max - 1) + place;
}

constexpr bool is_probe(std::uint32_t qp_number) {
    return slot_of(qp_number) == slots_max - 1 && qp_number != 0xffffff;
}

// The table as a program. A slot that is not in it falls to a socket of the kernel's choice.
std::vector<sock_filter> steering_program(std::span<const Member> members);

// Makes `members` the table of the group that `socket` belongs to; false where the kernel refuses.
bool attach_steering(int socket, std::span<const Member> members);

}  // namespace lanewise::verbs::port
