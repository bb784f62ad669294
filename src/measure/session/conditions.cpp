// SPDX-License-Identifier: BSD-3-Clause
//
// See conditions.hpp.

#include "measure/session/conditions.hpp"

#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/host.hpp"
#include "base/numbering.hpp"

namespace lanewise::measure {
namespace {

struct Place {
    char host[128];
    char cpus[1024];
};

/* The number of the host of each rank, counted as they come, as text. */
std::string hosts_in_order(const Json& context) {
    Numbering<std::string> numbering;
    std::string text;
    if (!context.contains("placement")) return text;
    for (const auto& place : context["placement"]) {
        const bool named = place.is_object() && place.contains("host");
        const auto host = named ? json_text(place["host"]) : std::string();
        text += (text.empty() ? "" : ", ") + std::to_string(numbering.of(host));
    }
    return text;
}

}  // namespace

Json placement(const measure::Harness& harness) {
    const auto host = this_host();
    Place mine{};
    // The MPI's name for the host: under simulation there are more hosts than this one.
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(name, &length);
    std::string(name).copy(mine.host, sizeof mine.host - 1);
    host.cpus.copy(mine.cpus, sizeof mine.cpus - 1);
    std::vector<Place> all(static_cast<std::size_t>(harness.size()));
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0, harness.comm());
    Json places = Json::array();
    for (std::size_t r = 0; r < all.size(); ++r) {
        places.push_back({{"rank", r}, {"host", all[r].host}, {"cpus", all[r].cpus}});
    }
    return places;
}

Outcome refuse_other_hosts(const std::string& path, const Json& before, const Json& now) {
    const auto was = hosts_in_order(before);
    const auto is = hosts_in_order(now);
    if (was == is) return Done{};
    return Failure{LW_ERR_ARGUMENT, path + " was measured with its ranks on other hosts ([" + was +
                                        "] by rank, now [" + is +
                                        "]); name another file or the same conditions"};
}

Json mpi_library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string library(text, static_cast<std::size_t>(std::max(length, 0)));
    library = library.substr(0, library.find_first_of("\n\r"));
    while (!library.empty() && (library.back() == '\0' || library.back() == ' '))
        library.pop_back();
    std::replace(library.begin(), library.end(), '\t', ' ');
    int major = 0;
    int minor = 0;
    MPI_Get_version(&major, &minor);
    return {{"family", LANEWISE_MPI_FAMILY},
            {"library", library},
            {"standard", std::to_string(major) + "." + std::to_string(minor)}};
}

std::string mpi_device() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string library(text, static_cast<std::size_t>(std::max(length, 0)));
    const std::string key = "Device:";
    const auto at = library.find(key);
    if (at == std::string::npos) return "";
    const auto begin = library.find_first_not_of(" \t", at + key.size());
    if (begin == std::string::npos) return "";
    const auto end = library.find_first_of(" \t\r\n", begin);
    return library.substr(begin, end == std::string::npos ? end : end - begin);
}

}  // namespace lanewise::measure
