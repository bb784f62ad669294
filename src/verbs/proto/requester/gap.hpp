// SPDX-License-Identifier: BSD-3-Clause
//
// A gap that is being filled: the peer has said which packet it lacks, and some are sent again. A
// peer may buffer out-of-order packets, as ours does, or drop them, as the standard expects, and a
// full queue drops many in a row. So a missing packet is first retransmitted alone. If those behind
// it are missing as well, one, two, four and so on are retransmitted together; if not, half as many
// for the next gap. With a peer that drops, that soon is all that is in flight (go-back-N).

#pragma once

#include <algorithm>
#include <cstdint>

#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs {

class Gap {
  public:
    // `end` is one past the last packet that is sent again for it, `cursor` the next new one.
    void open(Psn end, Psn cursor) {
        is_open_ = true;
        end_ = end;
        cursor_ = cursor;
    }
    // More is sent again, up to there.
    void extend(Psn end) { end_ = end; }
    void close() { is_open_ = false; }
    void close_if_filled(Psn unacknowledged) {
        is_open_ = is_open_ && before(unacknowledged, end_);
    }
    void reset() { *this = {}; }

    bool is_open() const { return is_open_; }
    Psn end() const { return end_; }
    Psn cursor() const { return cursor_; }

    // How many packets are sent again together: one, one, two, four, and so on, since two in a row
    // may be lost by chance.
    std::uint32_t packets() const { return 1U << (std::max(level_, 1U) - 1); }
    // Whether no packets in a row were missing lately.
    bool losses_are_single() const { return level_ == 0; }
    // The packet behind what was sent again was missing, or was not.
    void adapt(bool is_more_missing) {
        if (is_more_missing) {
            level_ = std::min(level_ + 1, level_max);
        } else {
            level_ -= level_ > 0 ? 1 : 0;
        }
    }

  private:
    static constexpr unsigned level_max = 16;

    bool is_open_ = false;
    Psn end_;
    Psn cursor_;
    unsigned level_ = 0;
};

}  // namespace lanewise::verbs
