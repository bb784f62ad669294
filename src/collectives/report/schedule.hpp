// SPDX-License-Identifier: BSD-3-Clause
//
// What lanewise-schedule is asked, and its answer: one JSON object.

#pragma once

#include <cstdint>
#include <string>

#include "base/json.hpp"
#include "base/result.hpp"

namespace lanewise::report {

struct ScheduleRequest {
    bool list = false;
    std::string collective;
    std::string algorithm;
    int ranks = 8;
    int root = 0;
    std::uint64_t message_bytes = 1024;
    std::uint64_t segment_bytes = 0;
    std::string platform;
    int sites = 2; /* for those that ask for sites: as many of equal size, ranks in order */
    int lanes = 1;
};

/* [{collective, name, source, cost, restrictions: ["commutative", ...]}, ...] */
Json algorithms_json();

/* {collective, algorithm, ranks, root, message_bytes, segment_bytes, schedules} */
Result<Json> schedules(const ScheduleRequest& arguments);

}  // namespace lanewise::report
