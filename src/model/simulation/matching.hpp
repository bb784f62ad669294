// SPDX-License-Identifier: BSD-3-Clause
//
// Matching: the n-th send between two ranks matches the n-th receive. Those without a match wait in
// the queue of their pair. A queue holds sends or receives, never both, and is removed when it is
// empty.

#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lanewise::model {

enum class Side : std::uint8_t { send, receive };

class Matching {
  public:
    struct Lonely {
        Side side;
        int from;
        int to;
        std::uint32_t id;
    };

    /* The first that waits on the other side of the pair; where none does, `id` waits. */
    std::optional<std::uint32_t> meet(Side side, int from, int to, std::uint32_t id);

    /* All that wait, by pair and then in their order. */
    std::vector<Lonely> lonely() const;

  private:
    struct Waiting {
        std::uint32_t id;
        std::uint32_t next;
    };
    struct Line {
        Side side;
        std::uint32_t first;
        std::uint32_t last;
    };
    struct Spread {
        std::size_t operator()(std::uint64_t pair) const {
            return static_cast<std::size_t>((pair * 0x9e3779b97f4a7c15ULL) >> 20);
        }
    };

    std::uint32_t keep(std::uint32_t id);

    std::unordered_map<std::uint64_t, Line, Spread> lines_;
    std::vector<Waiting> waiting_;
    std::vector<std::uint32_t> unused_;
};

}  // namespace lanewise::model
