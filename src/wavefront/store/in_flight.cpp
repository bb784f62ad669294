// SPDX-License-Identifier: BSD-3-Clause
//
// See in_flight.hpp.

#include "wavefront/store/in_flight.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace lanewise::wavefront {
namespace {

Outcome outcome_of(const std::string& what, const Completion& completion) {
    const int error = completion.error;
    if (error == 0) return Done{};
    std::string why = error == ENODATA ? "the file ends too early" : std::strerror(error);
    if (completion.call) why = completion.call + std::string(" failed: ") + why;
    if (completion.call && !what.empty()) why += "; use --io threads";
    return Failure{LW_ERR_IO, what.empty() ? why : what + ": " + why};
}

}  // namespace

InFlight::~InFlight() {
    while (!sent_.empty()) wait();
}

void InFlight::submit(std::uint64_t slot, const Transfer& transfer, std::string what) {
    auto numbered = transfer;
    numbered.tag = next_++;
    sent_[numbered.tag] = {slot, transfer.tag, std::move(what)};
    ++slots_[slot].under_way;
    queue_.submit(numbered);
}

std::optional<InFlight::Landed> InFlight::wait() {
    const auto completion = queue_.wait();
    if (!completion) return std::nullopt;
    const auto found = sent_.find(completion->tag);
    const auto sent = std::move(found->second);
    sent_.erase(found);
    auto& slot = slots_[sent.slot];
    --slot.under_way;
    Landed landed{sent.tag, outcome_of(sent.what, *completion)};
    if (slot.outcome) slot.outcome = landed.outcome;
    return landed;
}

Outcome InFlight::wait_for(std::uint64_t slot) {
    auto& waited_for = slots_[slot];
    while (waited_for.under_way > 0) wait();
    return std::exchange(waited_for.outcome, Done{});
}

}  // namespace lanewise::wavefront
