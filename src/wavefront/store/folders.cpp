// SPDX-License-Identifier: BSD-3-Clause
//
// See folders.hpp.

#include "wavefront/store/folders.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>

#include "base/file.hpp"
#include "wavefront/store/checksum.hpp"
#include "wavefront/store/manifest.hpp"

namespace lanewise::wavefront {
namespace {

namespace fs = std::filesystem;

Failure cannot_make(const std::string& path, const std::error_code& why) {
    return {LW_ERR_ARGUMENT,
            "cannot make the folder " + path + ": " + why.message() + "; name another"};
}

Result<bool> make_folder(const fs::path& folder) {
    const auto above = folder.parent_path();
    std::error_code unknown; /* a folder above may not be searched */
    if (!fs::is_directory(above, unknown)) {
        const auto made = make_folder(above);
        if (!made) return made;
    }
    std::error_code error;
    const bool is_new = fs::create_directory(folder, error);
    if (!fs::is_directory(folder, unknown))
        return cannot_make(folder.string(),
                           error ? error : std::make_error_code(std::errc::not_a_directory));
    const auto synced = sync_folder(above.string());
    return synced ? Result<bool>(is_new) : synced.failure();
}

}  // namespace

Result<bool> make_empty_folder(const std::string& path) {
    if (path.empty()) return Failure{LW_ERR_ARGUMENT, "a folder has no name; name a new one"};
    std::error_code error;
    const auto absolute = fs::absolute(path, error);
    if (error) return cannot_make(path, error);
    auto folder = absolute.lexically_normal();
    // What ends in a slash is the folder before it.
    if (!folder.has_filename()) folder = folder.parent_path();
    const auto made = make_folder(folder);
    if (!made) return made;
    if (!fs::is_empty(path, error))
        return Failure{LW_ERR_ARGUMENT, path + " is not empty; name a new folder"};
    return made;
}

std::string new_id() {
    std::random_device random;
    return checksum_text(std::uint64_t{random()} << 32 | random());
}

Outcome claim_folder(const std::string& path, const std::string& id) {
    const auto name = path + "/" + owner_name;
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST)
        return Failure{LW_ERR_ARGUMENT, path + " is not empty; name a new folder"};
    if (file < 0) return system_failure("create", name);
    ::close(file);
    const auto line = id + "\n";
    const auto written = replace_file(name, line.data(), line.size());
    if (!written) ::unlink(name.c_str());
    return written;
}

Outcome check_owner(const std::string& path, const std::string& id) {
    const auto line = read_file(path + "/" + owner_name);
    if (!line && line.failure().status != LW_ERR_NOT_FOUND) return line.failure();
    if (!line)
        return Failure{LW_ERR_NOT_FOUND,
                       "disk " + path + " has no file " + owner_name + "; mount the right disk"};
    if (*line == id + "\n") return Done{};
    return Failure{LW_ERR_NOT_FOUND, "disk " + path + " is another store's; mount the right disk"};
}

NewFolders::NewFolders(const std::vector<std::string>& folders) {
    for (const auto& path : folders) {
        std::error_code ignored;
        folders_.push_back({path, fs::exists(path, ignored)});
    }
}

NewFolders::~NewFolders() {
    std::error_code ignored;
    for (const auto& folder : folders_) {
        if (!folder.is_own) continue;
        fs::directory_iterator entry(folder.path, ignored);
        for (; entry != fs::directory_iterator(); entry.increment(ignored))
            fs::remove_all(entry->path(), ignored);
        if (!folder.was_there) fs::remove(folder.path, ignored);
    }
}

void NewFolders::own(const std::string& path) {
    for (auto& folder : folders_) folder.is_own = folder.is_own || folder.path == path;
}

void NewFolders::own() {
    for (auto& folder : folders_) folder.is_own = true;
}

}  // namespace lanewise::wavefront
