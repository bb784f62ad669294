// SPDX-License-Identifier: BSD-3-Clause
//
// What one device has of a carried queue pair: a reliable queue pair for its messages, a datagram
// queue pair for letters, and the memory of both as that device knows it.

#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/result.hpp"
#include "paths/carried/frame.hpp"
#include "paths/carried/letter.hpp"

namespace lanewise::paths::carried {

inline constexpr std::uint32_t receive_slots = 128;
inline constexpr std::uint32_t frame_payload_bytes = 8192;
inline constexpr std::uint32_t slot_bytes = sizeof(Frame) + frame_payload_bytes;
inline constexpr std::size_t receive_room_bytes = std::size_t{receive_slots} * slot_bytes;
// Messages on their way; fewer than the peer has receives, so that it is seldom out of them.
inline constexpr std::uint32_t window = 64;
inline constexpr std::uint32_t letter_slots = 16;
inline constexpr std::uint32_t datagram_header_bytes = 40;  // before each datagram: the GRH
inline constexpr std::uint32_t letter_slot_bytes = datagram_header_bytes + sizeof(Letter);

// Memory that both devices of a carried queue pair share: slots to receive into, the heads of
// frames on their way, inline data of the program, and letters.
class Memory {
  public:
    Memory(std::uint32_t inline_slots, std::uint32_t inline_bytes)
        : inline_bytes_(inline_bytes),
          letters_at_(receive_room_bytes + window * sizeof(Frame) +
                      std::size_t{inline_slots} * inline_bytes),
          bytes_(letters_at_ + std::size_t{2} * device_count * letter_slots * letter_slot_bytes),
          data_(static_cast<std::byte *>(std::aligned_alloc(4096, (bytes_ + 4095) / 4096 * 4096))) {
    }
    std::byte *data() const { return data_.get(); }
    std::size_t size() const { return bytes_; }
    std::byte *receive_slot(std::uint32_t slot) const {
        return data() + std::size_t{slot} * slot_bytes;
    }
    std::byte *frame_slot(std::uint64_t message) const {
        return data() + receive_room_bytes + message % window * sizeof(Frame);
    }
    std::byte *inline_slot(std::uint64_t slot) const {
        return data() + receive_room_bytes + window * sizeof(Frame) + slot * inline_bytes_;
    }
    std::byte *letter_in(unsigned device, std::uint32_t slot) const {
        return letter(device * 2, slot);
    }
    std::byte *letter_out(unsigned device, std::uint32_t slot) const {
        return letter(device * 2 + 1, slot);
    }

  private:
    struct Free {
        void operator()(std::byte *data) const { std::free(data); }
    };
    std::byte *letter(unsigned row, std::uint32_t slot) const {
        return data() + letters_at_ + (std::size_t{row} * letter_slots + slot) * letter_slot_bytes;
    }
    std::uint32_t inline_bytes_;
    std::size_t letters_at_;
    std::size_t bytes_;
    std::unique_ptr<std::byte, Free> data_;
};

struct Carrier {
    ibv_qp *data = nullptr;
    ibv_qp *control = nullptr;
    ibv_mr *memory = nullptr;          // in the program's protection domain
    ibv_mr *control_memory = nullptr;  // in ours
    ibv_ah *peer = nullptr;            // of its datagram queue pair on this device
    ibv_ah_attr path{};                // to the peer
    std::uint32_t mtu_bytes = 0;       // of the epoch
    Contact contact;                   // of the peer
    bool live = false;                 // takes and sends messages
    bool freezing = false;             // is in the error state, and returns its work
    std::uint32_t sends = 0;           // that the hardware has not returned
    std::uint32_t receives = 0;
    std::uint64_t posted = 0;   // messages ever
    std::uint32_t letters = 0;  // on their way
    std::uint32_t next_letter = 0;
};

}  // namespace lanewise::paths::carried
