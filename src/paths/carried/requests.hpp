// SPDX-License-Identifier: BSD-3-Clause
//
// What a program asks for: its work requests as requests of the log (send_log.hpp), the log's
// messages as work of the hardware, and requests that have ended as completions. Pure.

#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "paths/carried/frame.hpp"
#include "paths/carried/regions.hpp"
#include "paths/carried/send_log.hpp"

namespace lanewise::paths::carried {

// The work requests of the hardware's sends have this number, those of receives that of their slot.
inline constexpr std::uint64_t send_mark = ~std::uint64_t{0};

// Whether a queue pair with these limits takes it, on ports that take messages of so many bytes.
bool accepts(const ibv_send_wr& work, const ibv_qp_cap& limits, std::uint32_t message_bytes_max);

// Whether each request gets a completion, or only those that ask for one.
enum class Signaling : std::uint8_t { all, asked };

// Inline data, whose memory need not be registered, is copied to `inline_slot`.
Request request_of(const ibv_send_wr& work, Signaling signaling, std::byte *inline_slot);

ibv_wc completion_of(const Request& request, ibv_wc_status status, std::uint32_t qp_number);

Frame frame_of(const Message& message);

// What the device that carries a message knows of it: keys, and where the head of a frame lies.
struct DeviceView {
    unsigned device = 0;
    const Regions& regions;     // of the program
    std::uint32_t own_key = 0;  // of the carrier's memory
    std::uint32_t remote_key = 0;
    ibv_sge head{};
};

// The work of a message; its pieces are put into `pieces`, to which it points.
ibv_send_wr work_of(const Message& message, const DeviceView& view, std::vector<ibv_sge>& pieces);

}  // namespace lanewise::paths::carried
