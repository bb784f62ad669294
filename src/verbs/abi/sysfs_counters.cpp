// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/sysfs_counters.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "verbs/port/slot.hpp"
#include "verbs/port/wire.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr std::uint64_t octets_per_word = 4;

using OfPort = PortCounters;
using OfQueuePairs = QueuePairCounters;

constexpr std::array<SysfsCounter, 20> table{{
    {"counters", "port_xmit_data",
     [](const OfPort& p, const OfQueuePairs&) { return p.bytes_sent / octets_per_word; }},
    {"counters", "port_rcv_data",
     [](const OfPort& p, const OfQueuePairs&) { return p.bytes_received / octets_per_word; }},
    {"counters", "port_xmit_packets",
     [](const OfPort& p, const OfQueuePairs&) { return p.packets_sent; }},
    {"counters", "port_rcv_packets",
     [](const OfPort& p, const OfQueuePairs&) { return p.packets_received; }},
    {"counters", "port_rcv_errors",
     [](const OfPort& p, const OfQueuePairs&) { return p.malformed + p.icrc_errors; }},
    {"counters", "port_rcv_constraint_errors",
     [](const OfPort& p, const OfQueuePairs&) { return p.pkey_violations; }},
    {"counters", "port_xmit_discards",
     [](const OfPort& p, const OfQueuePairs&) { return p.sends_failed; }},
    {"hw_counters", "duplicate_request",
     [](const OfPort&, const OfQueuePairs& q) { return q.duplicates; }},
    {"hw_counters", "local_ack_timeout_err",
     [](const OfPort&, const OfQueuePairs& q) { return q.timeouts; }},
    {"hw_counters", "np_cnp_sent",
     [](const OfPort& p, const OfQueuePairs&) { return p.np_cnp_sent; }},
    {"hw_counters", "np_ecn_marked_roce_packets",
     [](const OfPort& p, const OfQueuePairs&) { return p.np_ecn_marked_roce_packets; }},
    {"hw_counters", "out_of_buffer",
     [](const OfPort&, const OfQueuePairs& q) { return q.rnr_naks_sent; }},
    {"hw_counters", "out_of_sequence",
     [](const OfPort&, const OfQueuePairs& q) { return q.out_of_order; }},
    {"hw_counters", "packet_seq_err",
     [](const OfPort&, const OfQueuePairs& q) { return q.sequence_naks_received; }},
    {"hw_counters", "rcvd_pkts",
     [](const OfPort& p, const OfQueuePairs&) { return p.packets_received; }},
    {"hw_counters", "rnr_nak_retry_err",
     [](const OfPort&, const OfQueuePairs& q) { return q.rnr_naks_received; }},
    {"hw_counters", "rp_cnp_handled",
     [](const OfPort& p, const OfQueuePairs&) { return p.rp_cnp_handled; }},
    {"hw_counters", "rp_cnp_ignored",
     [](const OfPort& p, const OfQueuePairs&) { return p.rp_cnp_ignored; }},
    {"hw_counters", "rx_icrc_encapsulated",
     [](const OfPort& p, const OfQueuePairs&) { return p.icrc_errors; }},
    {"hw_counters", "sent_pkts",
     [](const OfPort& p, const OfQueuePairs&) { return p.packets_sent; }},
}};

const SysfsCounter *found(std::string_view folder, std::string_view name) {
    const auto at = std::ranges::find_if(
        table, [&](const SysfsCounter& one) { return one.folder == folder && one.name == name; });
    return at == table.end() ? nullptr : &*at;
}

// A member of what another process answers, which may be anything; null where there is none.
Json member_of(const Json& value, std::string_view name) {
    return value.is_object() ? value.value(std::string(name), Json()) : Json();
}

// Of all ports in an answer of `status_of` that are on the interface.
std::uint64_t sum_in(const std::string& answer, std::string_view interface,
                     const SysfsCounter& counter) {
    std::uint64_t sum = 0;
    for (const Json& port : member_of(parse_json(answer), "ports")) {
        if (member_of(port, "interface") != Json(interface)) continue;
        const Json folder = member_of(member_of(port, "sysfs"), counter.folder);
        // A process may have begun before this counter was told.
        const Json counted = member_of(folder, counter.name);
        if (counted.is_number_unsigned()) sum += counted.get<std::uint64_t>();
    }
    return sum;
}

// Of the answers that are kept. Only tried, so a child that was forked while a thread of its parent
// had it can never hang here; it goes without what is kept.
std::mutex the_lock;

// What processes have answered within the last 10 ms, the time for which the kernel keeps
// hw_counters (lifespan). Programs read one counter after the other, and a process that is stopped
// lets each question wait.
std::vector<std::string> answers() {
    constexpr Nanoseconds lifespan_ns = 10'000'000;
    // Never destroyed: destructors and exit handlers may read counters until the very end.
    static std::vector<std::string> *known = nullptr;
    static Nanoseconds until = 0;
    const std::unique_lock guard(the_lock, std::try_to_lock);
    if (!guard) return port::ask_all(port::status_question);
    if (known && monotonic_ns() < until) return *known;
    if (!known) known = new std::vector<std::string>;
    *known = port::ask_all(port::status_question);
    until = monotonic_ns() + lifespan_ns;
    return *known;
}

}  // namespace

std::span<const SysfsCounter> sysfs_counters() {
    return table;
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;

// For the files that device_node.c has in place of the kernel's.
extern "C" {

const char *lanewise_counter_name(const char *folder, unsigned index) {
    for (const SysfsCounter& one : sysfs_counters()) {
        if (one.folder == std::string_view(folder) && index-- == 0) return one.name;
    }
    return nullptr;
}

int lanewise_read_counter(const char *interface, const char *folder, const char *name,
                          std::uint64_t *value) {
    const SysfsCounter *counter = found(folder, name);
    if (!counter) return ENOENT;
    *value = 0;
    for (const std::string& answer : answers()) *value += sum_in(answer, interface, *counter);
    return 0;
}

}  // extern "C"
