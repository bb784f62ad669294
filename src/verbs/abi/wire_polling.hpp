// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a poll of a completion queue looks at the wire. One that finds a completion there, which
// the poll of another queue has read, need not: the program is about to answer, and what it sends
// takes the acknowledgement along. But a program that finds something each time must not starve the
// wire, so a few polls later it is looked at all the same.

#pragma once

#include <cstddef>

namespace lanewise::verbs::abi {

class WirePolling {
  public:
    static constexpr unsigned finds_max = 8;

    // Whether the poll looks, of a queue that holds so many completions.
    bool looks(std::size_t completions) {
        finds_ = completions > 0 && finds_ < finds_max ? finds_ + 1 : 0;
        return finds_ == 0;
    }

  private:
    unsigned finds_ = 0;  // polls in a row that found something and did not look
};

}  // namespace lanewise::verbs::abi
