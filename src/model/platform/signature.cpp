// SPDX-License-Identifier: BSD-3-Clause

#include "model/platform/signature.hpp"

#include <lanewise/status.h>

#include <algorithm>
#include <utility>

namespace lanewise::model {

void sign(Platform& platform, std::string created, const std::string& host,
          std::map<std::string, std::string> settings) {
    platform.lanewise = lw_version();
    platform.created = std::move(created);
    const auto& hosts = platform.hosts;
    const bool here = std::find(hosts.begin(), hosts.end(), host) != hosts.end();
    if (here) platform.fingerprint.settings.merge(settings);
}

}  // namespace lanewise::model
