// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/wire/batch.hpp"

#include <cstring>

#include "verbs/proto/wire/opcode.hpp"

namespace lanewise::verbs {

void Batch::begin() {
    begun_at_ = part_at_ = used_;
    part_count_ = 0;
}

void Batch::pad(std::size_t bytes) {
    std::memset(room().data(), 0, bytes);
    wrote(bytes);
}

bool Batch::refers(std::size_t payload_bytes, std::size_t runs) const {
    constexpr std::size_t worth_bytes = 512;
    return pieces_ != nullptr && payload_bytes >= worth_bytes && runs <= runs_max;
}

void Batch::close_part() {
    if (used_ > part_at_) {
        parts_[part_count_++] = buffer_.subspan(part_at_, used_ - part_at_);
        part_at_ = used_;
    }
}

void Batch::refer(std::span<const std::byte> run) {
    close_part();
    parts_[part_count_++] = run;
}

std::size_t Batch::finish(const IcrcAddresses& addresses, std::uint16_t ip_id) {
    std::byte *const icrc_at = room().data();
    wrote(icrc_bytes);
    close_part();
    const std::span parts = std::span(parts_).first(part_count_);
    const std::size_t bytes = seal(parts, icrc_at, addresses, ip_id);
    if (pieces_ != nullptr) {
        pieces_->insert(pieces_->end(), parts.begin(), parts.end());
    }
    return bytes;
}

}  // namespace lanewise::verbs
