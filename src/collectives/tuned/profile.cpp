// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/profile.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "collectives/profile/attribution.hpp"
#include "collectives/profile/clock_line.hpp"
#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/call_log.hpp"
#include "collectives/tuned/call_site.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/host_clocks.hpp"
#include "collectives/tuned/pending_calls.hpp"
#include "collectives/tuned/profile_file.hpp"
#include "collectives/tuned/results.hpp"
#include "collectives/tuned/roll_call.hpp"

namespace lanewise::tuned {
namespace {

using measure::Harness;
using profile::Record;

struct Beginning {
    ClockOffset clock;
    std::int64_t begin_ns = 0;
};
std::optional<Beginning> beginning;

int world_rank() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int ranks_in_world() {
    int size = 1;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

int largest(int mine) {
    int of_all = mine;
    PMPI_Allreduce(&mine, &of_all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return of_all;
}

/* Thrown on all ranks alike. */
struct NoMemory {};

/* What `make` makes on this rank, by itself; NoMemory on all ranks where one lacks the memory. */
template <typename Make>
auto make_everywhere(const Make& make) {
    std::optional<decltype(make())> made;
    try {
        made.emplace(make());
    } catch (const std::bad_alloc&) {
        made.reset();
    }
    if (largest(made ? 0 : 1) != 0) throw NoMemory{};
    return *std::move(made);
}

/* MPI counts in int: values travel as elements of their own size. */
template <typename Value>
class Element {
  public:
    Element() {
        PMPI_Type_contiguous(sizeof(Value), MPI_BYTE, &type_);
        PMPI_Type_commit(&type_);
    }
    ~Element() { PMPI_Type_free(&type_); }
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;
    MPI_Datatype type() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

std::vector<int> places_of(const std::vector<int>& counts) {
    std::vector<int> places(counts.size());
    for (std::size_t i = 1; i < counts.size(); ++i) places[i] = places[i - 1] + counts[i - 1];
    return places;
}

/* The values of all ranks in their order, and how many each has; on rank 0 only. */
template <typename Value>
struct Gathered {
    std::vector<Value> values;
    std::vector<int> counts;
};

template <typename Value>
Gathered<Value> gather(const std::vector<Value>& mine) {
    const Element<Value> element;
    Gathered<Value> all;
    all.counts.resize(static_cast<std::size_t>(ranks_in_world()));
    const int count = static_cast<int>(mine.size());
    PMPI_Gather(&count, 1, MPI_INT, all.counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    const auto places = places_of(all.counts);
    all.values = make_everywhere([&] {
        const auto total =
            static_cast<std::size_t>(places.back()) + static_cast<std::size_t>(all.counts.back());
        return std::vector<Value>(world_rank() == 0 ? total : 0);
    });
    PMPI_Gatherv(mine.data(), count, element.type(), all.values.data(), all.counts.data(),
                 places.data(), element.type(), 0, MPI_COMM_WORLD);
    return all;
}

/* A rank that waits for another in calls with neighbors. */
struct Wait {
    std::uint64_t communicator;
    std::int32_t member;
    std::int32_t member_count;
    std::int32_t source;
};

/* The waits of all ranks, on each of them: any of them may have calls to attribute. */
profile::Neighborhoods share_neighborhoods(const CallLog& log) {
    const auto mine = make_everywhere([&] {
        std::vector<Wait> waits;
        for (const auto& one : log.communicators) {
            for (const int source : one.sources)
                waits.push_back({one.id, one.rank, one.ranks, source});
        }
        return waits;
    });
    auto gathered = gather(mine);
    auto count = static_cast<int>(gathered.values.size());
    PMPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    auto waits = make_everywhere([&] {
        gathered.values.resize(static_cast<std::size_t>(count));
        return std::move(gathered.values);
    });
    const Element<Wait> element;
    PMPI_Bcast(waits.data(), count, element.type(), 0, MPI_COMM_WORLD);
    return make_everywhere([&] {
        profile::Neighborhoods found;
        for (const auto& wait : waits) {
            auto& sources = found[wait.communicator];
            sources.resize(static_cast<std::size_t>(wait.member_count));
            sources[static_cast<std::size_t>(wait.member)].push_back(wait.source);
        }
        return found;
    });
}

/* Each value goes to the rank that `owner` says. */
template <typename Value, typename Owner>
std::vector<Value> send_to_owners(std::vector<Value> values, const Owner& owner) {
    std::ranges::sort(values, {}, owner);
    std::vector<int> sent(static_cast<std::size_t>(ranks_in_world()));
    for (const auto& value : values) ++sent[owner(value)];
    std::vector<int> received(sent.size());
    PMPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const auto from = places_of(sent);
    const auto to = places_of(received);
    auto own = make_everywhere([&] {
        const auto count =
            static_cast<std::size_t>(to.back()) + static_cast<std::size_t>(received.back());
        return std::vector<Value>(count);
    });
    const Element<Value> element;
    PMPI_Alltoallv(values.data(), sent.data(), from.data(), element.type(), own.data(),
                   received.data(), to.data(), element.type(), MPI_COMM_WORLD);
    return own;
}

/* Each record to the rank that its call belongs to. */
std::vector<Record> exchange_records(std::vector<Record> records) {
    const auto size = static_cast<std::uint64_t>(ranks_in_world());
    return send_to_owners(std::move(records), [size](const Record& record) {
        return (record.communicator + record.call) % size;
    });
}

using Parts = std::map<profile::Part, profile::Sums>;

void add(Parts& to, const std::vector<PartSums>& parts) {
    for (const auto& [part, sums] : parts) to[part] += sums;
}

/* The sums of each rank, which come from all ranks that had calls of it to attribute, are added up
   on that rank: the first one gets no more than there is in the file. */
std::vector<PartSums> add_up(const Parts& found) {
    auto parts = make_everywhere([&] { return std::vector<PartSums>(found.begin(), found.end()); });
    parts = send_to_owners(std::move(parts), [](const PartSums& one) {
        return static_cast<std::size_t>(one.part.rank);
    });
    return make_everywhere([&] {
        Parts sums;
        add(sums, parts);
        return std::vector<PartSums>(sums.begin(), sums.end());
    });
}

/* Texts travel as elements of their own, so that they may be longer than MPI counts; spaces fill
   the last one. */
using Piece = std::array<char, 64>;

std::vector<Piece> pieces_of(std::string text) {
    text.resize((text.size() + sizeof(Piece) - 1) / sizeof(Piece) * sizeof(Piece), ' ');
    std::vector<Piece> pieces(text.size() / sizeof(Piece));
    std::memcpy(pieces.data(), text.data(), text.size());
    return pieces;
}

std::vector<Piece> sites_as_pieces(const std::vector<const void *>& addresses) {
    Json sites = Json::array();
    for (const void *address : addresses) {
        const auto site = call_site(address);
        sites.push_back({site.offset, site.object, site.symbol});
    }
    return pieces_of(json_text(sites));
}

/* Sites of all ranks, each once, and for each that a rank has its place among them. */
struct NumberedSites {
    std::vector<CallSite> all;
    std::vector<std::uint32_t> numbers;
    std::vector<int> counts; /* by rank */
};

NumberedSites number_sites(const Gathered<Piece>& texts) {
    NumberedSites found;
    const auto *text = reinterpret_cast<const char *>(texts.values.data());
    for (const int pieces : texts.counts) {
        const auto size = static_cast<std::size_t>(pieces) * sizeof(Piece);
        const auto sites = parse_json({text, size});
        text += size;
        for (const auto& one : sites) {
            const CallSite site{one[0], one[1], one[2]};
            const auto known = std::ranges::find(found.all, site);
            found.numbers.push_back(static_cast<std::uint32_t>(known - found.all.begin()));
            if (known == found.all.end()) found.all.push_back(site);
        }
        found.counts.push_back(static_cast<int>(sites.size()));
    }
    return found;
}

/* The sites of all ranks, on rank 0 only, and for each of this rank's its place among them. */
struct Sites {
    std::vector<CallSite> all;
    std::vector<std::uint32_t> numbers;
};

Sites agree_on_sites(const std::vector<const void *>& addresses) {
    const auto texts = gather(make_everywhere([&] { return sites_as_pieces(addresses); }));
    auto found =
        make_everywhere([&] { return world_rank() == 0 ? number_sites(texts) : NumberedSites(); });
    Sites sites{std::move(found.all), std::vector<std::uint32_t>(addresses.size())};
    const auto places = places_of(found.counts);
    PMPI_Scatterv(found.numbers.data(), found.counts.data(), places.data(), MPI_UINT32_T,
                  sites.numbers.data(), static_cast<int>(addresses.size()), MPI_UINT32_T, 0,
                  MPI_COMM_WORLD);
    return sites;
}

std::vector<Record> records_of(const CallLog& log, const std::vector<std::uint32_t>& sites,
                               const profile::ClockLine& clock) {
    std::vector<Record> records;
    records.reserve(log.calls.size());
    const int rank = world_rank();
    for (const auto& call : log.calls) {
        const auto& communicator = log.communicators[call.communicator];
        records.push_back({.communicator = communicator.id,
                           .bytes = call.bytes,
                           .times = {clock.global_ns(call.entry_ns), clock.global_ns(call.exit_ns),
                                     call.asked_after_ns, call.computing_ns, call.starting_ns},
                           .call = call.call,
                           .site = sites[call.site],
                           .rank = rank,
                           .member = communicator.rank,
                           .member_count = communicator.ranks,
                           .root = call.root,
                           .collective = call.collective,
                           .form = call.form});
    }
    return records;
}

ProcessSummary summary_of(const CallLog& log, std::int64_t elapsed_ns, std::int64_t drift_ns) {
    ProcessSummary summary;
    int length = 0;
    PMPI_Get_processor_name(summary.host.data(), &length);
    summary.elapsed_ns = elapsed_ns;
    summary.in_calls_ns = log.in_calls_ns;
    summary.drift_ns = drift_ns;
    summary.recorded = log.calls.size();
    summary.unplaced = count_unplaced(log);
    summary.unrecorded = log.unrecorded;
    return summary;
}

void say_no_profile(const std::string& why) {
    if (world_rank() == 0) say(why + "; there is no profile");
}

constexpr const char *no_memory_at_end =
    "no memory to bring the recorded calls together; set a smaller LANEWISE_PROFILE_CALLS";

/* On the first rank, when no other waits for it any more. */
void write(ProfileContent content, const std::vector<PartSums>& parts) {
    try {
        add(content.parts, parts);
        const auto written = write_profile(environment().profile_path, content);
        if (!written) say(written.failure().sentence + "; name another LANEWISE_PROFILE");
    } catch (const std::bad_alloc&) {
        say_no_profile(no_memory_at_end);
    }
}

void finish(const Beginning& begun) {
    drop_pending();
    recording = false;
    const auto elapsed_ns = monotonic_ns() - begun.begin_ns;
    const Harness harness(MPI_COMM_WORLD);
    const auto ended = compare_clocks(harness, monotonic_clock());
    const auto clock = line_between(begun.clock, ended);
    auto log = take_log();
    // A rank that recorded more than others kept fewer of its calls.
    thin(log, largest(log.halvings));
    auto sites = agree_on_sites(log.sites);
    const auto summaries = gather(
        std::vector{summary_of(log, elapsed_ns, clock.end_offset_ns - clock.begin_offset_ns)});
    const auto neighborhoods = share_neighborhoods(log);
    auto records = make_everywhere([&] { return records_of(log, sites.numbers, clock); });
    const int halvings = std::exchange(log, {}).halvings;
    records = exchange_records(std::move(records));
    const auto found =
        make_everywhere([&] { return profile::attribute(std::move(records), neighborhoods); });
    const auto parts = gather(add_up(found.parts));
    const auto left_out = gather(std::vector{found.incomplete_records, found.mismatched_records});
    if (world_rank() != 0) return;
    ProfileContent content;
    content.halvings = halvings;
    content.sites = std::move(sites.all);
    content.processes = summaries.values;
    for (std::size_t i = 0; i < left_out.values.size(); i += 2) {
        content.incomplete_records += left_out.values[i];
        content.mismatched_records += left_out.values[i + 1];
    }
    write(std::move(content), parts.values);
}

/* Runs when MPI_COMM_SELF is freed, which is the first thing that finalizing does. */
int finish_at_end(MPI_Comm, int, void *, void *) {
    try {
        if (beginning) finish(*beginning);
    } catch (const NoMemory&) {
        say_no_profile(no_memory_at_end);
    }
    beginning.reset();
    return MPI_SUCCESS;
}

}  // namespace

void begin_profile() {
    // What a program spawns would write the same file.
    if (environment().profile_path.empty() || beginning || is_spawned()) return;
    if (!is_everybody_here()) return;
    const auto& fault = environment().profile_fault;
    constexpr int ready = 0;
    constexpr int no_memory = 1;
    constexpr int bad_value = 2;
    const bool prepared = fault.empty() && prepare_log(environment().profile_calls);
    const auto state = largest(!fault.empty() ? bad_value : prepared ? ready : no_memory);
    if (state == bad_value) {
        say_no_profile(!fault.empty()
                           ? fault
                           : "LANEWISE_PROFILE_CALLS is no number of calls on some rank; "
                             "set it alike on all hosts");
        return;
    }
    if (state == no_memory) {
        const auto calls = std::to_string(environment().profile_calls);
        say_no_profile("no memory to record " + calls +
                       " calls; set a smaller LANEWISE_PROFILE_CALLS");
        return;
    }
    int key = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish_at_end, &key, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    PMPI_Comm_free_keyval(&key);
    const Harness harness(MPI_COMM_WORLD);
    beginning = Beginning{compare_clocks(harness, monotonic_clock()), 0};
    harness.barrier();
    beginning->begin_ns = monotonic_ns();
    recording = true;
}

void begin_with_world() {
    answer_for_world();
    begin_report();
    compare_early(MPI_COMM_WORLD);
    compare_early(MPI_COMM_SELF);
    begin_profile();
    begin_results();
}

}  // namespace lanewise::tuned
