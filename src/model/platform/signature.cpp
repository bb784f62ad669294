// SPDX-License-Identifier: BSD-3-Clause

#include "model/platform/signature.hpp"

#include <lanewise/status.h>

#include <algorithm>

#include "base/host.hpp"

namespace lanewise::model {

void sign(Platform& platform) {
    platform.lanewise = lw_version();
    platform.created = utc_now();
    const auto& hosts = platform.hosts;
    const bool here = std::find(hosts.begin(), hosts.end(), this_host().name) != hosts.end();
    if (here) platform.fingerprint.settings.merge(tcp_settings());
}

}  // namespace lanewise::model
