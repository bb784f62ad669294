// SPDX-License-Identifier: BSD-3-Clause
//
// libFuzzer's entry to the connection manager.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "verbs/cm/fuzz/cm_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string wrong = lanewise::verbs::cm::fuzz_cm({data, size});
    if (!wrong.empty()) {
        std::fprintf(stderr, "%s\n", wrong.c_str());
        std::abort();
    }
    return 0;
}
