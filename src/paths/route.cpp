// SPDX-License-Identifier: BSD-3-Clause
#include "paths/route.hpp"

#include <arpa/inet.h>

namespace lanewise::paths {

std::string text_of(const Gid& gid) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
    return text.data();
}

bool read_gid(const std::string& text, Gid& gid) {
    return inet_pton(AF_INET6, text.c_str(), gid.data()) == 1;
}

}  // namespace lanewise::paths
