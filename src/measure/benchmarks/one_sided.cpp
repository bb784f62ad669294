// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided: the root moves a message to or from the window of the rank after
// it: put, get, accumulate (sum), fetch_op (get_accumulate; of one element
// MPI_Fetch_and_op) and compare_swap (as many as the message has integers).
// Each under the four synchronisations: fence; post, start, complete, wait;
// lock; and flush, where the lock is held all along. What the synchronisation
// costs is part of the time.

#include "measure/benchmarks/one_sided.hpp"

namespace lanewise::measure {
namespace {

using Transfer = int (*)(Exchange&, MPI_Win);

int put(Exchange& e, MPI_Win window) {
    return MPI_Put(e.send, e.count, e.type, partner(e), 0, e.count, e.type, window);
}

int get(Exchange& e, MPI_Win window) {
    return MPI_Get(e.receive, e.count, e.type, partner(e), 0, e.count, e.type, window);
}

int accumulate(Exchange& e, MPI_Win window) {
    return MPI_Accumulate(e.send, e.count, e.type, partner(e), 0, e.count, e.type, MPI_SUM,
                          window);
}

int fetch_op(Exchange& e, MPI_Win window) {
    if (e.count == 1)
        return MPI_Fetch_and_op(e.send, e.receive, e.type, partner(e), 0, MPI_SUM, window);
    return MPI_Get_accumulate(e.send, e.count, e.type, e.receive, e.count, e.type, partner(e), 0,
                              e.count, e.type, MPI_SUM, window);
}

// Zero is what a swap looks for, so it happens where nothing has been written yet.
int compare_swap(Exchange& e, MPI_Win window) {
    static_assert(sizeof(int) == sizeof(float));
    int zero = 0; /* SMPI takes no constant */
    for (int i = 0; i < e.count; ++i) {
        const auto place = static_cast<MPI_Aint>(i) * static_cast<MPI_Aint>(sizeof(int));
        const int code = MPI_Compare_and_swap(e.send + place, &zero, e.receive + place, MPI_INT,
                                              partner(e), place, window);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

// A get reads what the partner would send, everything else changes what it receives.
template <Transfer transfer>
int open_window(Exchange& e) {
    const int code = create_window(e, transfer == get ? e.send : e.receive, 1);
    if (code != MPI_SUCCESS) return code;
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    auto& state = state_of<Window>(e);
    MPI_Group all = MPI_GROUP_NULL;
    const int other = e.rank == e.root ? partner(e) : e.root;
    return first_failure({MPI_Win_get_group(state.window, &all),
                          MPI_Group_incl(all, 1, &other, &state.partner),
                          MPI_Group_free(&all)});
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
    return first_failure({MPI_Win_post(state.partner, 0, state.window),
                          MPI_Win_wait(state.window)});
}

template <Transfer transfer>
int with_lock(Exchange& e) {
    const auto window = state_of<Window>(e).window;
    if (e.rank != e.root) return MPI_SUCCESS;
    return first_failure({MPI_Win_lock(MPI_LOCK_SHARED, partner(e), 0, window),
                          transfer(e, window), MPI_Win_unlock(partner(e), window)});
}

template <Transfer transfer>
int with_flush(Exchange& e) {
    const auto window = state_of<Window>(e).window;
    if (e.rank != e.root) return MPI_SUCCESS;
    return first_failure({transfer(e, window), MPI_Win_flush(partner(e), window)});
}

template <Transfer transfer>
void add(Entries& entries, Element element, const std::array<const char *, 4>& names) {
    const Entry common{.shape = all_ranks(Blocks::one, Blocks::one), .element = element,
                       .ranks_min = 2};
    const std::array<int (*)(Exchange&), 4> calls = {with_fence<transfer>, with_pscw<transfer>,
                                                     with_lock<transfer>, with_flush<transfer>};
    for (std::size_t i = 0; i < names.size(); ++i) {
        entries.push_back(common);
        entries.back().name = names[i];
        entries.back().call = calls[i];
        entries.back().prepare = i == 3 ? open_locked<transfer> : open_window<transfer>;
    }
}

}  // namespace

Entries one_sided_kernels() {
    Entries entries;
    add<put>(entries, Element::byte, {"put_fence", "put_pscw", "put_lock", "put_flush"});
    add<get>(entries, Element::byte, {"get_fence", "get_pscw", "get_lock", "get_flush"});
    add<accumulate>(entries, Element::real,
                    {"accumulate_fence", "accumulate_pscw", "accumulate_lock",
                     "accumulate_flush"});
    add<fetch_op>(entries, Element::real,
                  {"fetch_op_fence", "fetch_op_pscw", "fetch_op_lock", "fetch_op_flush"});
    add<compare_swap>(entries, Element::real,
                      {"compare_swap_fence", "compare_swap_pscw", "compare_swap_lock",
                       "compare_swap_flush"});
    return entries;
}

}  // namespace lanewise::measure
