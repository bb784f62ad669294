// SPDX-License-Identifier: BSD-3-Clause
//
// CallSite: where a call came from, as file, offset and symbol, which are the same in every process
// that loads this file. Names of lines are left to whoever reads the profile. Bytes of a path that
// are not UTF-8, for which JSON has no place, are written as \xe9.

#pragma once

#include <cstdint>
#include <string>

namespace lanewise::tuned {

struct CallSite {
    std::uint64_t offset = 0; /* of the return address, from where the file was loaded */
    std::string object;       /* path of the program or library; empty: not known */
    std::string symbol;       /* function, where the dynamic linker knows it */
    bool operator==(const CallSite&) const = default;
};

/* Of the call that returns to `address`. */
CallSite call_site(const void *address);

}  // namespace lanewise::tuned
