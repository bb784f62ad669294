// SPDX-License-Identifier: BSD-3-Clause
//
// A store keeps what it was given, in every layout, and notices what changed
// behind its back.

#include "wavefront/store/store.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/file.hpp"
#include "base/json.hpp"
#include "wavefront/run/run.hpp"
#include "wavefront/store/checksum.hpp"
#include "wavefront/store/folders.hpp"
#include "wavefront/store/memory.hpp"
#include "wavefront/testing/trial.hpp"

/* The most that a call of `write` or `pread` moves, which the system may make less than all. */
static std::size_t moved_max = SIZE_MAX;

/* The call of `fsync` that fails, counted from now on; 0: none. */
static int failing_sync = 0;

/* How many calls of `flock` another's lock has refused. */
static std::atomic<int> locks_refused{0};

// They take the place of those of the C library in this program.
extern "C" int flock(int file, int operation) noexcept {
    const auto status = static_cast<int>(syscall(SYS_flock, file, operation));
    if (status != 0 && errno == EWOULDBLOCK) ++locks_refused;
    return status;
}

extern "C" int fsync(int file) {
    if (failing_sync == 0 || --failing_sync > 0) return static_cast<int>(syscall(SYS_fsync, file));
    errno = EIO;
    return -1;
}
extern "C" ssize_t write(int file, const void *bytes, std::size_t size) {
    return syscall(SYS_write, file, bytes, std::min(size, moved_max));
}
extern "C" ssize_t pread(int file, void *bytes, std::size_t size, off_t offset) {
    return syscall(SYS_pread64, file, bytes, std::min(size, moved_max), offset);
}

namespace lanewise::wavefront {
namespace {

TEST(MemoryTest, BeginsAtAHugePageWhateverItsSize) {
    for (const auto bytes : {std::uint64_t{1}, 3 * disk_block_bytes, huge_page_bytes - 1,
                             huge_page_bytes, 5 * huge_page_bytes + disk_block_bytes}) {
        const auto first = Memory::reserve(bytes);
        const auto second = Memory::reserve(bytes);

        for (const auto *memory : {&first, &second}) {
            ASSERT_TRUE(*memory);
            auto *const begin = (*memory)->begin();
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % huge_page_bytes, 0u);
            EXPECT_EQ((*memory)->bytes(), bytes);
            begin[0] = begin[bytes - 1] = std::byte{1};
        }
    }
}

TEST(ChecksumTest, EveryInstructionSetGivesTheSameSum) {
    std::vector<std::byte> bytes(70000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 3);

    for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 7) {
        for (const auto function : checksum_functions())
            EXPECT_EQ(function(bytes.data(), size), checksum_portable(bytes.data(), size)) << size;
        EXPECT_EQ(checksum(bytes.data(), size), checksum_portable(bytes.data(), size)) << size;
    }
}

using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Medium;

MatrixShape shape_of(std::uint64_t rows, std::uint64_t columns, const Layout *layout,
                     std::uint64_t strip_rows) {
    return {.rows = rows,
            .columns = columns,
            .coefficient_count = 1,
            .layout = layout,
            .strip_rows = strip_rows};
}

void overwrite(const std::string& path, std::streamoff offset, const std::string& bytes) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file << bytes;
}

TEST(ShapeTest, OfMoreBytesThanCanBeCountedIsRefused) {
    for (const auto strip_rows : {1ULL << 62, 1ULL << 60, (1ULL << 60) + 8, 1ULL << 41}) {
        const auto checked = check_shape(shape_of(20, 10, &layouts::row_major, strip_rows));
        ASSERT_FALSE(checked) << strip_rows;
        EXPECT_THAT(checked.failure().sentence, HasSubstr("rows are too large"));
    }
    const auto sides = 1ULL << 40;
    const auto checked = check_shape(shape_of(sides, sides, &layouts::row_major, 8));
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.failure().sentence, HasSubstr("more bytes than a disk can have"));
    EXPECT_TRUE(check_shape(shape_of(1ULL << 26, 1ULL << 26, &layouts::row_major, 8)));
    EXPECT_TRUE(check_shape(shape_of(3, 10, &layouts::row_major, 4096)));
}

TEST(ShapeTest, OfMoreMatricesThanCanBeCountedIsRefused) {
    auto shape = shape_of(20, 10, &layouts::row_major, 4);
    shape.data_count = UINT32_MAX;
    for (const std::uint32_t coefficients : {0U, 1U, 2U, UINT32_MAX}) {
        shape.coefficient_count = coefficients;
        const auto checked = check_shape(shape);
        ASSERT_FALSE(checked) << coefficients;
        EXPECT_THAT(checked.failure().sentence, HasSubstr("at most 64 in all"));
    }
}

TEST(NewFolderTest, WithoutANameIsRefused) {
    for (const char *path : {"", "."}) {
        const auto created =
            Store::create(path, shape_of(4, 4, &layouts::row_major, 4), {"u", "c"}, {""});
        ASSERT_FALSE(created);
        EXPECT_EQ(created.failure().status, LW_ERR_ARGUMENT);
    }
}

TEST(NewFolderTest, OfAStoreThatCannotBeMadeIsAsItWasBefore) {
    const Folder folder;
    std::filesystem::create_directory(folder / "there");
    for (const char *name : {"there", "new"}) {
        const auto shape = shape_of(4, 4, &layouts::row_major, 4);
        EXPECT_FALSE(Store::create(folder / name, shape, {"u", "c"}, {"/proc/nowhere"}));
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder / "there"));
    EXPECT_FALSE(std::filesystem::exists(folder / "new"));
}

TEST(NewFolderTest, KeepsWhatSomebodyElseMadeThereMeanwhile) {
    const Folder folder;
    const std::string path = folder / "s";
    {
        NewFolders refused({path});
        const auto made =
            Store::create(path, shape_of(4, 4, &layouts::row_major, 4), {"u", "c"}, {});
        ASSERT_TRUE(made) << made.failure().sentence;
    }
    EXPECT_TRUE(Store::open(path, Access::changing));
}

TEST(NewFolderTest, IsUndoneWhereItIsOwned) {
    const Folder folder;
    const std::string path = folder / "s";
    const std::string there = folder / "there";
    std::filesystem::create_directory(there);
    {
        NewFolders made({path, there});
        for (const auto& one : {path, there})
            ASSERT_TRUE(Store::create(one, shape_of(4, 4, &layouts::row_major, 4), {"u", "c"}, {}));
        made.own();
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(std::filesystem::is_empty(there));
}

TEST(ManifestTest, InWhichOneCharacterChangedIsRefused) {
    const Folder folder;
    auto store =
        Store::create(folder / "s", shape_of(40, 30, &layouts::row_major, 4), {"u", "c"}, {});
    ASSERT_TRUE(store);
    auto manifest = store->manifest();
    manifest.iterations = 17;
    manifest.kernel = KernelEntry{"sor", {1.5}};
    ASSERT_TRUE(store->commit(manifest));
    const auto path = folder / "s/manifest.json";
    const auto text = *read_file(path);
    ASSERT_TRUE(manifest_from(parse_json(text), path));

    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == ' ' || text[at] == '\n') continue;
        auto changed = text;
        changed[at] = text[at] == '1' ? '2' : '1';
        EXPECT_FALSE(manifest_from(parse_json(changed), path)) << changed.substr(at, 20);
    }
}

TEST(ManifestTest, WithAKeyTwiceIsRefusedWithTheKey) {
    const Folder folder;
    ASSERT_TRUE(
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {}));
    const auto path = folder / "s/manifest.json";
    auto text = *read_file(path);
    text.insert(text.find('{') + 1, "\"rows\": 9,");
    ASSERT_TRUE(write_file(path, text));

    const auto read = read_manifest(folder / "s");

    ASSERT_FALSE(read);
    EXPECT_EQ(read.failure().status, LW_ERR_IO);
    EXPECT_EQ(read.failure().sentence,
              path + ": the key 'rows' is there twice; put a copy of it back");
}

TEST(ManifestTest, ThatWasLaidOutAnewIsReadAndOneWithoutChecksumAsWell) {
    const Folder folder;
    const auto store =
        Store::create(folder / "s", shape_of(40, 30, &layouts::row_major, 4), {"u", "c"}, {});
    ASSERT_TRUE(store);
    auto json = to_json(store->manifest());

    EXPECT_TRUE(manifest_from(parse_json(json.dump()), "manifest.json"));
    json["rows"] = 41;
    EXPECT_FALSE(manifest_from(json, "manifest.json"));
    json.erase("checksum");
    EXPECT_TRUE(manifest_from(json, "manifest.json"));
}

// As the first Lanewise wrote it: before there were parts and tiles.
TEST(StoreTest, ReadsTheManifestOfAnOlderLanewise) {
    const auto json = parse_json(R"({
        "schema": "lanewise-wavefront-store", "version": 1, "rows": 24, "columns": 9,
        "data_count": 1, "coefficient_count": 1, "element": "f32", "byte_order": "little",
        "layout": "frontier", "strip_rows": 8, "iterations": 12, "disks": [".", "/other"],
        "matrices": [{"name": "u", "generation": "b", "sums": "0123456789abcdef"},
                     {"name": "c", "generation": "a", "sums": ""}],
        "run": {"kernel": "sor", "parameters": [1.5], "iterations_wanted": 20,
                "tolerance": 0.5}})");

    const auto manifest = manifest_from(json, "manifest.json");

    ASSERT_TRUE(manifest) << manifest.failure().sentence;
    EXPECT_EQ(manifest->shape.tile_columns, 0u);
    EXPECT_FALSE(manifest->part);
    EXPECT_FALSE(manifest->kernel);
    EXPECT_STREQ(manifest->shape.layout->name, "frontier");
    EXPECT_EQ(manifest->run->iterations_wanted, 20u);
}

TEST(StoreTest, GivesBackWhatItWasGivenInEveryLayout) {
    for (const auto *const layout : {&layouts::row_major, &layouts::skewed}) {
        for (const std::uint64_t rows : {1u, 7u, 8u, 9u, 40u}) {
            const Folder folder(Medium::memory);
            auto store =
                Store::create(folder / "s", shape_of(rows, 13, layout, 16), {"u", "c"}, {});
            ASSERT_TRUE(store) << store.failure().sentence;
            ASSERT_TRUE(fill_with_demo_values(*store, 5));

            auto found = testing::load<double>(*store);

            for (std::uint64_t i = 0; i < rows; ++i) {
                for (std::uint64_t j = 0; j < 13; ++j)
                    EXPECT_EQ(found.at(0, i, j), demo_value(5, 0, i, 13, j));
            }
        }
    }
}

TEST(StoreTest, GivesBackWhatItWasGivenInTilesOfEveryLayout) {
    for (const auto *const layout : store_layouts()) {
        for (const std::uint64_t width : {1u, 5u, 12u, 13u}) {
            const Folder folder(Medium::memory);
            auto shape = shape_of(21, 13, layout, 8);
            shape.tile_columns = width;
            auto store = Store::create(folder / "s", shape, {"u", "c"}, {folder / "second"});
            ASSERT_TRUE(store) << store.failure().sentence;
            ASSERT_TRUE(fill_with_demo_values(*store, 5));
            const auto reopened = Store::open(folder / "s", Access::reading);
            ASSERT_TRUE(reopened) << reopened.failure().sentence;

            auto found = testing::load<double>(*reopened);

            for (std::uint64_t i = 0; i < 21; ++i) {
                for (std::uint64_t j = 0; j < 13; ++j)
                    EXPECT_EQ(found.at(0, i, j), demo_value(5, 0, i, 13, j));
            }
        }
    }
}

TEST(StoreTest, AReaderKeepsItsGenerationUntilItEnds) {
    const Folder folder(Medium::memory);
    const auto shape = shape_of(64, 64, &layouts::row_major, 8);
    auto store = Store::create(folder / "s", shape, {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    std::optional<Store> reader;
    {
        auto opened = Store::open(folder / "s", Access::reading);
        ASSERT_TRUE(opened);
        reader.emplace(std::move(*opened));
    }
    std::atomic<bool> replaced{false};

    // The first change writes the other generation, the second the one that is read.
    ASSERT_TRUE(fill_with_demo_values(*store, 2));
    const int refused_twice = locks_refused + 2;
    std::thread writer([&] {
        EXPECT_TRUE(fill_with_demo_values(*store, 3));
        replaced = true;
    });
    while (locks_refused < refused_twice && !replaced) std::this_thread::yield();
    EXPECT_FALSE(replaced);
    const auto damaged = verify(*reader);
    auto found = testing::load<double>(*reader);
    reader.reset();
    writer.join();

    ASSERT_TRUE(damaged);
    EXPECT_TRUE(damaged->empty());
    EXPECT_EQ(found.at(0, 3, 5), demo_value(1, 0, 3, 64, 5));
    EXPECT_TRUE(replaced);
}

// A child of fork, which waits until the destructor kills it.
class Child {
  public:
    Child() : process_(::fork()) {
        while (process_ == 0) ::pause();
    }
    ~Child() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

  private:
    pid_t process_;
};

TEST(StoreTest, AChildKeepsNoLockOfWhatItsParentCloses) {
    const Folder folder(Medium::memory);
    const auto shape = shape_of(64, 64, &layouts::row_major, 8);
    std::optional<Result<Store>> store(Store::create(folder / "s", shape, {"u", "c"}, {}));
    ASSERT_TRUE(*store && fill_with_demo_values(**store, 1));
    std::optional<Result<Store>> reader(Store::open(folder / "s", Access::reading));
    std::optional<Result<StripFiles>> next((*store)->open_next(0));
    ASSERT_TRUE(*reader && *next);
    const Child child;

    next.reset();
    reader.reset();
    store.reset();

    auto again = Store::open(folder / "s", Access::changing);
    ASSERT_TRUE(again) << again.failure().sentence;
    const std::atomic<bool> stop{true}; /* rather than wait for a lock */
    EXPECT_TRUE(again->open_next(0, &stop));
    ASSERT_TRUE(fill_with_demo_values(*again, 2));
    EXPECT_TRUE(again->open_next(0, &stop));
}

TEST(StoreTest, AChildThatClosesAStoreLeavesItsParentTheLock) {
    const Folder folder(Medium::memory);
    const auto shape = shape_of(64, 64, &layouts::row_major, 8);
    std::optional<Result<Store>> store(Store::create(folder / "s", shape, {"u", "c"}, {}));
    ASSERT_TRUE(*store);
    const pid_t child = ::fork();
    if (child == 0) {
        store.reset();
        _exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);

    EXPECT_FALSE(Store::open(folder / "s", Access::changing));
}

TEST(StoreTest, AMatrixThatIsWrittenAgainKeepsOneGeneration) {
    const Folder folder(Medium::memory);
    const auto shape = shape_of(64, 64, &layouts::row_major, 8);
    auto store = Store::create(folder / "s", shape, {"u", "c"}, {folder / "second"});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    ASSERT_TRUE(fill_with_demo_values(*store, 2));

    for (const std::string& disk : {folder / "s", folder / "second"}) {
        for (const auto& file : std::filesystem::directory_iterator(disk))
            EXPECT_EQ(file.path().string().find(".a."), std::string::npos) << file.path();
    }
    const auto damaged = verify(*store);
    ASSERT_TRUE(damaged);
    EXPECT_TRUE(damaged->empty());
}

TEST(StoreTest, AFolderOnAFurtherDiskIsOneStoresOnly) {
    const Folder folder(Medium::memory);
    const auto shape = shape_of(64, 64, &layouts::row_major, 8);
    ASSERT_TRUE(Store::create(folder / "a", shape, {"u", "c"}, {folder / "disk"}));

    const auto other = Store::create(folder / "b", shape, {"u", "c"}, {folder / "disk"});

    ASSERT_FALSE(other);
    EXPECT_THAT(other.failure().sentence, HasSubstr("is not empty; name a new folder"));
    EXPECT_FALSE(std::filesystem::exists(folder / "b"));
    EXPECT_TRUE(Store::open(folder / "a", Access::reading));
}

TEST(StoreTest, AFolderThatIsNotTheStoresDiskIsRefused) {
    const Folder folder(Medium::memory);
    const auto shape = shape_of(64, 64, &layouts::row_major, 8);
    ASSERT_TRUE(Store::create(folder / "a", shape, {"u", "c"}, {folder / "disk"}));
    ASSERT_TRUE(Store::create(folder / "b", shape, {"u", "c"}, {folder / "other"}));

    std::filesystem::rename(folder / "disk", folder / "away");
    std::filesystem::create_directory(folder / "disk");
    const auto unmounted = Store::open(folder / "a", Access::changing);
    std::filesystem::remove(folder / "disk");
    std::filesystem::rename(folder / "other", folder / "disk");
    const auto of_other = Store::open(folder / "a", Access::reading);

    ASSERT_FALSE(unmounted);
    EXPECT_EQ(unmounted.failure().status, LW_ERR_NOT_FOUND);
    EXPECT_THAT(unmounted.failure().sentence, HasSubstr("has no file store.id"));
    ASSERT_FALSE(of_other);
    EXPECT_THAT(of_other.failure().sentence, HasSubstr("is another store's"));
}

TEST(StoreTest, AMatrixThatIsWrittenAgainLeavesNoFileOpen) {
    const auto open_files = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const Folder folder(Medium::memory);
    const auto shape = shape_of(64, 64, &layouts::row_major, 8);
    auto store = Store::create(folder / "s", shape, {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    const auto before = open_files();

    ASSERT_TRUE(fill_with_demo_values(*store, 2));

    EXPECT_EQ(open_files(), before);
}

TEST(StoreTest, NewDataForgetTheHalosAndTheFormerStateOfThoseBeforeThem) {
    const Folder folder(Medium::memory);
    const auto shape = shape_of(64, 64, &layouts::row_major, 8);
    auto store = Store::create(folder / "s", shape, {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    const char *const kept[] = {"halos.0", "halos.2.next", "frontiers.1", "manifest.former.json"};
    for (const auto *name : kept) std::ofstream(folder / "s" + "/" + name) << "of other data";

    ASSERT_TRUE(fill_with_demo_values(*store, 2));

    for (const auto *name : kept)
        EXPECT_FALSE(std::filesystem::exists(folder / "s" + "/" + name)) << name;
}

TEST(StoreTest, AFlippedBitInATileIsNamedByItsFirstCell) {
    const Folder folder(Medium::memory);
    auto shape = shape_of(64, 64, &layouts::row_major, 8);
    shape.tile_columns = 20;
    auto store = Store::create(folder / "s", shape, {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    const auto tile = static_cast<std::streamoff>(tile_bytes(shape));
    overwrite(folder / "s/u.a.0", (3 * 4 + 2) * tile + 77, "x");

    const auto damaged = verify(*store);

    ASSERT_TRUE(damaged);
    EXPECT_THAT(*damaged, ElementsAre(HasSubstr("strip 3 (rows from 24, columns from 40) of u")));
}

TEST(StoreTest, OffsetInStripIsWherePackingPutsAnElement) {
    const auto shape = shape_of(24, 9, &layouts::skewed, 24);
    std::vector<double> rows(24 * 9);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i + 1);
    std::vector<double> strip(strip_bytes(shape) / sizeof(double));

    pack_strip(shape, reinterpret_cast<const std::byte *>(rows.data()), 24,
               reinterpret_cast<std::byte *>(strip.data()));

    for (std::uint64_t i = 0; i < 24; ++i) {
        for (std::uint64_t j = 0; j < 9; ++j)
            EXPECT_EQ(strip[shape.layout->offset(shape, i, j)], rows[i * 9 + j]);
    }
}

TEST(StoreTest, AStripOfASmallMatrixHoldsAllItsRowsInWholeVectors) {
    for (std::uint64_t rows = 1; rows <= 40; ++rows) {
        const auto strip_rows = default_strip_rows(shape_of(rows, 3, &layouts::skewed, 0));

        EXPECT_GE(strip_rows, rows);
        EXPECT_LT(strip_rows, rows + skew_lanes);
        EXPECT_EQ(strip_rows % skew_lanes, 0u);
    }
}

TEST(StoreTest, AFlippedBitIsFoundAndNamed) {
    const Folder folder(Medium::memory);
    auto store =
        Store::create(folder / "s", shape_of(64, 64, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    const auto strip = static_cast<std::streamoff>(strip_bytes(store->shape()));
    overwrite(folder / "s/u.a.0", 3 * strip + 77, "x");

    const auto damaged = verify(*store);

    ASSERT_TRUE(damaged);
    EXPECT_THAT(*damaged, ElementsAre(HasSubstr("strip 3 (rows from 24) of u")));
}

TEST(StoreTest, AFileThatIsTooShortIsFoundAndNamed) {
    const Folder folder(Medium::memory);
    auto store =
        Store::create(folder / "s", shape_of(64, 64, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    std::filesystem::resize_file(folder / "s/c.a.0", 7 * strip_bytes(store->shape()));

    const auto damaged = verify(*store);

    ASSERT_TRUE(damaged);
    EXPECT_THAT(*damaged, ElementsAre(HasSubstr("strip 7 (rows from 56) of c")));
}

TEST(StoreTest, ANewerVersionIsRefusedByNumber) {
    const Folder folder(Medium::memory);
    ASSERT_TRUE(
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {}));
    auto json = to_json(*read_manifest(folder / "s"));
    json["version"] = 2;

    const auto manifest = manifest_from(json, "manifest.json");

    ASSERT_FALSE(manifest);
    EXPECT_THAT(manifest.failure().sentence, HasSubstr("version 2 is newer"));
}

TEST(StoreTest, AStoreFromBeforeThereWerePartsIsReadAsWhole) {
    const Folder folder(Medium::memory);
    ASSERT_TRUE(
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {}));
    auto json = to_json(*read_manifest(folder / "s"));
    json.erase("part");
    json.erase("checksum");

    const auto manifest = manifest_from(json, "manifest.json");

    ASSERT_TRUE(manifest) << manifest.failure().sentence;
    EXPECT_FALSE(manifest->part);
}

TEST(StoreTest, TheKernelThatItWasMadeForIsKeptAndTheKeyIsThereForNoOther) {
    const Folder folder(Medium::memory);
    auto store =
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store);
    EXPECT_FALSE(to_json(store->manifest()).contains("kernel"));
    auto manifest = store->manifest();
    manifest.kernel = KernelEntry{"sor", {1.5}};
    ASSERT_TRUE(store->commit(manifest));

    const auto read = read_manifest(folder / "s");

    ASSERT_TRUE(read) << read.failure().sentence;
    ASSERT_TRUE(read->kernel);
    EXPECT_EQ(read->kernel->name, "sor");
    EXPECT_EQ(read->kernel->parameters, std::vector<double>{1.5});
}

TEST(StoreTest, AMissingKeyIsNamed) {
    const Folder folder(Medium::memory);
    ASSERT_TRUE(
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {}));
    auto json = to_json(*read_manifest(folder / "s"));
    json.erase("disks");

    const auto manifest = manifest_from(json, "manifest.json");

    ASSERT_FALSE(manifest);
    EXPECT_THAT(manifest.failure().sentence, HasSubstr("lacks 'disks'"));
}

TEST(StoreTest, AnUnknownKeyIsRefusedByName) {
    const Folder folder(Medium::memory);
    ASSERT_TRUE(
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {}));
    auto json = to_json(*read_manifest(folder / "s"));
    json["colour"] = "red";

    const auto manifest = manifest_from(json, "manifest.json");

    ASSERT_FALSE(manifest);
    EXPECT_THAT(manifest.failure().sentence, HasSubstr("unknown key 'colour'"));
}

// Both become parts of names of files, which are written and removed.
TEST(StoreTest, AManifestThatNamesFilesElsewhereIsRefused) {
    const Folder folder(Medium::memory);
    auto shape = shape_of(8, 8, &layouts::row_major, 8);
    shape.row_coefficient_count = 1;
    ASSERT_TRUE(Store::create(folder / "s", shape, {"u", "c", "r"}, {}));
    const auto sound = to_json(*read_manifest(folder / "s"));
    auto matrix = sound;
    matrix["matrices"][1]["name"] = "../../c";
    auto twice = sound;
    twice["row_coefficients"][0]["name"] = "u";
    auto sum = sound;
    sum["row_coefficients"][0]["sum"] = "/../../precious";

    EXPECT_TRUE(manifest_from(sound, "manifest.json"));
    EXPECT_THAT(manifest_from(matrix, "m").failure().sentence, HasSubstr("\"../../c\" is not of"));
    EXPECT_THAT(manifest_from(twice, "m").failure().sentence, HasSubstr("\"u\" is not of"));
    EXPECT_THAT(manifest_from(sum, "m").failure().sentence, HasSubstr("not 16 hexadecimal"));
}

// No file may be opened while this lives.
class NoDescriptors {
  public:
    NoDescriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none{0, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

  private:
    rlimit before_{};
};

TEST(StoreTest, WhatCannotBeOpenedIsNotSaidToBeDamagedOrMissing) {
    const Folder folder(Medium::disk);
    auto store =
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    const auto why = HasSubstr("Too many open files");
    std::string opened;
    std::string sums;
    {
        const NoDescriptors none;
        opened = Store::open(folder / "s", Access::reading).failure().sentence;
        sums = store->read_sums(0).failure().sentence;
    }

    EXPECT_THAT(opened, why);
    EXPECT_THAT(sums, why);
    EXPECT_TRUE(Store::open(folder / "s", Access::reading));
    EXPECT_TRUE(store->read_sums(0));
}

// Not even root may open what leads to itself.
TEST(StoreTest, AFileThatCannotBeOpenedKeepsReadersOut) {
    const Folder folder(Medium::disk);
    auto store =
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    std::filesystem::remove(folder / "s/u.a.0");
    std::filesystem::create_symlink("u.a.0", folder / "s/u.a.0");

    const auto opened = Store::open(folder / "s", Access::reading);

    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.failure().sentence, HasSubstr("u.a.0: Too many levels of symbolic links"));
}

TEST(StoreTest, AFileInThePlaceOfTheFolderIsNotAStore) {
    const Folder folder(Medium::disk);
    std::ofstream(folder / "s") << "text";
    EXPECT_THAT(Store::open(folder / "s", Access::reading).failure().sentence,
                HasSubstr("is not a wavefront store"));
}

TEST(StoreTest, FilesAreOpenedBesideThePageCacheAndClosedInOtherPrograms) {
    const Folder folder(Medium::disk);
    auto store =
        Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    const int direct = ::open((folder / "s/u.a.0").c_str(), O_RDONLY | O_DIRECT);
    if (direct < 0) GTEST_SKIP() << "this file system has no direct transfers";
    ::close(direct);
    const auto files = store->open_current(0);
    ASSERT_TRUE(files);

    int found = 0;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        if (std::filesystem::read_symlink(entry, gone) != folder / "s/u.a.0") continue;
        const int file = std::stoi(entry.path().filename());
        EXPECT_NE(::fcntl(file, F_GETFL) & O_DIRECT, 0);
        EXPECT_NE(::fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
        ++found;
    }
    EXPECT_EQ(found, 1);
}

TEST(StoreTest, AMissingDiskIsNamed) {
    const Folder folder(Medium::memory);
    ASSERT_TRUE(Store::create(folder / "s", shape_of(8, 8, &layouts::row_major, 8), {"u", "c"},
                              {folder / "second"}));
    std::filesystem::remove_all(folder / "second");

    const auto store = Store::open(folder / "s", Access::reading);

    ASSERT_FALSE(store);
    EXPECT_THAT(store.failure().sentence, HasSubstr("second is missing"));
}

TEST(StoreTest, AnImportThatFailsLeavesTheMatrixAsItWas) {
    const Folder folder(Medium::memory);
    auto store =
        Store::create(folder / "s", shape_of(64, 9, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    const auto before = testing::load<double>(*store);

    const auto written =
        write_matrix(*store, 0, [](std::uint64_t first, std::uint64_t, std::byte *) -> Outcome {
            if (first < 24) return Done{};
            return Failure{LW_ERR_IO, "the source is torn"};
        });

    EXPECT_FALSE(written);
    EXPECT_EQ(testing::load<double>(*store).values, before.values);
}

TEST(StoreTest, AnImportThatCannotBeCommittedLeavesNothingInTheStore) {
    const Folder folder(Medium::memory);
    auto store =
        Store::create(folder / "s", shape_of(64, 9, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    std::filesystem::create_directory(folder / "s/manifest.json.next");
    const auto names = [&] {
        std::set<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(folder / "s"))
            found.insert(entry.path().filename().string());
        return found;
    };
    const auto before = names();

    const auto written = write_matrix(
        *store, 0, [](std::uint64_t, std::uint64_t, std::byte *) -> Outcome { return Done{}; });

    ASSERT_FALSE(written);
    EXPECT_THAT(written.failure().sentence, HasSubstr("manifest.json.next"));
    EXPECT_EQ(names(), before);
}

TEST(ReplaceFile, GoesOnBehindWhatTheSystemHasWritten) {
    const Folder folder(Medium::memory);
    const std::string text = "what is written in pieces of five bytes";

    moved_max = 5;
    const auto replaced = replace_file(folder / "f", text.data(), text.size());
    moved_max = SIZE_MAX;

    ASSERT_TRUE(replaced) << replaced.failure().sentence;
    EXPECT_EQ(*read_file(folder / "f"), text);
}

TEST(StoreTest, IsVerifiedInAsManyPiecesAsTheSystemMakesOfIt) {
    const Folder folder(Medium::memory);
    auto store =
        Store::create(folder / "s", shape_of(16, 1024, &layouts::row_major, 8), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));

    moved_max = 4096;
    const auto damaged = verify(*store);
    moved_max = SIZE_MAX;

    ASSERT_TRUE(damaged);
    EXPECT_THAT(*damaged, IsEmpty());
}

// Also where the manifest is in place already: that it stays there after a power cut is not sure.
TEST(StoreTest, ASyncThatFailsIsToldAndLeavesOneWholeGeneration) {
    constexpr int runs = 12;
    const Folder folder(Medium::memory);
    const auto made = [&](const std::string& name) {
        auto store =
            Store::create(folder / name, shape_of(40, 13, &layouts::row_major, 8), {"u", "c"}, {});
        EXPECT_TRUE(store && fill_with_demo_values(*store, 1));
        return std::move(*store);
    };
    const auto kernel = *make_kernel("jacobi", {}, Element::f64, &layouts::row_major);
    auto twin = made("twin");
    std::vector<std::vector<std::vector<double>>> expected{testing::load<double>(twin).values};
    for (int i = 0; i < runs; ++i) {
        ASSERT_TRUE(run(twin, kernel, {}));
        expected.push_back(testing::load<double>(twin).values);
    }
    auto store = made("s");
    int in_place = 0;
    int failures = 0;

    for (int at = 1; at <= runs; ++at) {
        const auto before = store.manifest().iterations;
        failing_sync = at;
        const auto report = run(store, kernel, {});
        const bool failed = std::exchange(failing_sync, 0) == 0;

        EXPECT_EQ(static_cast<bool>(report), !failed);
        const auto reopened = Store::open(folder / "s", Access::reading);
        ASSERT_TRUE(reopened);
        const auto iterations = reopened->manifest().iterations;
        EXPECT_EQ(store.manifest().iterations, iterations);
        EXPECT_EQ(testing::load<double>(*reopened).values, expected[iterations]);
        EXPECT_THAT(*verify(*reopened), IsEmpty());
        if (!failed) continue;
        EXPECT_THAT(report.failure().sentence, HasSubstr("cannot sync"));
        ++failures;
        in_place += static_cast<int>(iterations - before);
    }

    EXPECT_GT(failures, 5);
    EXPECT_EQ(in_place, 1);
}

// What lay in memory before is nobody's to read in the file.
TEST(PackStrip, FillsWhatAStripOfFewerRowsLeavesWithZeros) {
    const auto shape = shape_of(19, 9, &layouts::row_major, 8);
    const std::vector<double> rows(3 * 9, 2.0);
    std::vector<double> strip(strip_bytes(shape) / sizeof(double), 1.0);

    pack_strip(shape, reinterpret_cast<const std::byte *>(rows.data()), 3,
               reinterpret_cast<std::byte *>(strip.data()));

    EXPECT_EQ(std::ranges::count(strip, 2.0), 27);
    EXPECT_EQ(std::ranges::count(strip, 1.0), 0);
}

}  // namespace
}  // namespace lanewise::wavefront
