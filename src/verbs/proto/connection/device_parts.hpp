// SPDX-License-Identifier: BSD-3-Clause
//
// What a device holds, for the files of the engine: its queue pairs reach memory, ports, events and
// the agenda here.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "verbs/proto/connection/agenda.hpp"
#include "verbs/proto/device/device.hpp"

namespace lanewise::verbs {

struct Port {
    PortState state = PortState::active;
    PortCounters counters;
};

struct DeviceParts {
    DeviceConfig config;
    OriginOf given_origin_of;
    MemoryTable memory;
    std::vector<Port> ports;  // the port numbered n is ports[n - 1]
    std::deque<Event> events;
    Agenda agenda;
    std::vector<std::unique_ptr<CompletionQueue>> completion_queues;
    std::vector<std::unique_ptr<SharedReceiveQueue>> shared_receive_queues;
    std::unordered_map<std::uint32_t, std::unique_ptr<QueuePair>> queue_pairs;

    bool has_port(std::uint8_t number) const { return number >= 1 && number <= ports.size(); }
    Port& port(std::uint8_t number) { return ports[number - 1u]; }
    Origin origin_of(const AddressVector& to) const {
        return given_origin_of ? given_origin_of(to) : Origin{to.source_udp_port, 0};
    }
};

}  // namespace lanewise::verbs
