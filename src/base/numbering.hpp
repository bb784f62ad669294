// SPDX-License-Identifier: BSD-3-Clause
//
// Numbering: values by the order in which they first occur, such as hosts by their names.

#pragma once

#include <unordered_map>

namespace lanewise {

template <typename Value>
class Numbering {
  public:
    /* The number of `value`, from 0; a new value has the next one. */
    int of(const Value& value) {
        return numbers_.try_emplace(value, static_cast<int>(numbers_.size())).first->second;
    }

  private:
    std::unordered_map<Value, int> numbers_;
};

}  // namespace lanewise
