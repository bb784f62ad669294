// SPDX-License-Identifier: BSD-3-Clause
//
// See store.hpp.

#include "wavefront/store/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "wavefront/store/checksum.hpp"

namespace lanewise::wavefront {
namespace {

namespace fs = std::filesystem;

Failure system_failure(const std::string& doing, const std::string& path) {
    return {LW_ERR_IO, "cannot " + doing + " " + path + ": " + std::strerror(errno)};
}

// Direct where the file system takes it, so that the page cache is left to others.
int open_direct(const std::string& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_DIRECT | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EINVAL) return file;
    return ::open(path.c_str(), flags | O_CLOEXEC, 0666);
}

Outcome reserve_room(int file, std::uint64_t bytes, const std::string& path) {
    const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
    if (error == 0 || error == EOPNOTSUPP || error == EINVAL) return Done{};
    errno = error;
    auto failure = system_failure("reserve room for", path);
    if (error == ENOSPC) failure.sentence += "; free " + std::to_string(bytes >> 20) + " MiB there";
    return failure;
}

Result<int> take_lock(const std::string& folder) {
    const auto path = folder + "/lock";
    const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0) return system_failure("open", path);
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
    ::close(lock);
    return Failure{LW_ERR_LIMIT,
                   folder + " is being changed by another program; wait until it ends"};
}

// Strips of `count` that fall to disk `disk` of `disks`.
std::uint64_t strips_on(std::uint64_t count, std::size_t disk, std::size_t disks) {
    return count / disks + (disk < count % disks ? 1 : 0);
}

Outcome check_names(const MatrixShape& shape, const std::vector<std::string>& names) {
    if (names.size() != shape.matrix_count())
        return Failure{LW_ERR_ARGUMENT, std::to_string(names.size()) + " names for " +
                                            std::to_string(shape.matrix_count()) + " matrices"};
    for (const auto& name : names) {
        const bool sound = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
        });
        if (!sound || std::count(names.begin(), names.end(), name) > 1)
            return Failure{LW_ERR_ARGUMENT, "matrix name \"" + name +
                                                "\" is not of letters and digits, or stands twice"};
    }
    return Done{};
}

Outcome make_empty_folder(const std::string& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (!fs::is_directory(path))
        return Failure{LW_ERR_ARGUMENT, "cannot make the folder " + path + "; name another"};
    if (!fs::is_empty(path, error))
        return Failure{LW_ERR_ARGUMENT, path + " is not empty; name a new folder"};
    return Done{};
}

}  // namespace

StripFiles::~StripFiles() {
    for (const int file : files_) ::close(file);
}

Outcome StripFiles::sync() const {
    for (const int file : files_) {
        if (::fdatasync(file) != 0) return system_failure("sync", "strips");
    }
    return Done{};
}

Store::Store(Store&& other) noexcept
    : folder_(std::move(other.folder_)),
      manifest_(std::move(other.manifest_)),
      lock_(std::exchange(other.lock_, -1)) {}

Store& Store::operator=(Store&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(manifest_, other.manifest_);
    std::swap(lock_, other.lock_);
    return *this;
}

Store::~Store() {
    if (lock_ >= 0) ::close(lock_);
}

Result<Store> Store::create(const std::string& folder, const MatrixShape& shape,
                            const std::vector<std::string>& names,
                            const std::vector<std::string>& disks) {
    const auto sound = check_shape(shape);
    if (!sound) return sound.failure();
    const auto named = check_names(shape, names);
    if (!named) return named.failure();
    Manifest manifest;
    manifest.shape = shape;
    for (const auto& name : names) manifest.matrices.push_back({name, 'b', ""});
    const auto made = make_empty_folder(folder);
    if (!made) return made.failure();
    manifest.disks = {"."};
    for (const auto& disk : disks) {
        const auto other = make_empty_folder(disk);
        if (!other) return other.failure();
        manifest.disks.push_back(fs::absolute(disk).string());
    }
    const auto lock = take_lock(folder);
    if (!lock) return lock.failure();
    Store store(folder, manifest, *lock);
    const auto written = store.commit(manifest);
    if (!written) return written.failure();
    return store;
}

Result<Store> Store::open(const std::string& folder, Access access) {
    auto manifest = read_manifest(folder);
    if (!manifest) return manifest.failure();
    for (const auto& disk : manifest->disks) {
        if (disk != "." && !fs::is_directory(disk))
            return Failure{LW_ERR_NOT_FOUND, folder + ": disk " + disk + " is missing; mount it"};
    }
    if (access == Access::reading) return Store(folder, *manifest, -1);
    const auto lock = take_lock(folder);
    if (!lock) return lock.failure();
    // Read again: another program may have finished between the first look and the lock.
    manifest = read_manifest(folder);
    if (!manifest) return manifest.failure();
    return Store(folder, *manifest, *lock);
}

Result<std::uint32_t> Store::matrix_named(const std::string& name) const {
    std::string known;
    for (std::uint32_t m = 0; m < manifest_.matrices.size(); ++m) {
        if (manifest_.matrices[m].name == name) return m;
        known += (known.empty() ? "" : ", ") + manifest_.matrices[m].name;
    }
    return Failure{LW_ERR_NOT_FOUND,
                   folder_ + " has no matrix \"" + name + "\"; there are " + known};
}

std::string Store::disk_path(std::size_t disk) const {
    return manifest_.disks[disk] == "." ? folder_ : manifest_.disks[disk];
}

std::string Store::file_stem(std::uint32_t matrix, char generation) const {
    return manifest_.matrices[matrix].name + "." + generation;
}

std::string Store::tile_name(std::uint32_t matrix, std::uint64_t tile) const {
    const auto& entry = manifest_.matrices[matrix];
    const auto strip = tile / shape().tiles_in_strip();
    const auto column = tile % shape().tiles_in_strip() * shape().tile_columns;
    const auto disk = strip % manifest_.disks.size();
    return "strip " + std::to_string(strip) + " (rows from " +
           std::to_string(strip * shape().strip_rows) +
           (shape().tile_columns ? ", columns from " + std::to_string(column) : "") + ") of " +
           entry.name + ", " + disk_path(disk) + "/" + file_stem(matrix, entry.generation) + "." +
           std::to_string(disk);
}

char Store::next_generation(std::uint32_t matrix) const {
    return manifest_.matrices[matrix].generation == 'a' ? 'b' : 'a';
}

Result<StripFiles> Store::open_current(std::uint32_t matrix) const {
    const auto& entry = manifest_.matrices[matrix];
    if (entry.sums.empty())
        return Failure{LW_ERR_NOT_FOUND, folder_ + ": matrix " + entry.name +
                                             " is empty; fill it with lanewise wavefront import"};
    std::vector<int> files;
    for (std::size_t disk = 0; disk < manifest_.disks.size(); ++disk) {
        const auto path = disk_path(disk) + "/" + file_stem(matrix, entry.generation) + "." +
                          std::to_string(disk);
        const int file = open_direct(path, O_RDONLY);
        if (file < 0) {
            const auto failure = system_failure("open", path);
            StripFiles(std::move(files), shape());
            return failure;
        }
        files.push_back(file);
    }
    return StripFiles(std::move(files), shape());
}

Result<StripFiles> Store::open_next(std::uint32_t matrix) const {
    StripFiles opened;
    std::vector<int> files;
    for (std::size_t disk = 0; disk < manifest_.disks.size(); ++disk) {
        const auto path = disk_path(disk) + "/" + file_stem(matrix, next_generation(matrix)) + "." +
                          std::to_string(disk);
        const int file = open_direct(path, O_RDWR | O_CREAT);
        const auto bytes = tile_bytes(shape()) * shape().tiles_in_strip() *
                           strips_on(shape().strip_count(), disk, manifest_.disks.size());
        const auto room =
            file < 0 ? Outcome(system_failure("create", path)) : reserve_room(file, bytes, path);
        if (file >= 0) files.push_back(file);
        if (!room) {
            StripFiles(std::move(files), shape());
            return room.failure();
        }
    }
    return StripFiles(std::move(files), shape());
}

Result<StripFiles> Store::open_scratch(const std::string& name) const {
    const auto path = folder_ + "/" + name;
    const int file = open_direct(path, O_RDWR | O_CREAT);
    if (file < 0) return system_failure("create", path);
    return StripFiles({file}, shape());
}

Result<std::vector<std::uint64_t>> Store::read_sums(std::uint32_t matrix) const {
    const auto& entry = manifest_.matrices[matrix];
    const auto path = folder_ + "/" + file_stem(matrix, entry.generation) + ".sums";
    std::vector<std::uint64_t> sums(shape().tile_count());
    const auto bytes = static_cast<std::streamsize>(sums.size() * sizeof(std::uint64_t));
    std::ifstream file(path, std::ios::binary);
    if (!file.read(reinterpret_cast<char *>(sums.data()), bytes) ||
        checksum_text(checksum(sums.data(), static_cast<std::size_t>(bytes))) != entry.sums)
        return Failure{LW_ERR_IO, path + " is damaged: it is not what the manifest says; restore " +
                                      "the store from a copy"};
    return sums;
}

Result<std::string> Store::write_next_sums(std::uint32_t matrix,
                                           const std::vector<std::uint64_t>& sums) const {
    const auto path = folder_ + "/" + file_stem(matrix, next_generation(matrix)) + ".sums";
    const auto bytes = sums.size() * sizeof(std::uint64_t);
    const auto written = replace_file(path, sums.data(), bytes);
    if (!written) return written.failure();
    return checksum_text(checksum(sums.data(), bytes));
}

Outcome Store::commit(const Manifest& manifest) {
    const auto written = write_manifest(folder_, manifest);
    if (!written) return written;
    manifest_ = manifest;
    return Done{};
}

Outcome Store::keep_former() const {
    return write_manifest(folder_, manifest_, former_manifest_name);
}

Outcome Store::go_back(std::uint64_t iterations) {
    const auto former = read_manifest(folder_, former_manifest_name);
    if (!former) return former.failure();
    if (former->iterations != iterations)
        return Failure{LW_ERR_IO, folder_ + " cannot go back to iteration " +
                                      std::to_string(iterations) +
                                      ", where another part is; restore all parts from copies"};
    auto manifest = manifest_;
    manifest.matrices = former->matrices;
    manifest.iterations = iterations;
    return commit(manifest);
}

}  // namespace lanewise::wavefront
