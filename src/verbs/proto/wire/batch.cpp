// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/wire/batch.hpp"

#include <cstring>

#include "verbs/proto/wire/opcode.hpp"

namespace lanewise::verbs {

void Batch::pad(std::size_t bytes) {
    std::memset(room().data(), 0, bytes);
    wrote(bytes);
}

std::size_t Batch::finish(const IcrcAddresses& addresses, std::uint16_t ip_id) {
    wrote(icrc_bytes);
    const std::span<std::byte> datagram = buffer_.subspan(begun_at_, used_ - begun_at_);
    seal(datagram, addresses, ip_id, payload_);
    return datagram.size();
}

std::size_t Batch::finish() {
    pad(icrc_bytes);
    return used_ - begun_at_;
}

}  // namespace lanewise::verbs
