// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/faults/arrived.hpp"

namespace lanewise::verbs::faults {
namespace {

constexpr std::int32_t reach = Arrived::window;

std::size_t place_of(Psn psn) {
    return psn.value() % Arrived::window;
}

}  // namespace

bool Arrived::has(Stream stream, Psn psn) const {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return false;
    const auto& [newest, at] = found->second;
    const std::int32_t behind = distance(psn, newest);
    return behind >= 0 && behind < reach && at[place_of(psn)];
}

void Arrived::add(Stream stream, Psn psn) {
    const auto [found, is_first] = streams_.try_emplace(stream, Numbers{psn, {}});
    auto& [newest, at] = found->second;
    const std::int32_t ahead = distance(newest, psn);
    if (ahead >= reach || ahead <= -reach) {
        at.reset();
        newest = psn;
    }
    for (; before(newest, psn); newest = newest + 1) at[place_of(newest + 1)] = false;
    at[place_of(psn)] = true;
}

void Arrived::forget(std::uint32_t destination_qpn) {
    for (const bool responses : {false, true}) {
        streams_.erase({.destination_qpn = destination_qpn, .responses = responses});
    }
}

}  // namespace lanewise::verbs::faults
