// SPDX-License-Identifier: BSD-3-Clause
//
// What lanewise-schedule is asked, and what it tells: one JSON object.

#pragma once

#include <string>

#include "base/json.hpp"
#include "base/result.hpp"

namespace lanewise::tools {

struct ScheduleArguments {
    bool list = false;
    std::string collective;
    std::string algorithm;
    int ranks = 8;
    int root = 0;
    std::string message = "1K";
    std::string segment = "0";
    std::string platform;
    int sites = 2; /* for those that ask for sites: as many of equal size, ranks in order */
    int lanes = 1;
};

/* {collective, algorithm, ranks, root, message_bytes, segment_bytes, schedules} */
Result<Json> schedules_told(const ScheduleArguments& arguments);

}  // namespace lanewise::tools
