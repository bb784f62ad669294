// SPDX-License-Identifier: BSD-3-Clause
//
// See store.hpp.

#include "wavefront/store/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/json.hpp"
#include "wavefront/store/checksum.hpp"
#include "wavefront/store/folders.hpp"

namespace lanewise::wavefront {
namespace {

namespace fs = std::filesystem;

// Direct where the file system takes it, so that the page cache is left to others; StripFiles says
// which it became.
int open_direct(const std::string& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_DIRECT | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EINVAL) return file;
    return ::open(path.c_str(), flags | O_CLOEXEC, 0666);
}

bool is_direct(int file) {
    return (::fcntl(file, F_GETFL) & O_DIRECT) != 0;
}

std::uint64_t page_bytes() {
    return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Whether the page cache has the beginning of a file.
bool is_cached(int file) {
    void *const page = ::mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) return true;
    unsigned char cached = 1;
    const bool known = ::mincore(page, page_bytes(), &cached) == 0;
    ::munmap(page, page_bytes());
    return !known || (cached & 1) != 0;
}

// What was written a moment ago stays until it is on the disk.
void drop_from_cache(int file) {
    ::sync_file_range(
        file, 0, static_cast<off_t>(page_bytes()),
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    ::posix_fadvise(file, 0, static_cast<off_t>(page_bytes()), POSIX_FADV_DONTNEED);
}

enum class Path { refused, through_cache, direct };

// How a file's first block is read to that address.
Path path_of_reading(int file, std::byte *to, const FileCalls& calls) {
    drop_from_cache(file);
    if (calls.read(file, to, disk_block_bytes, 0) < 0 && errno == EINVAL) return Path::refused;
    const bool cached = is_cached(file);
    drop_from_cache(file);
    return cached ? Path::through_cache : Path::direct;
}

// Linux before 6.1 does not tell which addresses a file takes, and Btrfs never does: it reads and
// writes through the page cache what does not begin with a block. So a block is read.
bool takes_staggered(int file, const FileCalls& calls) {
    if (!is_direct(file)) return true;
    alignas(disk_block_bytes) std::array<std::byte, 2 * disk_block_bytes> blocks;
    const auto staggered = path_of_reading(file, blocks.data() + stagger_bytes, calls);
    if (staggered != Path::through_cache) return staggered == Path::direct;
    // A file system in memory, such as tmpfs, has nothing but the cache.
    return path_of_reading(file, blocks.data(), calls) == Path::through_cache;
}

Outcome reserve_room(int file, std::uint64_t bytes, const std::string& path) {
    int error = EINTR;
    // In memory a signal ends it, and what was reserved till then is given back.
    while (error == EINTR) error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
    if (error == 0 || error == EOPNOTSUPP || error == EINVAL) return Done{};
    constexpr std::uint64_t mebibyte = 1 << 20;
    const auto needed = std::to_string((bytes + mebibyte - 1) / mebibyte);
    errno = error;
    return system_failure("reserve " + needed + " MiB for", path);
}

// File systems without locks are read and written as they are.
bool lock_shared(int file) {
    return ::flock(file, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// The lock is that of the open file, which a child of fork has as well: closing it is not enough,
// and a child must not let go of what its parent holds.
void unlock_and_close(int file, pid_t process) {
    if (::getpid() == process) ::flock(file, LOCK_UN);
    ::close(file);
}

void pause_for_others() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// Waits for those that read the generation which is about to be replaced.
Outcome lock_alone(int file, const std::atomic<bool> *stop) {
    while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return Done{};
        if (stop && stop->load(std::memory_order_acquire))
            return Failure{LW_ERR_OPERATION, "stopped while others read the store"};
        pause_for_others();
    }
    return Done{};
}

bool same_generations(const Manifest& one, const Manifest& other) {
    return std::equal(one.matrices.begin(), one.matrices.end(), other.matrices.begin(),
                      other.matrices.end(),
                      [](const auto& a, const auto& b) {
                          return a.generation == b.generation && a.sums == b.sums;
                      }) &&
           std::equal(one.vectors.begin(), one.vectors.end(), other.vectors.begin(),
                      other.vectors.end(),
                      [](const auto& a, const auto& b) { return a.sum == b.sum; });
}

// Of a store that holds no values yet.
Result<Manifest> empty_manifest(const MatrixShape& shape, const std::vector<std::string>& names) {
    const auto sound = check_shape(shape);
    if (!sound) return sound.failure();
    const auto named = check_names(shape, names);
    if (!named) return named.failure();
    Manifest manifest;
    manifest.shape = shape;
    manifest.disks = {"."};
    for (std::uint32_t n = 0; n < names.size(); ++n) {
        if (shape.is_vector(n))
            manifest.vectors.push_back({names[n], ""});
        else
            manifest.matrices.push_back({names[n], 'b', ""});
    }
    return manifest;
}

Result<int> take_lock(const std::string& folder) {
    const auto path = folder + "/lock";
    const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0) return system_failure("open", path);
    int locked = 0;
    do locked = ::flock(lock, LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    // File systems without locks are used as they are, as by those who read.
    if (locked == 0 || errno != EWOULDBLOCK) return lock;
    ::close(lock);
    return Failure{LW_ERR_LIMIT,
                   folder + " is being changed by another program; wait until it ends"};
}

// Whether a file has halos that a rank has received, which are numbered; a matrix may be called so
// as well. The second is their name in stores of earlier versions.
bool is_of_halos(const std::string& name) {
    // While one is written it ends so (replace_file).
    constexpr std::string_view unfinished = ".next";
    const auto whole =
        name.ends_with(unfinished) ? name.substr(0, name.size() - unfinished.size()) : name;
    for (const std::string start : {"halos.", "frontiers."}) {
        if (whole.starts_with(start) && whole.size() > start.size() &&
            whole.find_first_not_of("0123456789", start.size()) == std::string::npos)
            return true;
    }
    return false;
}

// Strips of `count` that fall to disk `disk` of `disks`.
std::uint64_t strips_on(std::uint64_t count, std::size_t disk, std::size_t disks) {
    return count / disks + (disk < count % disks ? 1 : 0);
}

// What is made for a store, which is removed again where the store cannot be.
class Making {
  public:
    Making() = default;
    ~Making() {
        std::error_code ignored; /* somebody else may have made something there */
        for (auto path = made_.rbegin(); path != made_.rend(); ++path) fs::remove(*path, ignored);
    }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

    Outcome make(const std::string& folder) {
        const auto made = make_empty_folder(folder);
        if (!made) return made.failure();
        if (*made) made_.push_back(folder);
        return Done{};
    }
    Outcome make_on_disk(const std::string& folder, const std::string& id) {
        const auto made = make(folder);
        if (!made) return made;
        const auto claimed = claim_folder(folder, id);
        if (claimed) add(folder + "/" + owner_name);
        return claimed;
    }
    void add(const std::string& path) { made_.push_back(path); }
    void keep() { made_.clear(); }

  private:
    std::vector<std::string> made_;
};

Outcome check_disks(const std::string& folder, const Manifest& manifest) {
    for (const auto& disk : manifest.disks) {
        if (disk == ".") continue;
        std::error_code unknown;
        if (!fs::is_directory(disk, unknown))
            return Failure{LW_ERR_NOT_FOUND, folder + ": disk " + disk + " is missing; mount it"};
        // Stores from before disks were marked have no id.
        const auto owned = manifest.id.empty() ? Outcome(Done{}) : check_owner(disk, manifest.id);
        if (!owned)
            return Failure{owned.failure().status, folder + ": " + owned.failure().sentence};
    }
    return Done{};
}

/* How many of `size` bytes a file has; -1, and errno, where it cannot be read. */
ssize_t read_some(int file, std::byte *to, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
        const auto moved = ::read(file, to + done, size - done);
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return -1;
        if (moved == 0) break;
        done += static_cast<std::size_t>(moved);
    }
    return static_cast<ssize_t>(done);
}

}  // namespace

StripFiles::~StripFiles() {
    for (const int file : files_) unlock_and_close(file, process_);
}

Outcome StripFiles::sync() const {
    for (const int file : files_) {
        if (::fdatasync(file) != 0) return system_failure("sync", "strips");
    }
    return Done{};
}

Caching StripFiles::caching() const {
    const bool direct = std::all_of(files_.begin(), files_.end(), is_direct);
    return direct ? Caching::bypassed : Caching::page_cache;
}

Placement StripFiles::placement(const FileCalls& calls) const {
    const bool taken = std::all_of(files_.begin(), files_.end(),
                                   [&](int file) { return takes_staggered(file, calls); });
    return taken ? Placement::staggered : Placement::whole_blocks;
}

Store::Store(Store&& other) noexcept
    : folder_(std::move(other.folder_)),
      manifest_(std::move(other.manifest_)),
      anonymous_(std::move(other.anonymous_)),
      lock_(std::exchange(other.lock_, -1)),
      held_(std::exchange(other.held_, {})),
      process_(other.process_) {}

Store& Store::operator=(Store&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(manifest_, other.manifest_);
    std::swap(anonymous_, other.anonymous_);
    std::swap(lock_, other.lock_);
    held_.swap(other.held_);
    std::swap(process_, other.process_);
    return *this;
}

Store::~Store() {
    let_go();
    if (lock_ >= 0) unlock_and_close(lock_, process_);
}

void Store::let_go() {
    for (const int file : held_) unlock_and_close(file, process_);
    held_.clear();
}

Result<bool> Store::hold_generation() {
    const auto hold = [&](const std::string& path) -> Result<bool> {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        // A file that is missing is reported by whoever wants what is in it.
        if (file < 0 && errno == ENOENT) return true;
        if (file < 0) return system_failure("open", path);
        held_.push_back(file);
        return lock_shared(file);
    };
    for (std::uint32_t v = 0; v < manifest_.vectors.size(); ++v) {
        const auto& sum = manifest_.vectors[v].sum;
        if (sum.empty()) continue;
        const auto held = hold(vector_path(v, sum));
        if (!held || !*held) return held;
    }
    for (std::uint32_t m = 0; m < manifest_.matrices.size(); ++m) {
        if (manifest_.matrices[m].sums.empty()) continue;
        for (std::size_t disk = 0; disk < manifest_.disks.size(); ++disk) {
            const auto held = hold(strip_path(m, manifest_.matrices[m].generation, disk));
            if (!held || !*held) return held;
        }
    }
    const auto now = read_manifest(folder_);
    if (!now) return now.failure();
    return same_generations(*now, manifest_);
}

Result<Store> Store::create(const std::string& folder, const MatrixShape& shape,
                            const std::vector<std::string>& names,
                            const std::vector<std::string>& disks) {
    auto described = empty_manifest(shape, names);
    if (!described) return described.failure();
    auto& manifest = *described;
    Making making;
    const auto made = making.make(folder);
    if (!made) return made.failure();
    if (!disks.empty()) manifest.id = new_id();
    for (const auto& disk : disks) {
        const auto other = making.make_on_disk(disk, manifest.id);
        if (!other) return other.failure();
        manifest.disks.push_back(fs::absolute(disk).string());
        if (!is_text(manifest.disks.back()))
            return Failure{LW_ERR_ARGUMENT, "disk " + disk + " is not UTF-8; name another"};
    }
    const auto lock = take_lock(folder);
    if (!lock) return lock.failure();
    Store store(folder, manifest, *lock);
    // Another program may have made a store there between our look and our lock.
    if (fs::exists(folder + "/manifest.json"))
        return Failure{LW_ERR_ARGUMENT, folder + " is not empty; name a new folder"};
    making.add(folder + "/lock");
    const auto written = store.commit(manifest);
    if (!written) return written.failure();
    making.keep();
    return store;
}

Result<Store> Store::create_in_memory(const MatrixShape& shape,
                                      const std::vector<std::string>& names) {
    const auto manifest = empty_manifest(shape, names);
    if (!manifest) return manifest.failure();
    Store store("the store in memory", *manifest, -1);
    store.anonymous_ = std::make_unique<AnonymousFiles>();
    return store;
}

Result<Store> Store::open(const std::string& folder, Access access) {
    auto manifest = read_manifest(folder);
    if (!manifest) return manifest.failure();
    const auto there = check_disks(folder, *manifest);
    if (!there) return there.failure();
    while (access == Access::reading) {
        Store store(folder, *manifest, -1);
        const auto held = store.hold_generation();
        if (!held) return held.failure();
        if (*held) return store;
        pause_for_others();
        manifest = read_manifest(folder);
        if (!manifest) return manifest.failure();
    }
    const auto lock = take_lock(folder);
    if (!lock) return lock.failure();
    // Read again: another program may have finished between the first look and the lock.
    manifest = read_manifest(folder);
    if (!manifest) return manifest.failure();
    return Store(folder, *manifest, *lock);
}

Result<std::uint32_t> Store::matrix_named(const std::string& name) const {
    std::string known;
    for (std::uint32_t n = 0; n < shape().number_count(); ++n) {
        if (name_of(n) == name) return n;
        known += (known.empty() ? "" : ", ") + name_of(n);
    }
    return Failure{LW_ERR_NOT_FOUND,
                   folder_ + " has no matrix \"" + name + "\"; there are " + known};
}

const std::string& Store::name_of(std::uint32_t number) const {
    const auto matrices = shape().matrix_count();
    return shape().is_vector(number) ? manifest_.vectors[number - matrices].name
                                     : manifest_.matrices[number].name;
}

bool Store::has_file(const std::string& path) const {
    // A descriptor, as /dev/stdout is, leads to the file that it has open.
    std::error_code unknown;
    auto file = fs::canonical(path, unknown);
    if (unknown) file = fs::absolute(path);
    const auto name = file.filename().string();
    const auto folder = file.parent_path();
    const bool is_inside =
        std::any_of(manifest_.disks.begin(), manifest_.disks.end(), [&](const std::string& disk) {
            std::error_code missing;
            return fs::equivalent(folder, disk == "." ? folder_ : disk, missing);
        });
    if (!is_inside) return false;
    for (std::uint32_t m = 0; m < manifest_.matrices.size(); ++m) {
        if (name.starts_with(file_stem(m, 'a') + ".") || name.starts_with(file_stem(m, 'b') + "."))
            return true;
    }
    return name == "lock" || name == owner_name || name.starts_with("manifest.") ||
           name.ends_with(".values") || is_of_halos(name);
}

std::string Store::vector_path(std::uint32_t vector, const std::string& sum) const {
    return folder_ + "/" + manifest_.vectors[vector].name + "." + sum + ".values";
}

Outcome Store::read_file(const std::string& path, void *to, std::size_t size,
                         const std::string& sum) const {
    bool whole = false;
    if (anonymous_) {
        whole = anonymous_->read(path, to, size);
    } else {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0 && errno != ENOENT) return system_failure("open", path);
        const auto done = file < 0 ? 0 : read_some(file, static_cast<std::byte *>(to), size);
        const auto failure = system_failure("read", path);
        if (file >= 0) ::close(file);
        if (done < 0) return failure;
        whole = done == static_cast<ssize_t>(size);
    }
    if (whole && checksum_text(checksum(to, size)) == sum) return Done{};
    return Failure{LW_ERR_IO, path +
                                  " is damaged: it is not what the manifest says; restore the "
                                  "store from a copy"};
}

Outcome Store::write_file(const std::string& path, const void *bytes, std::size_t size) const {
    return anonymous_ ? anonymous_->replace(path, bytes, size) : replace_file(path, bytes, size);
}

void Store::drop_vector(std::uint32_t vector, const std::string& sum) const {
    if (sum.empty() || sum == manifest_.vectors[vector].sum) return;
    const auto path = vector_path(vector, sum);
    if (anonymous_) return anonymous_->remove(path);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    ::close(file);
}

int Store::open_strips(const std::string& path, int flags) const {
    if (!anonymous_) return open_direct(path, flags);
    return anonymous_->open(path, flags & O_CREAT ? Missing::made : Missing::refused);
}

std::string Store::disk_path(std::size_t disk) const {
    return manifest_.disks[disk] == "." ? folder_ : manifest_.disks[disk];
}

std::string Store::strip_path(std::uint32_t matrix, char generation, std::size_t disk) const {
    return disk_path(disk) + "/" + file_stem(matrix, generation) + "." + std::to_string(disk);
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
    StripFiles opened({}, shape());
    for (std::size_t disk = 0; disk < manifest_.disks.size(); ++disk) {
        const auto path = strip_path(matrix, entry.generation, disk);
        const int file = open_strips(path, O_RDONLY);
        if (file < 0) return system_failure("open", path);
        opened.add(file);
    }
    return opened;
}

Outcome Store::check_changing() const {
    if (lock_ >= 0 || anonymous_) return Done{};
    return Failure{LW_ERR_ARGUMENT,
                   folder_ + " was opened for reading; open it for changing to do this"};
}

Outcome Store::prepare_next(int file, const std::string& path, std::size_t disk,
                            const std::atomic<bool> *stop) const {
    if (file < 0) return system_failure("create", path);
    const auto alone = lock_alone(file, stop);
    if (!alone) return alone;
    const auto bytes = tile_bytes(shape()) * shape().tiles_in_strip() *
                       strips_on(shape().strip_count(), disk, manifest_.disks.size());
    const auto room = reserve_room(file, bytes, path);
    // The name of a new file must outlive a power cut before a manifest names it.
    return room && !anonymous_ ? sync_folder(disk_path(disk)) : room;
}

Result<StripFiles> Store::open_next(std::uint32_t matrix, const std::atomic<bool> *stop) const {
    const auto changing = check_changing();
    if (!changing) return changing.failure();
    StripFiles opened({}, shape());
    for (std::size_t disk = 0; disk < manifest_.disks.size(); ++disk) {
        const auto path = strip_path(matrix, next_generation(matrix), disk);
        const int file = open_strips(path, O_RDWR | O_CREAT);
        const auto room = prepare_next(file, path, disk, stop);
        if (file >= 0) opened.add(file);
        if (!room) {
            opened = StripFiles({}, shape());
            drop_other_generation(matrix);
            return room.failure();
        }
    }
    return opened;
}

Result<StripFiles> Store::open_scratch(const std::string& name) const {
    const auto path = folder_ + "/" + name;
    const int file = open_strips(path, O_RDWR | O_CREAT);
    if (file < 0) return system_failure("create", path);
    return StripFiles({file}, shape());
}

Result<std::vector<std::uint64_t>> Store::read_sums(std::uint32_t matrix) const {
    const auto& entry = manifest_.matrices[matrix];
    const auto path = folder_ + "/" + file_stem(matrix, entry.generation) + ".sums";
    std::vector<std::uint64_t> sums(shape().tile_count());
    const auto bytes = sums.size() * sizeof(std::uint64_t);
    const auto read = read_file(path, sums.data(), bytes, entry.sums);
    if (!read) return read.failure();
    return sums;
}

Result<std::string> Store::write_next_sums(std::uint32_t matrix,
                                           const std::vector<std::uint64_t>& sums) const {
    const auto path = folder_ + "/" + file_stem(matrix, next_generation(matrix)) + ".sums";
    const auto bytes = sums.size() * sizeof(std::uint64_t);
    const auto written = write_file(path, sums.data(), bytes);
    if (!written) return written.failure();
    return checksum_text(checksum(sums.data(), bytes));
}

Outcome Store::commit(const Manifest& manifest) {
    const auto changing = check_changing();
    if (!changing) return changing;
    if (anonymous_) {
        manifest_ = manifest;
        return Done{};
    }
    const auto written = write_manifest(folder_, manifest);
    if (written) {
        manifest_ = manifest;
        return Done{};
    }
    // Where the new manifest is in place although it could not be synced, it names what is
    // committed: the next change must not write over that.
    const auto now = read_manifest(folder_);
    if (now) manifest_ = *now;
    return written;
}

void Store::drop_file(const std::string& path) const {
    if (anonymous_)
        anonymous_->remove(path);
    else
        ::unlink(path.c_str());
}

void Store::drop_other_generation(std::uint32_t matrix) const {
    const auto generation = next_generation(matrix);
    bool dropped = true;
    for (std::size_t disk = 0; disk < manifest_.disks.size(); ++disk) {
        const auto path = strip_path(matrix, generation, disk);
        const int file = open_strips(path, O_RDONLY);
        if (file < 0) continue;
        const bool alone = ::flock(file, LOCK_EX | LOCK_NB) == 0;
        if (alone) drop_file(path);
        dropped = dropped && alone;
        ::close(file);
    }
    if (dropped) drop_file(folder_ + "/" + file_stem(matrix, generation) + ".sums");
}

Outcome Store::forget_former() const {
    if (anonymous_) return Done{};
    bool any = false;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_, error)) {
        const auto name = entry.path().filename().string();
        if (!is_of_halos(name) && name != former_manifest_name) continue;
        if (::unlink(entry.path().c_str()) != 0)
            return system_failure("remove", entry.path().string());
        any = true;
    }
    return any ? sync_folder(folder_) : Outcome(Done{});
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
