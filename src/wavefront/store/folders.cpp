// SPDX-License-Identifier: BSD-3-Clause
//
// See folders.hpp.

#include "wavefront/store/folders.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace lanewise::wavefront {

NewFolders::NewFolders(std::vector<std::string> folders) : folders_(std::move(folders)) {
    std::erase_if(folders_, [](const std::string& folder) {
        std::error_code ignored;
        return std::filesystem::exists(folder, ignored) &&
               !std::filesystem::is_empty(folder, ignored);
    });
}

NewFolders::~NewFolders() {
    std::error_code ignored;
    for (const auto& folder : folders_) std::filesystem::remove_all(folder, ignored);
}

}  // namespace lanewise::wavefront
