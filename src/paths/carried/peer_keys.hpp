// SPDX-License-Identifier: BSD-3-Clause
//
// Keys of the peer's regions on the device in use. The program knows those of its peer's home
// device; what they are on the other one the peer is asked, one key at a time, again until it has
// answered. An answer that was not asked for is late, or forged, and changes nothing. Pure.

#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "paths/carried/agreement.hpp"

namespace lanewise::paths::carried {

class PeerKeys {
  public:
    static constexpr Nanoseconds ask_again_ns = 5'000'000;

    std::optional<std::uint32_t> find(std::uint32_t key) const {
        const auto found = known_.find(key);
        return found == known_.end() ? std::nullopt : std::optional(found->second);
    }
    // The key is needed and not known. Whether the peer is to be asked now.
    bool must_ask(std::uint32_t key, Nanoseconds now) {
        if (asks_again_at_ != never && now < asks_again_at_) return false;
        asked_ = key;
        asks_again_at_ = now + ask_again_ns;
        return true;
    }
    // False where nobody asked for that.
    bool on_answer(std::uint32_t key, std::uint32_t answer) {
        if (asks_again_at_ == never || key != asked_) return false;
        known_[key] = answer;
        asks_again_at_ = never;
        return true;
    }
    // Another device is in use, or the same anew.
    void forget() {
        known_.clear();
        asks_again_at_ = never;
    }
    Nanoseconds deadline() const { return asks_again_at_; }

  private:
    std::unordered_map<std::uint32_t, std::uint32_t> known_;
    std::uint32_t asked_ = 0;
    Nanoseconds asks_again_at_ = never;  // never: no question is open
};

}  // namespace lanewise::paths::carried
