// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/steering.hpp"

#include <sys/socket.h>

#include <algorithm>

#include "verbs/port/services.hpp"
#include "verbs/port/socket.hpp"

namespace lanewise::verbs::port {
namespace {

// A program holds 4096 instructions; a member takes two of them.
constexpr std::size_t members_max = 2000;

constexpr sock_filter statement(int code, std::uint32_t value) {
    return {static_cast<std::uint16_t>(code), 0, 0, value};
}

constexpr sock_filter jump(int code, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    return {static_cast<std::uint16_t>(code), yes, no, value};
}

}  // namespace

std::uint32_t destination_of(std::span<const std::byte> packet) {
    std::uint32_t number = 0;
    for (std::size_t at = 0; at < 3; ++at) {
        number = number << 8 | std::to_integer<std::uint32_t>(packet[destination_offset + at]);
    }
    return number;
}

std::vector<sock_filter> steering_program(std::span<const Member> members) {
    // Four bytes from one before the number, less the first: the number itself. A message to queue
    // pair 1 names the slot as the first bits of a connection; a request, which has zeros there,
    // falls to anybody, and is forwarded.
    std::vector<sock_filter> program{
        statement(BPF_LD | BPF_W | BPF_ABS, destination_offset - 1),
        statement(BPF_ALU | BPF_AND | BPF_K, 0xffffff),
        jump(BPF_JMP | BPF_JEQ | BPF_K, services_qpn, 0, 3),
        statement(BPF_LD | BPF_W | BPF_ABS, connection_offset),
        statement(BPF_ALU | BPF_RSH | BPF_K, connection_bits),
        jump(BPF_JMP | BPF_JA, 6, 0, 0),
        statement(BPF_MISC | BPF_TAX, 0),
        statement(BPF_ALU | BPF_RSH | BPF_K, number_bits),
        jump(BPF_JMP | BPF_JEQ | BPF_K, slots_max - 1, 0, 3),
        statement(BPF_MISC | BPF_TXA, 0),
        statement(BPF_ALU | BPF_AND | BPF_K, numbers_per_slot - 1),
        statement(BPF_RET | BPF_A, 0),
    };
    for (const Member& member : members.first(std::min(members.size(), members_max))) {
        program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, member.slot, 0, 1));
        program.push_back(statement(BPF_RET | BPF_K, member.place));
    }
    program.push_back(statement(BPF_RET | BPF_K, 0xffffffff));
    return program;
}

bool attach_steering(int socket, std::span<const Member> members) {
    std::vector<sock_filter> program = steering_program(members);
    return attach(socket, SO_ATTACH_REUSEPORT_CBPF, program);
}

}  // namespace lanewise::verbs::port
