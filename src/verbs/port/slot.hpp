// SPDX-License-Identifier: BSD-3-Clause
//
// Slots: which process owns which queue-pair numbers.
//
// The 24-bit number of a queue pair is a slot (10 bits) and a number within it
// (14 bits). A process owns a slot by binding an abstract unix socket whose
// name is the slot: binding is atomic, the name lives in the network namespace
// as UDP 4791 does, and the kernel frees it when the process dies, however it
// dies. The socket is also the mailbox into which others forward packets that
// reached them by mistake (steering.hpp). The kernel writes on each letter which user it is from.

#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "verbs/port/address.hpp"

namespace lanewise::verbs::port {

inline constexpr unsigned slot_bits = 10;
inline constexpr unsigned number_bits = 14;
inline constexpr std::uint32_t slots_max = 1U << slot_bits;
inline constexpr std::uint32_t numbers_per_slot = 1U << number_bits;
// 0 holds the numbers 0 and 1 of management, the last 0xffffff of multicast.
inline constexpr std::uint32_t first_slot = 1;
inline constexpr std::uint32_t last_slot = slots_max - 2;

constexpr std::uint32_t slot_of(std::uint32_t qp_number) {
    return qp_number >> number_bits;
}

constexpr std::uint32_t first_number(std::uint32_t slot) {
    return slot << number_bits;
}

struct Slot {
    std::uint32_t number = 0;
    Descriptor mailbox;
};

// Takes a name in the abstract namespace; none, with errno set, where somebody has it.
Descriptor claim_name(const std::string& name);

// Hands `letter` to whoever has the name; false where nobody does.
bool forward_to_name(const Slot& from, const std::string& name, std::span<const std::byte> letter);
// The same; the descriptors go with it.
bool forward_to_name(const Slot& from, const std::string& name, std::span<const std::byte> letter,
                     const std::array<int, 2>& descriptors);

// Takes a free slot, looking first where `hint` says.
Result<Slot> claim_slot(std::uint32_t hint);

// The name of the mailbox of a slot.
std::string mailbox_name(std::uint32_t slot);

// Whether a letter that was received with these control messages is from `user`. In another user
// namespace a user that is unknown here counts as none.
bool is_from(const msghdr& letter, uid_t user);

// Asks every process that has a slot, and returns what those answer that this user believes: its
// own, and where it is root all. Whoever does not answer within a second is left out.
std::vector<std::string> ask_all(std::string_view question);

// Slots whose mailboxes are in the text of /proc/net/unix, in order.
std::vector<std::uint32_t> slots_in(const std::string& listing);

// What came with a letter; who does not want it closes it.
std::vector<Descriptor> descriptors_of(const msghdr& letter);

// A member of the group of sockets on UDP 4791 of an address: a slot and its place in the group.
struct Member {
    std::uint32_t slot = 0;
    std::uint32_t place = 0;
    bool operator==(const Member&) const = default;
};

// Writes where `slot` is in the group, for `read_members` of other processes;
// it is true as long as the descriptor is open.
Descriptor announce(const Member& member, const std::string& group);

// Whoever is announced for a group in this network namespace, in the order of their slots.
// Anybody can announce anything: a wrong table costs time, and nothing else (steering.hpp).
std::vector<Member> read_members(const std::string& group);

// Members in the text of /proc/net/unix.
std::vector<Member> members_in(const std::string& listing, const std::string& group);

}  // namespace lanewise::verbs::port
