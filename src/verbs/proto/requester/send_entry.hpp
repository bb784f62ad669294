// SPDX-License-Identifier: BSD-3-Clause
//
// A send request between posting and completion, with the packets that it is sent in.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verbs/proto/queues/completion_queue.hpp"
#include "verbs/proto/queues/work_request.hpp"
#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/packet.hpp"
#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs {

struct SendEntry {
    std::uint64_t id = 0;
    Operation operation = Operation::send;
    std::uint32_t flags = 0;
    std::uint32_t immediate = 0;
    std::uint32_t rkey = 0;
    std::uint64_t remote_address = 0;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    std::uint32_t remote_qpn = 0;
    std::uint32_t remote_qkey = 0;
    AddressVector address;
    std::vector<Slice> slices;
    std::vector<std::byte> inline_bytes;
    std::uint64_t length_bytes = 0;
    WindowBinding binding;
    std::uint32_t invalidated_key = 0;
    std::uint32_t remote_srqn = 0;
    Psn first;
    std::uint32_t packets = 1;   // none where it is local
    std::uint32_t sequence = 0;  // counts messages as the peer does, for credits
    bool is_done = false;        // where it is local

    // Becomes this request. An entry is used again and again, and its vectors keep their memory.
    void take(const SendRequest& request, std::uint32_t mtu);

    Psn last() const { return first + (packets - 1); }
    bool is_read() const { return operation == Operation::read; }
    bool is_atomic() const { return verbs::is_atomic(operation); }
    bool is_local() const { return verbs::is_local(operation); }
    bool awaits_data() const { return is_read() || is_atomic(); }
    bool takes_receive() const {
        return operation == Operation::send || operation == Operation::send_immediate ||
               operation == Operation::send_invalidate || operation == Operation::write_immediate;
    }
};

PacketKind kind_of(Operation operation);
Extra extra_of(Operation operation);
CompletedWork completed_work(Operation operation);

}  // namespace lanewise::verbs
