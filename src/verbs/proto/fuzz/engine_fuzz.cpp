// SPDX-License-Identifier: BSD-3-Clause
//
// libFuzzer's entry to fuzz_engine() (testing/fuzz.hpp).

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "verbs/proto/testing/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string wrong = lanewise::verbs::testing::fuzz_engine({data, size});
    if (!wrong.empty()) {
        std::fprintf(stderr, "%s\n", wrong.c_str());
        std::abort();
    }
    return 0;
}
