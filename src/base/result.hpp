// SPDX-License-Identifier: BSD-3-Clause
//
// Result: a value, or why there is none: as much of std::expected of C++23 as Lanewise needs. A
// failure carries the status of the C API and one sentence that says what is wrong, where, and the
// remedy.

#pragma once

#include <lanewise/status.h>

#include <string>
#include <utility>
#include <variant>

namespace lanewise {

struct Failure {
    lw_status status = LW_ERR_ARGUMENT;
    std::string sentence;
};

/* A refusal of what was asked for. */
inline Failure bad_argument(std::string sentence) {
    return {LW_ERR_ARGUMENT, std::move(sentence)};
}

template <typename Value>
class [[nodiscard]] Result {
  public:
    Result(Value value) : content_(std::move(value)) {}
    Result(Failure failure) : content_(std::move(failure)) {}

    explicit operator bool() const { return content_.index() == 0; }
    Value& operator*() { return std::get<0>(content_); }
    const Value& operator*() const { return std::get<0>(content_); }
    Value *operator->() { return &std::get<0>(content_); }
    const Value *operator->() const { return &std::get<0>(content_); }
    const Failure& failure() const { return std::get<1>(content_); }

  private:
    std::variant<Value, Failure> content_;
};

struct Done {};
using Outcome = Result<Done>;

}  // namespace lanewise
