// SPDX-License-Identifier: BSD-3-Clause
//
// LinkSettings of one direction of a link.  A new impairment is a member here with its row in the
// table, which the configuration reads and writes, and its effect in line.cpp.

#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

namespace lanewise::testbed {

enum class Carrier { up, cut };

struct LinkSettings {
    double rate_bits_per_s = 0;      /* 0: as fast as this machine */
    double flow_rate_bits_per_s = 0; /* what one flow may take; 0: all */
    std::int64_t delay_ns = 0;
    std::int64_t jitter_ns = 0; /* up to this much more or less, order kept */
    double loss = 0;            /* fraction of segments */
    double reorder = 0;         /* fraction of segments that are held, so that others overtake */
    std::int64_t queue_bytes = 0;
    std::int64_t mark_bytes = 0; /* of the queue, from which on packets are marked; 0: never */
    Carrier carrier = Carrier::up;
};

/* A setting: its key in JSON, its member, and the largest value. */
struct Setting {
    std::string_view key;
    std::variant<double LinkSettings::*, std::int64_t LinkSettings::*> member;
    double most;
};

inline constexpr Setting setting_table[] = {
    {"rate_bits_per_s", &LinkSettings::rate_bits_per_s, 1e15},
    {"flow_rate_bits_per_s", &LinkSettings::flow_rate_bits_per_s, 1e15},
    {"delay_ns", &LinkSettings::delay_ns, 1e12},
    {"jitter_ns", &LinkSettings::jitter_ns, 1e12},
    {"loss", &LinkSettings::loss, 1},
    {"reorder", &LinkSettings::reorder, 1},
    {"queue_bytes", &LinkSettings::queue_bytes, 1e15},
    {"mark_bytes", &LinkSettings::mark_bytes, 1e15},
};

}  // namespace lanewise::testbed
