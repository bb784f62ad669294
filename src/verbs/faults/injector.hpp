// SPDX-License-Identifier: BSD-3-Clause
//
// The plan of this process, as `lanewise rdma run --faults` passes it in the environment:
//
//   LANEWISE_HCA_FAULTS     the script (plan.hpp)
//   LANEWISE_HCA_FAULT_LOG  a file that gets a line of JSON for each fault
//   LANEWISE_HCA_CENSUS     a file that gets a line of JSON at the end (census.hpp)

#pragma once

#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "verbs/faults/census.hpp"
#include "verbs/faults/plan.hpp"

namespace lanewise::verbs::faults {

class Injector {
  public:
    // Null where nothing is to go wrong or to be counted, or where the environment makes no sense,
    // after a line on standard error.
    static Injector *get();

    // The fault for this occurrence, which is written to the log; none if it is to go well. The
    // time is filled in, from the first call on that could have met a fault.
    std::optional<Rule> decide(Occurrence occurrence);
    bool concerns(Place place) const { return plan_.concerns(place); }

    // Counts objects that were not destroyed.
    void left(std::string_view kind, std::uint64_t count);
    // Writes the census, where one is wanted, unless this is a child of the process that it is of.
    void write_census();

  private:
    Injector(Script script, Descriptor log, Descriptor census)
        : plan_(std::move(script)), log_(std::move(log)), census_file_(std::move(census)) {}
    static Injector *open();

    Plan plan_;
    Descriptor log_;
    Census census_;
    Descriptor census_file_;
    pid_t process_ = getpid();
    std::int64_t begun_ns_ = monotonic_ns();
};

// The errno with which a call on a device, and on one of its queue pairs where the call has one, is
// to fail; 0 if it is to go well.
inline int planned_error(std::string_view call, std::string_view device,
                         std::uint64_t queue_pair = 0) {
    Injector *injector = Injector::get();
    if (!injector) return 0;
    const std::optional<Rule> fault =
        injector->decide({.name = call, .device = device, .queue_pair = queue_pair});
    return fault ? static_cast<int>(fault->value) : 0;
}

}  // namespace lanewise::verbs::faults
