// SPDX-License-Identifier: BSD-3-Clause
//
// The plan of this process, as `lanewise rdma run --faults` passes it in the environment:
//
//   LANEWISE_HCA_FAULTS     the script (plan.hpp)
//   LANEWISE_HCA_FAULT_LOG  a file that gets a line of JSON for each fault

#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "verbs/faults/plan.hpp"
#include "verbs/port/descriptor.hpp"

namespace lanewise::verbs::faults {

class Injector {
  public:
    // Null where nothing is to go wrong, or where the environment makes no sense, after a line on
    // standard error.
    static Injector *get();

    // The fault for this occurrence, which is written to the log; none if it is to go well.
    std::optional<Rule> decide(Place place, std::string_view name);
    bool concerns(Place place) const { return plan_.concerns(place); }

  private:
    Injector(Script script, port::Descriptor log)
        : plan_(std::move(script)), log_(std::move(log)) {}
    static std::unique_ptr<Injector> open();

    std::mutex lock_;
    Plan plan_;
    port::Descriptor log_;
};

// The errno with which a call is to fail; 0 if it is to go well.
inline int planned_error(std::string_view call) {
    Injector *injector = Injector::get();
    if (!injector) return 0;
    const std::optional<Rule> fault = injector->decide(Place::call, call);
    return fault ? static_cast<int>(fault->value) : 0;
}

}  // namespace lanewise::verbs::faults
