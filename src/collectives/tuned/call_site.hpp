// SPDX-License-Identifier: BSD-3-Clause
//
// CallSite: where a call came from, as file, offset and symbol, which are the same in every process
// that loads this file. Names of lines are left to whoever reads the profile.

#pragma once

#include <array>
#include <cstdint>

namespace lanewise::tuned {

struct CallSite {
    std::array<char, 256> object{}; /* path of the program or library; empty: not known */
    std::array<char, 128> symbol{}; /* function, where the dynamic linker knows it */
    std::uint64_t offset = 0;       /* of the return address, from where the file was loaded */
    bool operator==(const CallSite&) const = default;
};

/* Of the call that returns to `address`. */
CallSite call_site(const void *address);

}  // namespace lanewise::tuned
