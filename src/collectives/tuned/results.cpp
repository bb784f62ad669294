// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/results.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/fnv.hpp"
#include "base/json_lines.hpp"
#include "collectives/execute/datatype.hpp"
#include "collectives/execute/held_handles.hpp"
#include "collectives/tuned/call_log.hpp"
#include "collectives/tuned/call_site.hpp"
#include "collectives/tuned/device_memory.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/pending_calls.hpp"
#include "collectives/tuned/roll_call.hpp"
#include "sums/mpi/f90_types.hpp"

namespace lanewise::tuned {

constinit bool noting_results = false;

namespace {

using collectives::Call;
using collectives::Collective;

struct Notes {
    std::mutex mutex;
    std::optional<JsonLinesWriter> file;
    std::unordered_map<const void *, std::size_t> sites;
    std::uint64_t begun = 0;  /* reductions that were called or started */
    std::uint64_t unseen = 0; /* those of them whose end nobody has seen yet */
    std::uint64_t between_groups = 0;
    std::thread::id thread; /* the first that called one */
    bool several_threads = false;
};

Notes& notes() {
    static Notes instance;
    return instance;
}

void write(Notes& to, const Json& record) {
    if (!to.file) return;
    const auto written = to.file->write(record);
    if (written) return;
    say(written.failure().sentence + "; no further results are written");
    to.file.reset();
}

/* The same under any MPI, some of which name the types of programs, each in its own way. */
std::string name_of_type(MPI_Datatype type) {
    if (sums::f90_kind_of(type)) return "a type of Fortran";
    if (!collectives::layout_of(type).predefined) return "a type of the program";
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    PMPI_Type_get_name(type, name, &length);
    return name;
}

std::string name_of_op(MPI_Op op) {
    struct Known {
        MPI_Op op;
        const char *name;
    };
    const Known known[] = {
        {MPI_SUM, "MPI_SUM"},   {MPI_PROD, "MPI_PROD"},     {MPI_MAX, "MPI_MAX"},
        {MPI_MIN, "MPI_MIN"},   {MPI_MAXLOC, "MPI_MAXLOC"}, {MPI_MINLOC, "MPI_MINLOC"},
        {MPI_LAND, "MPI_LAND"}, {MPI_LOR, "MPI_LOR"},       {MPI_LXOR, "MPI_LXOR"},
        {MPI_BAND, "MPI_BAND"}, {MPI_BOR, "MPI_BOR"},       {MPI_BXOR, "MPI_BXOR"},
    };
    for (const auto& one : known) {
        if (one.op == op) return one.name;
    }
    return "an operator of the program";
}

std::uint64_t hash_of(const std::byte *bytes, std::size_t size) {
    std::uint64_t hash = fnv1a_basis;
    for (std::size_t done = 0; done < size; done += sizeof hash) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + done, std::min(sizeof word, size - done));
        // A product alone never carries the upper bits of a word to the lower ones.
        hash = std::rotl(fnv1a(hash, word), 29);
    }
    return hash;
}

/* Of a long double in the extended format of x86, which takes 12 or 16. */
constexpr std::size_t used_bytes = 10;

/* A kind of Fortran with more digits is longer than a long double, though it takes as many bytes.
 */
bool is_long_double_of_f90(MPI_Datatype type) {
    const auto kind = sums::f90_kind_of(type);
    if (!kind || *kind == sums::F90Kind::integer) return false;
    const int numbers = *kind == sums::F90Kind::complex ? 2 : 1;
    return collectives::layout_of(type).size == numbers * std::int64_t{sizeof(long double)} &&
           sums::f90_digits_of(type) <= LDBL_DIG;
}

/* In types of programs it is not known where the unused bytes are. */
bool has_padding(MPI_Datatype type) {
    constexpr bool padded = LDBL_MANT_DIG == 64 && sizeof(long double) > used_bytes;
    return padded && (type == MPI_LONG_DOUBLE || type == MPI_C_LONG_DOUBLE_COMPLEX ||
                      type == MPI_CXX_LONG_DOUBLE_COMPLEX || type == MPI_LONG_DOUBLE_INT ||
                      is_long_double_of_f90(type));
}

void clear_padding(std::span<std::byte> data, MPI_Datatype type) {
    if (!has_padding(type)) return;
    const auto stride = sizeof(long double) + (type == MPI_LONG_DOUBLE_INT ? sizeof(int) : 0);
    for (std::size_t end = sizeof(long double); end <= data.size(); end += stride)
        std::memset(&data[end - (sizeof(long double) - used_bytes)], 0,
                    sizeof(long double) - used_bytes);
}

/* Of the data in the elements, without what lies between them. */
std::string hash_in_host(const void *result, std::int64_t count, MPI_Datatype type,
                         const collectives::TypeLayout& layout) {
    const auto bytes = static_cast<std::size_t>(count * layout.size);
    std::vector<std::byte> packed;
    const auto *data = static_cast<const std::byte *>(result);
    if (!layout.plain) {
        packed.resize(bytes);
        if (collectives::pack(result, count, type, layout, packed.data(), {MPI_COMM_SELF, 0}) !=
            MPI_SUCCESS) {
            return "";
        }
    } else if (has_padding(type)) {
        packed.assign(data, data + bytes);
    }
    if (!packed.empty()) {
        clear_padding(packed, type);
        data = packed.data();
    }
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016" PRIx64, hash_of(data, bytes));
    return text.data();
}

std::string hash_in_device(const void *result, std::int64_t count, MPI_Datatype type,
                           const collectives::TypeLayout& layout) {
    const auto bytes = (count - 1) * layout.extent + layout.true_extent;
    std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
    const auto *first = static_cast<const std::byte *>(result) + layout.true_lb;
    if (!copy_from_device(copy.data(), first, copy.size())) {
        say_once("results in the memory of a GPU cannot be read; they are not compared");
        return "";
    }
    return hash_in_host(copy.data() - layout.true_lb, count, type, layout);
}

std::string hash_of_result(const void *result, std::int64_t count, MPI_Datatype type) {
    const auto layout = collectives::layout_of(type);
    const bool in_device = count > 0 && layout.extent >= 0 && is_device_memory(result);
    return in_device ? hash_in_device(result, count, type, layout)
                     : hash_in_host(result, count, type, layout);
}

/* Where a call came from, told once and then by its number. */
std::size_t number_of(const void *address, Notes& to) {
    const auto [known, unseen] = to.sites.try_emplace(address, to.sites.size());
    if (!unseen) return known->second;
    const auto site = call_site(address);
    write(to, {{"site", known->second},
               {"object", site.object},
               {"offset", site.offset},
               {"symbol", site.symbol}});
    return known->second;
}

/* Elements of the result on this rank; none where another rank has it, or nobody: rank 0 gets
   nothing from an exscan, and has in its buffer what was there. */
std::optional<std::int64_t> count_here(const Call& call) {
    int rank = 0;
    PMPI_Comm_rank(call.comm, &rank);
    if (call.collective == Collective::reduce && rank != call.root) return std::nullopt;
    if (call.collective == Collective::exscan && rank == 0) return std::nullopt;
    return call.counts ? std::int64_t{call.counts[rank]} : std::int64_t{call.receive_count};
}

int finish_at_end(MPI_Comm, int, void *, void *) {
    noting_results = false;
    drop_pending();
    auto& to = notes();
    const std::scoped_lock lock(to.mutex);
    write(to, {{"end", true},
               {"unseen", to.unseen},
               {"between_groups", to.between_groups},
               {"several_threads", to.several_threads}});
    to.file.reset();
    return MPI_SUCCESS;
}

/* Reductions over two groups are not, but counted. */
bool is_compared(const Call& call) {
    if (!is_reduction(call.collective)) return false;
    int between_groups = 0;
    PMPI_Comm_test_inter(call.comm, &between_groups);
    if (between_groups == 0) return true;
    auto& to = notes();
    const std::scoped_lock lock(to.mutex);
    ++to.between_groups;
    return false;
}

/* The number of a reduction that this thread calls or starts. */
std::uint64_t next_number(Notes& to) {
    const auto caller = std::this_thread::get_id();
    if (to.begun == 0) to.thread = caller;
    to.several_threads = to.several_threads || to.thread != caller;
    return to.begun++;
}

/* What can be said of a reduction before it has a result. */
Json description_of(const Call& call, const std::optional<std::int64_t>& count,
                    profile::Form form) {
    int ranks = 1;
    PMPI_Comm_size(call.comm, &ranks);
    return {{"operation", profile::name_of(call.collective, form)},
            {"count", count.value_or(0)},
            {"type", name_of_type(call.receive_type)},
            {"op", name_of_op(call.op)},
            {"ranks", ranks}};
}

void write_result(Json said, std::uint64_t number, const std::string& hash, const void *site,
                  Notes& to) {
    said["number"] = number;
    said["hash"] = hash;
    said["from"] = number_of(site, to);
    write(to, said);
}

}  // namespace

void begin_results() {
    if (environment().results_folder.empty() || noting_results || is_spawned()) return;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto path = environment().results_folder + "/rank-" + std::to_string(rank) + ".jsonl";
    auto made = JsonLinesWriter::create(path);
    if (!made) {
        say(made.failure().sentence + "; results of rank " + std::to_string(rank) +
            " are not noted");
        return;
    }
    notes().file.emplace(std::move(*made));
    int ranks = 1;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    write(notes(), {{"world", ranks}});
    int key = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish_at_end, &key, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    PMPI_Comm_free_keyval(&key);
    noting_results = true;
    recording = true;
}

struct ExpectedResult {
    Json said;
    const void *result = nullptr;
    std::optional<std::int64_t> count;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    collectives::HeldType held_type; /* the program may free its own while a call is pending */
};

void note_result(const Call& call, const void *site) {
    if (!is_compared(call)) return;
    const auto count = count_here(call);
    auto said = description_of(call, count, profile::Form::blocking);
    auto& to = notes();
    const std::scoped_lock lock(to.mutex);
    write_result(std::move(said), next_number(to),
                 count ? hash_of_result(call.receive, *count, call.receive_type) : "", site, to);
}

std::shared_ptr<const ExpectedResult> expect_result(const Call& call, profile::Form form) {
    if (!noting_results || !is_compared(call)) return nullptr;
    auto made = std::make_shared<ExpectedResult>();
    made->count = count_here(call);
    made->said = description_of(call, made->count, form);
    made->result = call.receive;
    made->type = call.receive_type;
    made->held_type.hold(made->type);
    return made;
}

StartedResult start_result(std::shared_ptr<const ExpectedResult> expected, const void *site) {
    if (!expected || !noting_results) return {};
    auto& to = notes();
    const std::scoped_lock lock(to.mutex);
    ++to.unseen;
    return {std::move(expected), next_number(to), site};
}

void note_result(const StartedResult& started) {
    if (!started.expected || !noting_results) return;
    const auto& expected = *started.expected;
    auto& to = notes();
    const std::scoped_lock lock(to.mutex);
    --to.unseen;
    write_result(
        expected.said, started.number,
        expected.count ? hash_of_result(expected.result, *expected.count, expected.type) : "",
        started.site, to);
}

}  // namespace lanewise::tuned
