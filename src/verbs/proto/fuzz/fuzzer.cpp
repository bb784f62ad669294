// SPDX-License-Identifier: BSD-3-Clause
//
// libFuzzer's entry to one of the functions of testing/fuzz.hpp, which the build names.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "verbs/proto/testing/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string wrong = lanewise::verbs::testing::LANEWISE_FUZZ_FUNCTION({data, size});
    if (!wrong.empty()) {
        std::fprintf(stderr, "%s\n", wrong.c_str());
        std::abort();
    }
    return 0;
}
