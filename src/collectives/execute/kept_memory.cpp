// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/kept_memory.hpp"

#include <mutex>

namespace lanewise::collectives {

void keep_for_ever(std::vector<std::byte>&& memory) {
    if (memory.empty()) return;
    static std::mutex& lock = *new std::mutex;
    static auto& kept = *new std::vector<std::vector<std::byte>>;
    const std::lock_guard guard(lock);
    kept.push_back(std::move(memory));
}

}  // namespace lanewise::collectives
