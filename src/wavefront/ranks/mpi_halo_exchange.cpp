// SPDX-License-Identifier: BSD-3-Clause
//
// See mpi_halo_exchange.hpp.

#include "wavefront/ranks/mpi_halo_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "base/background_thread.hpp"
#include "base/file.hpp"
#include "wavefront/stop.hpp"
#include "wavefront/store/checksum.hpp"
#include "wavefront/store/manifest.hpp"

namespace lanewise::wavefront {
namespace {

constexpr int tag_from_above = 1;
constexpr int tag_from_below = 2;
constexpr int tag_committed = 3;
// Pause between two polls of MPI when nothing moves; a halo is due every few hundred microseconds.
constexpr auto rest = std::chrono::microseconds(50);
// Logs of four passes are kept, so that the one being written never replaces one of the last
// three: with one wave per pass a neighbour may be two passes behind and need what preceded them.
constexpr int log_slots = 4;

std::size_t index(Side side) {
    return side == Side::upper ? 0 : 1;
}

// Every message begins with it.
struct Head {
    std::uint64_t epoch;
    std::uint64_t parallelogram;
    std::uint64_t iteration;
};

}  // namespace

MpiHaloExchange::MpiHaloExchange(MPI_Comm comm, std::string folder, std::size_t row_bytes,
                                 std::uint64_t iterations, Reading reading, Pace pace,
                                 const std::atomic<bool> *stop)
    : folder_(std::move(folder)),
      row_bytes_(row_bytes),
      iterations_(iterations),
      reading_(reading),
      pace_(pace),
      committed_(iterations),
      stop_(stop) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
    all_iterations_.resize(static_cast<std::size_t>(ranks_));
    MPI_Allgather(&iterations_, 1, MPI_UINT64_T, all_iterations_.data(), 1, MPI_UINT64_T, comm_);
    if (rank_ > 0) upper_committed_ = all_iterations_[static_cast<std::size_t>(rank_ - 1)];
}

MpiHaloExchange::~MpiHaloExchange() {
    // The run failed here: who waits for the others would wait for ever.
    if (progress_thread_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            abandoned_ = true;
        }
        progress_thread_.join();
    }
    if (cut_off_)
        leave_to_mpi();
    else
        MPI_Comm_free(&comm_);
}

Outcome MpiHaloExchange::start() {
    const int error =
        start_background_thread(progress_thread_, "lanewise-halo", [this] { progress(); });
    return error ? Outcome(Failure{LW_ERR_LIMIT, no_thread_sentence(error)}) : Done{};
}

Outcome MpiHaloExchange::prepare(const std::vector<std::byte>& first_rows,
                                 const std::vector<std::byte>& last_rows) {
    if (pace_ == Pace::together) return Done{};
    const auto read = read_logs();
    if (!read) return read;
    if (has(Side::upper)) send(Side::upper, {iterations_}, first_rows);
    if (!has(Side::lower)) return Done{};
    send(Side::lower, {iterations_}, last_rows);
    for (auto n = first_wanted_by(Side::lower); n < iterations_; ++n) {
        const auto found = logged_.find(n);
        if (found == logged_.end())
            return Failure{LW_ERR_IO, folder_ + " lacks the halo of iteration " +
                                          std::to_string(n) + ", which rank " +
                                          std::to_string(rank_ + 1) +
                                          " needs; restore all parts from copies"};
        post(rank_ + 1, tag_from_above, {n}, found->second);
    }
    return Done{};
}

void MpiHaloExchange::finish() {
    if (!progress_thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    progress_thread_.join();
}

bool MpiHaloExchange::has(Side side) const {
    return side == Side::upper ? rank_ > 0 : rank_ + 1 < ranks_;
}

// A neighbour that is a pass ahead needs nothing that it had before.
std::uint64_t MpiHaloExchange::first_wanted_by(Side side) const {
    const auto neighbour = side == Side::upper ? rank_ - 1 : rank_ + 1;
    const auto done = all_iterations_[static_cast<std::size_t>(neighbour)];
    const bool read_as_before = side == Side::upper || reading_ == Reading::previous;
    return read_as_before ? done : done + 1;
}

bool MpiHaloExchange::ready(Side side, const HaloVersion& version) const {
    const std::lock_guard lock(mutex_);
    return received_[index(side)].count(key(version)) > 0;
}

bool MpiHaloExchange::wait(Side side, const HaloVersion& version) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cut_off_ || received_[index(side)].count(key(version)) > 0; });
    return !cut_off_;
}

std::vector<std::byte> MpiHaloExchange::receive(Side side, const HaloVersion& version) {
    const std::lock_guard lock(mutex_);
    auto& received = received_[index(side)];
    auto rows = std::move(received.at(key(version)));
    received.erase(received.begin(), received.upper_bound(key(version)));
    return rows;
}

void MpiHaloExchange::send(Side side, const HaloVersion& version,
                           const std::vector<std::byte>& rows) {
    if (pace_ == Pace::own) {
        const std::lock_guard lock(mutex_);
        sent_[index(side)][version.iteration] = rows;
    }
    if (version.iteration < first_wanted_by(side)) return;
    if (side == Side::upper)
        post(rank_ - 1, tag_from_below, version, rows);
    else
        post(rank_ + 1, tag_from_above, version, rows);
}

void MpiHaloExchange::call_on_arrival(std::function<void()> arrived) {
    const std::lock_guard lock(mutex_);
    on_arrival_ = std::move(arrived);
}

Result<std::vector<double>> MpiHaloExchange::largest_changes(const std::vector<double>& changes) {
    std::unique_lock lock(mutex_);
    if (cut_off_) return Failure{LW_ERR_OPERATION, stopped_sentence};
    changes_ = changes;
    reduction_ = Reduction::requested;
    changed_.wait(lock, [&] { return cut_off_ || reduction_ == Reduction::done; });
    if (reduction_ != Reduction::done) return Failure{LW_ERR_OPERATION, stopped_sentence};
    reduction_ = Reduction::none;
    return changes_;
}

// Every part has just exchanged its changes, so none waits for halos of the discarded pass.
void MpiHaloExchange::begin_again() {
    Rows first;
    Rows last;
    {
        const std::lock_guard lock(mutex_);
        ++epoch_;
        first.swap(sent_[index(Side::upper)]);
        last.swap(sent_[index(Side::lower)]);
    }
    if (pace_ == Pace::together) return;
    if (has(Side::upper)) send(Side::upper, {committed_}, first.at(committed_));
    if (has(Side::lower)) send(Side::lower, {committed_}, last.at(committed_));
}

Outcome MpiHaloExchange::wait_for_all() {
    const auto all = largest_changes({0.0});
    return all ? Outcome(Done{}) : Outcome(all.failure());
}

Outcome MpiHaloExchange::before_commit(std::uint64_t iterations) {
    if (pace_ == Pace::together) return wait_for_all();
    std::unique_lock lock(mutex_);
    const auto may_commit = [&] { return rank_ == 0 || upper_committed_ >= iterations; };
    changed_.wait(lock, [&] { return cut_off_ || may_commit(); });
    if (!may_commit()) return Failure{LW_ERR_OPERATION, stopped_sentence};
    if (!has(Side::lower)) return Done{};
    std::vector<std::byte> text;
    const auto append = [&](const void *bytes, std::size_t size) {
        const auto *from = static_cast<const std::byte *>(bytes);
        text.insert(text.end(), from, from + size);
    };
    const auto& sent_down = sent_[index(Side::lower)];
    for (const auto& [n, rows] : sent_down) {
        append(&n, sizeof n);
        append(rows.data(), rows.size());
    }
    const auto sum = checksum(text.data(), text.size());
    append(&sum, sizeof sum);
    const auto first = sent_down.begin()->first;
    lock.unlock();
    return replace_file(log_path(next_slot(first)), text.data(), text.size());
}

// The slot of the same pass, where it was logged before a kill but not committed; else the oldest.
int MpiHaloExchange::next_slot(std::uint64_t first) const {
    int oldest = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (int slot = 0; slot < log_slots; ++slot) {
        std::uint64_t begins = 0;
        std::ifstream file(log_path(slot), std::ios::binary);
        const bool there = bool(file.read(reinterpret_cast<char *>(&begins), sizeof begins));
        if (there && begins == first) return slot;
        if (there && begins >= least) continue;
        least = there ? begins : 0;
        oldest = slot;
    }
    return oldest;
}

void MpiHaloExchange::after_commit(std::uint64_t iterations) {
    // The next pass overwrites the data that other parts would have to go back to. A run that is
    // stopped here has no next one.
    if (pace_ == Pace::together) {
        (void)wait_for_all();
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        committed_ = iterations;
        for (auto& given : sent_) given.erase(given.begin(), given.lower_bound(iterations));
    }
    if (has(Side::lower)) post(rank_ + 1, tag_committed, {iterations}, {});
}

std::string MpiHaloExchange::log_path(int slot) const {
    return folder_ + "/halos." + std::to_string(slot);
}

// A log that is torn or of another width is skipped; prepare() reports what is then missing.
Outcome MpiHaloExchange::read_logs() {
    // Parts that were killed under a Lanewise before the rename have logs of the old name.
    std::vector<std::string> paths;
    for (int slot = 0; slot < log_slots; ++slot)
        paths.push_back(folder_ + "/frontiers." + std::to_string(slot));
    for (int slot = 0; slot < log_slots; ++slot) paths.push_back(log_path(slot));
    for (const auto& path : paths) {
        const auto log = read_file(path);
        const std::string text = log ? *log : "";
        constexpr std::size_t number = sizeof(std::uint64_t);
        if (text.size() < number || (text.size() - number) % (number + row_bytes_) != 0) continue;
        std::uint64_t sum = 0;
        std::memcpy(&sum, text.data() + text.size() - number, number);
        if (sum != checksum(text.data(), text.size() - number)) continue;
        for (std::size_t at = 0; at + number < text.size(); at += number + row_bytes_) {
            std::uint64_t n = 0;
            std::memcpy(&n, text.data() + at, number);
            const auto *rows = reinterpret_cast<const std::byte *>(text.data() + at + number);
            // A pass that was logged and not committed will be logged again.
            if (n <= iterations_) logged_[n].assign(rows, rows + row_bytes_);
        }
    }
    return Done{};
}

void MpiHaloExchange::post(int to, int tag, const HaloVersion& version,
                           const std::vector<std::byte>& rows) {
    Message message{to, tag, std::vector<std::byte>(sizeof(Head) + rows.size()), MPI_REQUEST_NULL};
    std::ranges::copy(rows, message.bytes.begin() + sizeof(Head));
    const std::lock_guard lock(mutex_);
    const Head head{epoch_, version.parallelogram, version.iteration};
    std::memcpy(message.bytes.data(), &head, sizeof head);
    to_send_.push_back(std::move(message));
}

// Whether the run failed here or was stopped; then nothing comes that others wait for.
bool MpiHaloExchange::is_cut_off() {
    {
        const std::lock_guard lock(mutex_);
        cut_off_ = abandoned_ || stop_asked(stop_);
        if (!cut_off_) return false;
        if (on_arrival_) on_arrival_();
    }
    changed_.notify_all();
    return true;
}

// The others may still receive what was sent, and answer what was asked for, while MPI lives: it
// reads and writes these until then.
void MpiHaloExchange::leave_to_mpi() {
    struct Left {
        std::deque<Message> sent;
        std::vector<double> changes;
    };
    static std::mutex mutex;
    static auto *const all = new std::deque<Left>;
    const std::lock_guard lock(mutex);
    all->push_back({std::move(under_way_), std::move(changes_)});
}

void MpiHaloExchange::progress() {
    // A rank that has sent everything goes on receiving until all have, so that every message is
    // received.
    MPI_Request all_done = MPI_REQUEST_NULL;
    bool leaving = false;
    while (!is_cut_off()) {
        const bool sent = send_waiting();
        const bool received = receive_one();
        const bool reduced = advance_reduction();
        if (!leaving) {
            const std::lock_guard lock(mutex_);
            leaving = closing_ && to_send_.empty() && under_way_.empty();
            if (leaving) MPI_Ibarrier(comm_, &all_done);
        } else {
            int left = 0;
            MPI_Test(&all_done, &left, MPI_STATUS_IGNORE);
            if (left) return;
        }
        if (!sent && !received && !reduced) std::this_thread::sleep_for(rest);
    }
}

bool MpiHaloExchange::send_waiting() {
    bool moved = false;
    for (;;) {
        Message message;
        {
            const std::lock_guard lock(mutex_);
            if (to_send_.empty()) break;
            message = std::move(to_send_.front());
            to_send_.pop_front();
        }
        under_way_.push_back(std::move(message));
        auto& kept = under_way_.back();
        MPI_Isend(kept.bytes.data(), static_cast<int>(kept.bytes.size()), MPI_BYTE, kept.to,
                  kept.tag, comm_, &kept.request);
        moved = true;
    }
    while (!under_way_.empty()) {
        int done = 0;
        MPI_Test(&under_way_.front().request, &done, MPI_STATUS_IGNORE);
        if (!done) break;
        under_way_.pop_front();
        moved = true;
    }
    return moved;
}

bool MpiHaloExchange::advance_reduction() {
    {
        const std::lock_guard lock(mutex_);
        if (reduction_ == Reduction::requested) {
            MPI_Iallreduce(MPI_IN_PLACE, changes_.data(), static_cast<int>(changes_.size()),
                           MPI_DOUBLE, MPI_MAX, comm_, &reduction_request_);
            reduction_ = Reduction::under_way;
        }
        if (reduction_ != Reduction::under_way) return false;
        int done = 0;
        MPI_Test(&reduction_request_, &done, MPI_STATUS_IGNORE);
        if (!done) return false;
        reduction_ = Reduction::done;
    }
    changed_.notify_all();
    return true;
}

bool MpiHaloExchange::receive_one() {
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, &message, &status);
    if (!there) return false;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    MPI_Mrecv(bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    Head head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes.erase(bytes.begin(), bytes.begin() + sizeof head);
    {
        const std::lock_guard lock(mutex_);
        if (status.MPI_TAG == tag_committed)
            upper_committed_ = std::max(upper_committed_, head.iteration);
        else
            received_[index(status.MPI_TAG == tag_from_above ? Side::upper : Side::lower)]
                     [{head.epoch, head.parallelogram, head.iteration}] = std::move(bytes);
        if (on_arrival_) on_arrival_();
    }
    changed_.notify_all();
    return true;
}

}  // namespace lanewise::wavefront
