// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/scan/prefix.hpp"

namespace lanewise::collectives {

using model::Place;
using model::StepId;

Prefix::Prefix(model::Builder& steps, Prefixes prefixes, std::int64_t begin, std::int64_t count)
    : steps_(steps),
      prefixes_(prefixes),
      count_(count),
      result_{Place::receive, begin},
      here_{Place::send, begin} {}

void Prefix::give(int peer) {
    sends_.push_back(steps_.send(peer, here_, count_, {here_ready_}));
}

void Prefix::expect(int peer, bool gives_on) {
    if (prefixes_ == Prefixes::inclusive || has_result_) {
        received_ = receive_into_scratch(peer);
        return;
    }
    // The first that comes is the result so far. In place, it comes to where the own vector is.
    if (gives_on) {
        const auto kept = steps_.scratch(count_);
        here_ready_ = steps_.copy(here_, kept, count_);
        here_ = kept;
    }
    received_ = steps_.receive_after(after_sends({here_ready_}), peer, result_, count_);
}

void Prefix::combine(bool gives_on) {
    if (prefixes_ == Prefixes::inclusive) {
        combine_inclusive();
    } else {
        combine_exclusive(gives_on);
    }
    sends_.clear();
}

void Prefix::settle() {
    if (prefixes_ == Prefixes::inclusive && here_.place == Place::send) {
        steps_.copy(here_, result_, count_);
    }
}

void Prefix::combine_inclusive() {
    if (here_.place == Place::send) {
        here_ready_ = steps_.copy(here_, result_, count_);
        here_ = result_;
    }
    here_ready_ =
        steps_.reduce_after(after_sends({received_, here_ready_}), incoming_, here_, count_);
}

void Prefix::combine_exclusive(bool gives_on) {
    const auto came_to = has_result_ ? incoming_ : result_;
    if (has_result_) {
        result_ready_ = steps_.reduce(incoming_, result_, count_, {received_, result_ready_});
    }
    if (gives_on) {
        here_ready_ =
            steps_.reduce_after(after_sends({received_, here_ready_}), came_to, here_, count_);
    }
    if (!has_result_) result_ready_ = gives_on ? here_ready_ : received_;
    has_result_ = true;
}

StepId Prefix::receive_into_scratch(int peer) {
    if (!has_incoming_) incoming_ = steps_.scratch(count_);
    has_incoming_ = true;
    return steps_.receive(peer, incoming_, count_, {here_ready_, result_ready_});
}

std::vector<StepId> Prefix::after_sends(std::initializer_list<StepId> steps) const {
    std::vector<StepId> after(steps);
    after.insert(after.end(), sends_.begin(), sends_.end());
    return after;
}

}  // namespace lanewise::collectives
