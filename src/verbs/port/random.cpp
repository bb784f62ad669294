// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/random.hpp"

#include <sys/random.h>

#include <cstddef>
#include <random>

namespace lanewise::verbs::port {

// So few bytes come whole; before the kernel has gathered randomness the call waits.
std::uint32_t random_number() {
    std::uint32_t number = 0;
    if (getrandom(&number, sizeof number, 0) == ssize_t{sizeof number}) return number;
    return std::random_device()();
}

}  // namespace lanewise::verbs::port
