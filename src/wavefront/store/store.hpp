// SPDX-License-Identifier: BSD-3-Clause
//
// Store: a folder of matrices in strips, each strip with its checksum.
//
//     demo/manifest.json        shape, and which generation of each matrix is committed
//     demo/u.a.0, u.a.1, ...    strips of matrix u, generation a, one file per disk
//     demo/u.a.sums             the checksum of each strip
//     demo/row0.SUM.values      a coefficient that is one value for each row, by its checksum
//     demo/lock                 held while a program changes the store
//
// A store may also be in memory: its files have no names that others see, and are gone when it is
// closed.
//
// A program that changes the store writes the generation that is not committed. One that reads
// holds a shared lock on the files of the committed one, and a change waits for it before it writes
// them.
//
// With several disks strip s lies on disk s mod disks. Where rows are too long to be held, a strip
// is cut into tiles, which are then what is transferred and has a checksum.

#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "wavefront/store/anonymous_files.hpp"
#include "wavefront/store/disk_queue.hpp"
#include "wavefront/store/manifest.hpp"

namespace lanewise::wavefront {

/* The page cache is bypassed where the file system takes direct I/O. */
enum class Caching { bypassed, page_cache };

/* The open files of one generation of one matrix. */
class StripFiles {
  public:
    struct Place {
        int file = -1;
        std::uint64_t offset = 0;
    };

    StripFiles() = default;
    StripFiles(std::vector<int> files, const MatrixShape& shape)
        : files_(std::move(files)),
          tile_bytes_(tile_bytes(shape)),
          tiles_in_strip_(shape.tiles_in_strip()) {}
    StripFiles(StripFiles&& other) noexcept { swap(other); }
    StripFiles& operator=(StripFiles&& other) noexcept {
        swap(other);
        return *this;
    }
    /* Lets go of the locks of its files, which a child of fork would keep otherwise. */
    ~StripFiles();

    /* Takes the file of the next disk, and closes it with the others. */
    void add(int file) { files_.push_back(file); }

    Place place(std::uint64_t tile) const {
        const auto strip = tile / tiles_in_strip_;
        const auto before = strip / files_.size() * tiles_in_strip_ + tile % tiles_in_strip_;
        return {files_[strip % files_.size()], before * tile_bytes_};
    }
    Outcome sync() const;
    /* page_cache: some of them go through it. */
    Caching caching() const;
    /* Where the strips of these files may lie in memory, so that the page cache stays bypassed. */
    Placement placement(const FileCalls& calls = system_calls()) const;

  private:
    void swap(StripFiles& other) noexcept {
        files_.swap(other.files_);
        std::swap(tile_bytes_, other.tile_bytes_);
        std::swap(tiles_in_strip_, other.tiles_in_strip_);
        std::swap(process_, other.process_);
    }
    std::vector<int> files_;
    std::uint64_t tile_bytes_ = 0;
    std::uint64_t tiles_in_strip_ = 1;
    pid_t process_ = ::getpid();
};

enum class Access { reading, changing };

class Store {
  public:
    /* Makes the folder and an empty store in it; refuses a folder that is not empty. */
    static Result<Store> create(const std::string& folder, const MatrixShape& shape,
                                const std::vector<std::string>& names,
                                const std::vector<std::string>& disks);
    /* The same without a folder. */
    static Result<Store> create_in_memory(const MatrixShape& shape,
                                          const std::vector<std::string>& names);
    /* `changing` locks the store; a second program that wants to change it is refused. `reading`
     * keeps the generation that is committed now until the store is closed. */
    static Result<Store> open(const std::string& folder, Access access);

    Store(Store&& other) noexcept;
    Store& operator=(Store&& other) noexcept;
    /* Unlocks the store, too, unless this is a child of the process that opened it. */
    ~Store();

    const std::string& folder() const { return folder_; }
    const Manifest& manifest() const { return manifest_; }
    const MatrixShape& shape() const { return manifest_.shape; }
    Result<std::uint32_t> matrix_named(const std::string& name) const;

    /* Fails where the store was opened for reading. */
    Outcome check_changing() const;
    /* The name of a matrix, or of a vector, by its number. */
    const std::string& name_of(std::uint32_t number) const;
    /* Whether `path` is where the store has a file, or may come to have one. */
    bool has_file(const std::string& path) const;
    /* The file of vector `vector`, 0 being the first, once its checksum is `sum`. */
    std::string vector_path(std::uint32_t vector, const std::string& sum) const;
    /* Reads `size` bytes of the file at `path`, whose checksum the manifest says is `sum`. */
    Outcome read_file(const std::string& path, void *to, std::size_t size,
                      const std::string& sum) const;
    /* Writes it so that a crash leaves the former file or this one. */
    Outcome write_file(const std::string& path, const void *bytes, std::size_t size) const;
    /* Removes such a file that the manifest does not name, unless others still read it. */
    void drop_vector(std::uint32_t vector, const std::string& sum) const;
    /* The committed generation, for reading. */
    Result<StripFiles> open_current(std::uint32_t matrix) const;
    /* The other generation of a store that is open for changing, with room reserved on the disk;
     * waits for its readers until `stop` is true. */
    Result<StripFiles> open_next(std::uint32_t matrix,
                                 const std::atomic<bool> *stop = nullptr) const;
    /* A file beside the data whose contents nobody keeps. */
    Result<StripFiles> open_scratch(const std::string& name) const;
    char next_generation(std::uint32_t matrix) const;
    std::string tile_name(std::uint32_t matrix, std::uint64_t tile) const;

    Result<std::vector<std::uint64_t>> read_sums(std::uint32_t matrix) const;
    /* Writes the checksums of the next generation; returns the text that the manifest keeps. */
    Result<std::string> write_next_sums(std::uint32_t matrix,
                                        const std::vector<std::uint64_t>& sums) const;
    /* Replaces the manifest on the disk atomically; check_changing says where it does not. */
    Outcome commit(const Manifest& manifest);
    /* Removes the generation of `matrix` that is not committed, unless others still read it. */
    void drop_other_generation(std::uint32_t matrix) const;
    /* Removes what a part keeps of its former state and of the halos that it sent. */
    Outcome forget_former() const;
    /* Keeps a copy of the committed manifest; its generation stays until the pass after next. */
    Outcome keep_former() const;
    /* Commits that former state again, in which the data had gone through `iterations`. */
    Outcome go_back(std::uint64_t iterations);

  private:
    Store(std::string folder, Manifest manifest, int lock)
        : folder_(std::move(folder)), manifest_(std::move(manifest)), lock_(lock) {}
    /* Whether the committed generation is held; not where it was replaced meanwhile. */
    Result<bool> hold_generation();
    void let_go();
    int open_strips(const std::string& path, int flags) const;
    Outcome prepare_next(int file, const std::string& path, std::size_t disk,
                         const std::atomic<bool> *stop) const;
    void drop_file(const std::string& path) const;
    std::string disk_path(std::size_t disk) const;
    std::string strip_path(std::uint32_t matrix, char generation, std::size_t disk) const;
    std::string file_stem(std::uint32_t matrix, char generation) const;

    std::string folder_; /* what messages call it, where it is in memory */
    Manifest manifest_;
    std::unique_ptr<AnonymousFiles> anonymous_; /* null: on disks */
    int lock_ = -1;
    std::vector<int> held_; /* files of the generation that a reader keeps from being replaced */
    pid_t process_ = ::getpid();
};

}  // namespace lanewise::wavefront
