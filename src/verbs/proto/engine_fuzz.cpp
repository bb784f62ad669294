// SPDX-License-Identifier: BSD-3-Clause
//
// The engine under libFuzzer: bytes become a script of packets, work and time. Built with Clang.

#include <cstddef>
#include <cstdint>

#include "verbs/proto/testing/hostile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    lanewise::verbs::testing::Target target;
    target.play({data, size});
    if (!target.unharmed()) {
        __builtin_trap();
    }
    return 0;
}
