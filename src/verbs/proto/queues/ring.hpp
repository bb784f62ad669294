// SPDX-License-Identifier: BSD-3-Clause
//
// A queue in a ring that grows by doubling and never shrinks. Elements keep what they own when they
// leave, so a queue that has warmed up no longer allocates, and an idle one costs next to nothing.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lanewise::verbs {

template <typename Element>
class Ring {
  public:
    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }

    Element& operator[](std::size_t index) { return slots_[at(index)]; }
    const Element& operator[](std::size_t index) const { return slots_[at(index)]; }
    Element& front() { return slots_[head_]; }
    const Element& front() const { return slots_[head_]; }
    Element& back() { return (*this)[count_ - 1]; }

    // A slot behind the last; it holds what some former element left there.
    Element& push() {
        if (count_ == slots_.size()) {
            grow();
        }
        ++count_;
        return back();
    }
    void pop() {
        head_ = at(1);
        --count_;
    }
    void pop_back() { --count_; }
    void clear() { head_ = count_ = 0; }

  private:
    std::size_t at(std::size_t index) const { return (head_ + index) & (slots_.size() - 1); }

    void grow() {
        std::vector<Element> larger(slots_.empty() ? 4 : slots_.size() * 2);
        for (std::size_t i = 0; i < count_; ++i) {
            larger[i] = std::move((*this)[i]);
        }
        slots_ = std::move(larger);
        head_ = 0;
    }

    std::vector<Element> slots_;  // a power of two of them, or none
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

}  // namespace lanewise::verbs
