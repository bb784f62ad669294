// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/deliveries.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace lanewise::paths::carried {

std::optional<Frame> read_frame(const std::byte *slot, std::uint32_t received_bytes,
                                std::uint64_t next) {
    Frame frame;
    if (received_bytes < sizeof frame) return std::nullopt;
    std::memcpy(&frame, slot, sizeof frame);
    return frame.number == next ? std::optional(frame) : std::nullopt;
}

bool is_write_number(std::uint32_t immediate, std::uint64_t next) {
    return immediate == static_cast<std::uint32_t>(next);
}

Request perform_atomic(const Frame& frame, const DomainRegions& regions, unsigned access) {
    std::byte *at = regions.locate_remote(frame.remote_key, frame.remote_address,
                                          sizeof(std::uint64_t), IBV_ACCESS_REMOTE_ATOMIC);
    Request result;
    result.operation = Operation::result;
    const bool granted = (access & IBV_ACCESS_REMOTE_ATOMIC) != 0;
    if (frame.remote_address % sizeof(std::uint64_t) != 0) {
        // An end that does not know the first flag takes it for the second.
        result.refusal = frame_is_invalid | frame_is_refusal;
    } else if (!at || !granted) {
        result.refusal = frame_is_refusal;
    }
    if (result.refusal) return result;
    auto *word = reinterpret_cast<std::uint64_t *>(at);
    if (frame.kind == FrameKind::fetch_add) {
        result.compare_add = __atomic_fetch_add(word, frame.compare_add, __ATOMIC_SEQ_CST);
        return result;
    }
    std::uint64_t expected = frame.compare_add;
    __atomic_compare_exchange_n(word, &expected, frame.swap, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    result.compare_add = expected;
    return result;
}

ibv_wc_status put_result(const Frame& result, const Request& request,
                         const DomainRegions& regions) {
    if (result.flags & frame_is_invalid) return IBV_WC_REM_INV_REQ_ERR;
    if (result.flags & frame_is_refusal) return IBV_WC_REM_ACCESS_ERR;
    const auto value =
        std::bit_cast<std::array<std::byte, sizeof result.compare_add>>(result.compare_add);
    std::vector<std::byte *> places;
    std::size_t room_bytes = 0;
    for (const Piece& piece : request.pieces) {
        places.push_back(regions.locate_local(piece.key, piece.address, piece.length_bytes,
                                              IBV_ACCESS_LOCAL_WRITE));
        if (!places.back()) return IBV_WC_LOC_PROT_ERR;
        room_bytes += piece.length_bytes;
    }
    if (room_bytes != value.size()) return IBV_WC_LOC_PROT_ERR;
    const std::byte *from = value.data();
    for (std::size_t i = 0; i < places.size(); ++i) {
        std::memcpy(places[i], from, request.pieces[i].length_bytes);
        from += request.pieces[i].length_bytes;
    }
    return IBV_WC_SUCCESS;
}

std::optional<Deliveries::Delivered> Deliveries::next() {
    if (held_.empty()) return std::nullopt;
    if (!current_) {
        current_ = source_.take();
        current_bytes_ = 0;
    }
    if (!current_) return std::nullopt;
    const Held held = std::move(held_.front());
    held_.pop_front();
    if (held.slot) --slots_;
    Frame frame;
    std::memcpy(&frame, held.memory, sizeof frame);
    Delivered made{.slot = held.slot, .completion = std::nullopt};
    ibv_wc done{};
    done.status = scatter(held.memory + sizeof frame, held.data_bytes);
    if (done.status == IBV_WC_SUCCESS && !(frame.flags & frame_is_last)) return made;
    done.wr_id = current_->id;
    done.opcode = frame.kind == FrameKind::data ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
    done.byte_len = frame.length_bytes;
    if (frame.flags & frame_has_immediate) {
        done.wc_flags = IBV_WC_WITH_IMM;
        done.imm_data = frame.immediate;
    }
    current_.reset();
    made.completion = done;
    made.waking = frame.flags & frame_is_solicited ? Waking::solicited : Waking::usual;
    return made;
}

std::vector<std::uint32_t> Deliveries::give_slots_back() {
    std::vector<std::uint32_t> slots;
    for (Held& held : held_) {
        if (!held.slot) continue;
        held.copy.assign(held.memory, held.memory + sizeof(Frame) + held.data_bytes);
        held.memory = held.copy.data();
        slots.push_back(*held.slot);
        held.slot.reset();
    }
    slots_ = 0;
    return slots;
}

std::optional<Receive> Deliveries::take_current() {
    return std::exchange(current_, std::nullopt);
}

// Puts data where the current receive has room for it.
ibv_wc_status Deliveries::scatter(const std::byte *data, std::uint32_t length_bytes) {
    std::uint64_t skip = current_bytes_;
    std::uint32_t left = length_bytes;
    for (const Piece& piece : current_->pieces) {
        const std::uint64_t skipped = std::min<std::uint64_t>(skip, piece.length_bytes);
        const auto taken =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.length_bytes - skipped, left));
        skip -= skipped;
        if (taken == 0) continue;
        std::byte *at = regions_.locate_local(piece.key, piece.address + skipped, taken,
                                              IBV_ACCESS_LOCAL_WRITE);
        if (!at) return IBV_WC_LOC_PROT_ERR;
        std::memcpy(at, data, taken);
        data += taken;
        left -= taken;
    }
    current_bytes_ += length_bytes;
    return left == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

}  // namespace lanewise::paths::carried
