// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided operations, each in the time that it takes with its synchronisation.
//
// Single transfers: the root moves a message to or from the window of the rank
// after it: put, get, accumulate (sum), get_accumulate, fetch_op (the same; for one
// element MPI_Fetch_and_op) and compare_swap (one for each integer of the message).
// Each is measured under four synchronisations: fence; post, start, complete, wait;
// lock; and flush, with the lock held throughout.
//
// Patterns, with the window locked throughout and flushed in each execution:
// `bidirectional_*`, the root and the rank after it at once; `exchange_*`, all
// ranks with both neighbours of the ring; `one_*_all`, the root with every other
// rank; `all_*_all`, all ranks with all others (IMB-RMA's Bidir, Exchange,
// One_put_all, All_put_all and the like).
//
// Streaming: a window of puts or gets, each to a place of its own, then one flush.
// `put_streaming` and `get_streaming`: the root with the rank after it;
// `put_streaming_both`: both at once (OSU's put_bw and get_bw; IMB-RMA's aggregate
// mode); `put_streaming_both_pscw`: the same between post and start and complete and
// wait (OSU's put_bibw). The time of one message each way.
//
// Passive put: the root puts and flushes while the rank after it works, without a
// call to the MPI, for as long as the put takes when that rank waits in the MPI.
// Where the target need not take part, the time is that of the put; where it must
// enter the MPI first, it is twice that (IMB-RMA's Truly_passive_put).

#include <algorithm>
#include <array>
#include <cstdint>

#include "measure/benchmarks/benchmark.hpp"
#include "measure/harness/work.hpp"

namespace lanewise::measure {
namespace {

struct Window {
    MPI_Win window = MPI_WIN_NULL;
    MPI_Group partner = MPI_GROUP_NULL; /* the one rank on the other side */
    bool locked = false;
    std::uint64_t steps = 0; /* of work that takes as long as a put */

    ~Window() {
        if (locked) MPI_Win_unlock_all(window);
        if (partner != MPI_GROUP_NULL) MPI_Group_free(&partner);
        if (window != MPI_WIN_NULL) MPI_Win_free(&window);
    }
};

/* Makes `blocks` messages at `base` a window of all ranks, kept in `e.state`; or as many in memory
   of the MPI, which on one host may be shared. */
int create_window(Exchange& e, std::byte *base, int blocks) {
    auto state = std::make_shared<Window>();
    const auto bytes = static_cast<MPI_Aint>(e.message_bytes) * blocks;
    const int code = e.allocates
                         ? MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, e.comm, &base, &state->window)
                         : MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, e.comm, &state->window);
    e.state = std::move(state);
    return code;
}

/* The same, locked by all until it is freed. */
int create_locked(Exchange& e, std::byte *base, int blocks) {
    const int code = create_window(e, base, blocks);
    if (code != MPI_SUCCESS) return code;
    auto& state = state_of<Window>(e);
    const int locked = MPI_Win_lock_all(0, state.window);
    state.locked = locked == MPI_SUCCESS;
    return locked;
}

/* Puts the message into place `there` of the window of `target`. */
int put_message(Exchange& e, int target, int there) {
    const auto place = static_cast<MPI_Aint>(e.message_bytes) * there;
    return MPI_Put(e.send, e.count, e.type, target, place, e.count, e.type,
                   state_of<Window>(e).window);
}

/* Gets what `target` would send into place `here` of the receive buffer. */
int get_message(Exchange& e, int target, int here) {
    return MPI_Get(slot(e.receive, e, here), e.count, e.type, target, 0, e.count, e.type,
                   state_of<Window>(e).window);
}

using Transfer = int (*)(Exchange&, MPI_Win);

int put(Exchange& e, MPI_Win window) {
    return MPI_Put(e.send, e.count, e.type, partner(e), 0, e.count, e.type, window);
}

int get(Exchange& e, MPI_Win window) {
    return MPI_Get(e.receive, e.count, e.type, partner(e), 0, e.count, e.type, window);
}

int accumulate(Exchange& e, MPI_Win window) {
    return MPI_Accumulate(e.send, e.count, e.type, partner(e), 0, e.count, e.type, MPI_SUM, window);
}

int get_accumulate(Exchange& e, MPI_Win window) {
    return MPI_Get_accumulate(e.send, e.count, e.type, e.receive, e.count, e.type, partner(e), 0,
                              e.count, e.type, MPI_SUM, window);
}

int fetch_op(Exchange& e, MPI_Win window) {
    if (e.count == 1)
        return MPI_Fetch_and_op(e.send, e.receive, e.type, partner(e), 0, MPI_SUM, window);
    return get_accumulate(e, window);
}

// Zero is what a swap looks for, so it happens where nothing has been written yet.
int compare_swap(Exchange& e, MPI_Win window) {
    static_assert(sizeof(int) == sizeof(float));
    static int zero = 0; /* read until the window is synchronised; SMPI takes no constant */
    for (int i = 0; i < e.count; ++i) {
        const auto place = static_cast<MPI_Aint>(i) * static_cast<MPI_Aint>(sizeof(int));
        const int code = MPI_Compare_and_swap(e.send + place, &zero, e.receive + place, MPI_INT,
                                              partner(e), place, window);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int name_partner(Exchange& e) {
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    auto& state = state_of<Window>(e);
    MPI_Group all = MPI_GROUP_NULL;
    const int other = e.rank == e.root ? partner(e) : e.root;
    return first_failure({MPI_Win_get_group(state.window, &all),
                          MPI_Group_incl(all, 1, &other, &state.partner), MPI_Group_free(&all)});
}

// A get reads what the partner would send, everything else changes what it receives.
template <Transfer transfer>
int open_window(Exchange& e) {
    const int code = create_window(e, transfer == get ? e.send : e.receive, 1);
    return code == MPI_SUCCESS ? name_partner(e) : code;
}

template <Transfer transfer>
int open_locked(Exchange& e) {
    const int code = open_window<transfer>(e);
    if (code != MPI_SUCCESS) return code;
    auto& state = state_of<Window>(e);
    state.locked = true;
    return MPI_Win_lock_all(0, state.window);
}

template <Transfer transfer>
int with_fence(Exchange& e) {
    const auto window = state_of<Window>(e).window;
    return first_failure({MPI_Win_fence(MPI_MODE_NOPRECEDE, window),
                          e.rank == e.root ? transfer(e, window) : MPI_SUCCESS,
                          MPI_Win_fence(MPI_MODE_NOSUCCEED, window)});
}

template <Transfer transfer>
int with_pscw(Exchange& e) {
    const auto& state = state_of<Window>(e);
    if (e.rank == e.root)
        return first_failure({MPI_Win_start(state.partner, 0, state.window),
                              transfer(e, state.window), MPI_Win_complete(state.window)});
    if (e.rank != partner(e)) return MPI_SUCCESS;
    return first_failure(
        {MPI_Win_post(state.partner, 0, state.window), MPI_Win_wait(state.window)});
}

template <Transfer transfer>
int with_lock(Exchange& e) {
    const auto window = state_of<Window>(e).window;
    if (e.rank != e.root) return MPI_SUCCESS;
    return first_failure({MPI_Win_lock(e.lock, partner(e), 0, window), transfer(e, window),
                          MPI_Win_unlock(partner(e), window)});
}

template <Transfer transfer>
int with_flush(Exchange& e) {
    const auto window = state_of<Window>(e).window;
    if (e.rank != e.root) return MPI_SUCCESS;
    return first_failure({transfer(e, window), MPI_Win_flush(partner(e), window)});
}

Origins from_partner_to_root(const Standpoint& s) {
    return at_root(s, {{{partner(s)}}});
}

Origins accumulated(const Standpoint& s) {
    return at_partner(s, {{{s.root, partner(s)}}});
}

// What the window held before is that of its owner, and goes to whoever fetches.
Origins fetched(const Standpoint& s) {
    return s.me == s.root ? from_partner_to_root(s) : accumulated(s);
}

template <Transfer transfer>
void add(Entries& entries, Element element, Delivers delivers,
         const std::array<const char *, 4>& names) {
    const Entry common{.shape = all_ranks(Blocks::one, Blocks::one),
                       .element = element,
                       .ranks_min = 2,
                       .delivers = delivers,
                       .adds = transfer != put && transfer != get};
    const std::array<int (*)(Exchange&), 4> calls = {with_fence<transfer>, with_pscw<transfer>,
                                                     with_lock<transfer>, with_flush<transfer>};
    for (std::size_t i = 0; i < names.size(); ++i) {
        entries.push_back(common);
        entries.back().name = names[i];
        entries.back().call = calls[i];
        entries.back().prepare = i == 3 ? open_locked<transfer> : open_window<transfer>;
    }
}

Entries single_entries() {
    Entries entries;
    add<put>(entries, Element::byte, from_root_to_partner,
             {"put_fence", "put_pscw", "put_lock", "put_flush"});
    add<get>(entries, Element::byte, from_partner_to_root,
             {"get_fence", "get_pscw", "get_lock", "get_flush"});
    add<accumulate>(entries, Element::real, accumulated,
                    {"accumulate_fence", "accumulate_pscw", "accumulate_lock", "accumulate_flush"});
    add<get_accumulate>(entries, Element::real, fetched,
                        {"get_accumulate_fence", "get_accumulate_pscw", "get_accumulate_lock",
                         "get_accumulate_flush"});
    add<fetch_op>(entries, Element::real, fetched,
                  {"fetch_op_fence", "fetch_op_pscw", "fetch_op_lock", "fetch_op_flush"});
    add<compare_swap>(
        entries, Element::real, from_partner_to_root,
        {"compare_swap_fence", "compare_swap_pscw", "compare_swap_lock", "compare_swap_flush"});
    return entries;
}

int flush_all(Exchange& e) {
    return MPI_Win_flush_all(state_of<Window>(e).window);
}

int bidirectional_put(Exchange& e) {
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    return first_failure({put_message(e, e.rank == e.root ? partner(e) : e.root, 0), flush_all(e)});
}

int bidirectional_get(Exchange& e) {
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    return first_failure({get_message(e, e.rank == e.root ? partner(e) : e.root, 0), flush_all(e)});
}

// The first place of a receive buffer is the left neighbour's, the second the right one's.
int exchange_put(Exchange& e) {
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    return first_failure({put_message(e, right, 0), put_message(e, left, 1), flush_all(e)});
}

int exchange_get(Exchange& e) {
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    return first_failure({get_message(e, left, 0), get_message(e, right, 1), flush_all(e)});
}

int one_put_all(Exchange& e) {
    if (e.rank != e.root) return MPI_SUCCESS;
    for (int step = 1; step < e.size; ++step) {
        const int code = put_message(e, (e.root + step) % e.size, 0);
        if (code != MPI_SUCCESS) return code;
    }
    return flush_all(e);
}

// Place `step - 1` is that of the rank so many after (get) or before (put) this one.
int all_put_all(Exchange& e) {
    for (int step = 1; step < e.size; ++step) {
        const int code = put_message(e, (e.rank + step) % e.size, step - 1);
        if (code != MPI_SUCCESS) return code;
    }
    return flush_all(e);
}

int all_get_all(Exchange& e) {
    for (int step = 1; step < e.size; ++step) {
        const int code = get_message(e, (e.rank + step) % e.size, step - 1);
        if (code != MPI_SUCCESS) return code;
    }
    return flush_all(e);
}

int one_get_all(Exchange& e) {
    return e.rank == e.root ? all_get_all(e) : MPI_SUCCESS;
}

int open_to_read(Exchange& e) {
    return create_locked(e, e.send, 1);
}
int open_for_one(Exchange& e) {
    return create_locked(e, e.receive, 1);
}
int open_for_two(Exchange& e) {
    return create_locked(e, e.receive, 2);
}
int open_for_each(Exchange& e) {
    return create_locked(e, e.receive, e.size);
}

Origins from_root_to_others(const Standpoint& s) {
    return s.me == s.root ? Origins{} : Origins{{{s.root}}};
}
Origins from_all_before(const Standpoint& s) {
    return from_others(s, -1);
}
Origins from_all_after(const Standpoint& s) {
    return from_others(s, 1);
}
Origins gathered_at_root(const Standpoint& s) {
    return at_root(s, from_all_after(s));
}

Entries pattern_entries() {
    constexpr auto one = Blocks::one;
    constexpr auto two = Blocks::two;
    constexpr auto each = Blocks::each_rank;
    constexpr BufferShape to_root{one, one, each, Blocks::none};
    return {
        {.name = "bidirectional_put",
         .shape = all_ranks(one, one),
         .call = bidirectional_put,
         .ranks_min = 2,
         .prepare = open_for_one,
         .delivers = from_each_to_its_partner},
        {.name = "bidirectional_get",
         .shape = all_ranks(one, one),
         .call = bidirectional_get,
         .ranks_min = 2,
         .prepare = open_to_read,
         .delivers = from_each_to_its_partner},
        {.name = "exchange_put",
         .shape = all_ranks(one, two),
         .call = exchange_put,
         .ranks_min = 2,
         .prepare = open_for_two,
         .delivers = from_left_and_right},
        {.name = "exchange_get",
         .shape = all_ranks(one, two),
         .call = exchange_get,
         .ranks_min = 2,
         .prepare = open_to_read,
         .delivers = from_left_and_right},
        {.name = "one_put_all",
         .shape = all_ranks(one, one),
         .call = one_put_all,
         .ranks_min = 2,
         .prepare = open_for_one,
         .delivers = from_root_to_others},
        {.name = "one_get_all",
         .shape = to_root,
         .call = one_get_all,
         .ranks_min = 2,
         .prepare = open_to_read,
         .delivers = gathered_at_root},
        {.name = "all_put_all",
         .shape = all_ranks(one, each),
         .call = all_put_all,
         .ranks_min = 2,
         .prepare = open_for_each,
         .delivers = from_all_before},
        {.name = "all_get_all",
         .shape = all_ranks(one, each),
         .call = all_get_all,
         .ranks_min = 2,
         .prepare = open_to_read,
         .delivers = from_all_after},
    };
}

int put_messages(Exchange& e, int peer) {
    for (int i = 0; i < e.window; ++i) {
        const int code = put_message(e, peer, i);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int put_window(Exchange& e, int peer) {
    const int code = put_messages(e, peer);
    return code == MPI_SUCCESS ? MPI_Win_flush(peer, state_of<Window>(e).window) : code;
}

int get_window(Exchange& e, int peer) {
    for (int i = 0; i < e.window; ++i) {
        const int code = get_message(e, peer, i);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_Win_flush(peer, state_of<Window>(e).window);
}

int put_streaming(Exchange& e) {
    return e.rank == e.root ? put_window(e, partner(e)) : MPI_SUCCESS;
}

int get_streaming(Exchange& e) {
    return e.rank == e.root ? get_window(e, partner(e)) : MPI_SUCCESS;
}

int put_streaming_both(Exchange& e) {
    if (e.rank == e.root) return put_window(e, partner(e));
    return e.rank == partner(e) ? put_window(e, e.root) : MPI_SUCCESS;
}

int put_streaming_both_pscw(Exchange& e) {
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    const auto& state = state_of<Window>(e);
    return first_failure({MPI_Win_post(state.partner, 0, state.window),
                          MPI_Win_start(state.partner, 0, state.window),
                          put_messages(e, e.rank == e.root ? partner(e) : e.root),
                          MPI_Win_complete(state.window), MPI_Win_wait(state.window)});
}

int open_for_window_of_partner(Exchange& e) {
    const int code = create_window(e, e.receive, e.window);
    return code == MPI_SUCCESS ? name_partner(e) : code;
}

int open_for_window(Exchange& e) {
    return create_locked(e, e.receive, e.window);
}

Origins window_to_root(const Standpoint& s) {
    return at_root(s, repeated(s.window, {{partner(s)}}));
}

Entries streaming_entries() {
    const Entry common{.shape = all_ranks(Blocks::one, Blocks::window),
                       .ranks_min = 2,
                       .messages = [](const Exchange& e) { return e.window; }};
    Entries entries(4, common);
    entries[0].name = "put_streaming";
    entries[0].call = put_streaming;
    entries[0].prepare = open_for_window;
    entries[0].delivers = window_to_partner;
    entries[1].name = "get_streaming";
    entries[1].call = get_streaming;
    entries[1].prepare = open_to_read;
    entries[1].delivers = window_to_root;
    entries[2].name = "put_streaming_both";
    entries[2].call = put_streaming_both;
    entries[2].prepare = open_for_window;
    entries[2].delivers = window_to_each_partner;
    entries[3].name = "put_streaming_both_pscw";
    entries[3].call = put_streaming_both_pscw;
    entries[3].prepare = open_for_window_of_partner;
    entries[3].delivers = window_to_each_partner;
    return entries;
}

constexpr int passive_tag = 19;

int put_and_tell(Exchange& e) {
    const auto window = state_of<Window>(e).window;
    return first_failure({put_message(e, partner(e), 0), MPI_Win_flush(partner(e), window),
                          answer(e, partner(e), passive_tag)});
}

int passive_put(Exchange& e) {
    if (e.rank == e.root) return put_and_tell(e);
    if (e.rank != partner(e)) return MPI_SUCCESS;
    work(state_of<Window>(e).steps);
    return hear(e, e.root, passive_tag);
}

// The shortest of several times of the put alone, which the root broadcasts.
int calibrate_passive_put(Exchange& e) {
    constexpr int trials = 7;
    const auto clock = monotonic_clock();
    int code = create_locked(e, e.receive, 1);
    double alone_s = 1e300;
    for (int i = 0; i < trials && code == MPI_SUCCESS; ++i) {
        code = MPI_Barrier(e.comm);
        const double begin_s = clock.now_s();
        if (e.rank == e.root) code = first_failure({code, put_and_tell(e)});
        if (e.rank == partner(e)) code = first_failure({code, hear(e, e.root, passive_tag)});
        alone_s = std::min(alone_s, clock.now_s() - begin_s);
    }
    if (code != MPI_SUCCESS) return code;
    code = MPI_Bcast(&alone_s, 1, MPI_DOUBLE, e.root, e.comm);
    state_of<Window>(e).steps = steps_for(alone_s, calibrate_work_s(clock));
    return code;
}

Entries passive_entries() {
    return {{.name = "passive_put",
             .shape = all_ranks(Blocks::one, Blocks::one),
             .call = passive_put,
             .ranks_min = 2,
             .prepare = calibrate_passive_put,
             .lacks = work_lacks,
             .delivers = from_root_to_partner}};
}

}  // namespace

Entries one_sided_benchmarks() {
    Entries all;
    for (const auto& entries :
         {single_entries(), pattern_entries(), streaming_entries(), passive_entries()}) {
        all.insert(all.end(), entries.begin(), entries.end());
    }
    return all;
}

}  // namespace lanewise::measure
