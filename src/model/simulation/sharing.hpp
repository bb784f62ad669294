// SPDX-License-Identifier: BSD-3-Clause
//
// Sharing: the messages on a shared link, which get parts of b(P), the total bandwidth of P
// messages: equal ones, or by weight.
//
// All messages on the link progress at the same rate for a weight of 1, so one number holds how
// many bytes such a message has been given since the link was last empty. A message that enters is
// done when that number has grown by its size over its weight; the next to leave is the one with
// the least target.

#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "model/simulation/network.hpp"

namespace lanewise::model {

class Sharing {
  public:
    explicit Sharing(const SharedLink& link) : link_(&link) {}

    void enter(double now_s, std::uint32_t message, std::int64_t bytes, double weight = 1.0);
    /* When the next message leaves if none enters before; none where nothing moves. */
    std::optional<double> next_s() const;
    /* Takes that message off the link. */
    std::uint32_t leave(double now_s);

    bool empty() const { return under_way_.empty(); }
    /* Grows with every change, so that a prediction made before the change can be recognized. */
    std::uint32_t version() const { return version_; }

  private:
    struct UnderWay {
        double done_at; /* of `given_` */
        double weight;
        std::uint64_t order;
        std::uint32_t message;

        bool operator>(const UnderWay& other) const {
            return done_at != other.done_at ? done_at > other.done_at : order > other.order;
        }
    };

    double bytes_per_s_of_weight_1() const;
    void go_on_to(double now_s);

    const SharedLink *link_;
    std::priority_queue<UnderWay, std::vector<UnderWay>, std::greater<>> under_way_;
    double now_s_ = 0.0;
    double given_ = 0.0;
    double weights_ = 0.0; /* of all under way */
    std::uint64_t entered_ = 0;
    std::uint32_t version_ = 0;
};

}  // namespace lanewise::model
