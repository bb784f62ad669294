// SPDX-License-Identifier: BSD-3-Clause
//
// See polling.hpp. A receive is posted again as soon as its message is taken, so
// that there is always room for all messages that can be in flight. At the end the
// two ranks exchange how many they sent, receive what is still in flight, and cancel
// the remaining receives.

#include "measure/availability/polling.hpp"

#include <algorithm>
#include <cmath>

#include "base/sizes.hpp"
#include "measure/availability/admission.hpp"
#include "measure/harness/work.hpp"
#include "measure/validate.hpp"

namespace lanewise::measure {
namespace {

constexpr int data_tag = 31;
constexpr int count_tag = 32;
// Where a poll takes many times the work between two polls, a repetition ends early: once it has
// taken this many times the work alone. The clock is read too rarely to matter.
constexpr double longest_over_work = 20.0;
constexpr std::uint64_t polls_per_clock_reading = 16;

/* The buffers that this rank sends from in rotation, and one for each message in flight. */
struct Places {
    std::vector<Buffer> send;
    std::vector<Buffer> receive;

    std::vector<std::span<std::byte>> all() const {
        std::vector<std::span<std::byte>> bytes;
        for (const auto& buffer : send) bytes.push_back(buffer.bytes());
        for (const auto& buffer : receive) bytes.push_back(buffer.bytes());
        return bytes;
    }
};

Outcome add(std::vector<Buffer>& buffers, std::size_t count, std::uint64_t bytes,
            const lw_buffers& layout) {
    for (std::size_t i = 0; i < count; ++i) {
        auto buffer = Buffer::create(bytes, layout);
        if (!buffer) return buffer.failure();
        buffers.push_back(std::move(*buffer));
    }
    return Done{};
}

Result<Places> make_places(const PollingPlan& plan, const lw_buffers& layout, int rank) {
    Places places;
    const auto depth = static_cast<std::size_t>(plan.depth);
    const auto sends = add(places.send, layout.rotating_sets, plan.message_bytes, layout);
    if (!sends) return sends.failure();
    const auto receives = add(places.receive, 2 * depth, plan.message_bytes, layout);
    if (!receives) return receives.failure();
    for (const auto& buffer : places.send) mark(buffer.bytes(), rank);
    return places;
}

class MessageLoop {
  public:
    MessageLoop(MPI_Comm comm, int peer, const PollingPlan& plan, const Places& places)
        : comm_(comm),
          peer_(peer),
          bytes_(static_cast<int>(plan.message_bytes)),
          depth_(static_cast<std::size_t>(plan.depth)),
          places_(places),
          sends_(depth_, MPI_REQUEST_NULL),
          receives_(2 * depth_, MPI_REQUEST_NULL) {
        for (std::size_t i = 0; i < receives_.size(); ++i) post(i);
    }

    void begin() {
        for (std::size_t i = 0; i < depth_; ++i) send(i);
    }

    // Takes what has arrived; for each a message goes back, as soon as a send is free.
    void poll() {
        take();
        for (std::size_t i = 0; i < depth_ && owed_ > 0; ++i) {
            int free = 1;
            if (sends_[i] != MPI_REQUEST_NULL)
                check(MPI_Test(&sends_[i], &free, MPI_STATUS_IGNORE));
            if (!free) continue;
            send(i);
            --owed_;
        }
    }

    long long received() const { return received_; }

    // Whether all that arrived is what the peer sends.
    bool right() const {
        for (std::size_t i = 0; i < receives_.size(); ++i) {
            if (filled_[i] && !is_marked(places_.receive[i].bytes(), peer_)) return false;
        }
        return true;
    }

    void finish() {
        long long sent_here = sent_;
        long long sent_there = 0;
        MPI_Request counting[2];
        check(MPI_Irecv(&sent_there, 1, MPI_LONG_LONG, peer_, count_tag, comm_, &counting[0]));
        check(MPI_Isend(&sent_here, 1, MPI_LONG_LONG, peer_, count_tag, comm_, &counting[1]));
        for (int exchanged = 0; !exchanged;) {
            take();
            check(MPI_Testall(2, counting, &exchanged, MPI_STATUSES_IGNORE));
        }
        while (received_ < sent_there) take();
        for (auto& request : receives_) {
            check(MPI_Cancel(&request));
            check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        check(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE));
    }

  private:
    void post(std::size_t i) {
        check(MPI_Irecv(places_.receive[i].data(), bytes_, MPI_BYTE, peer_, data_tag, comm_,
                        &receives_[i]));
    }
    void send(std::size_t i) {
        const auto turn = static_cast<std::size_t>(sent_) % places_.send.size();
        check(MPI_Isend(places_.send[turn].data(), bytes_, MPI_BYTE, peer_, data_tag, comm_,
                        &sends_[i]));
        ++sent_;
    }
    void take() {
        for (;;) {
            int which = MPI_UNDEFINED;
            int arrived = 0;
            check(MPI_Testany(static_cast<int>(receives_.size()), receives_.data(), &which,
                              &arrived, MPI_STATUS_IGNORE));
            if (!arrived || which == MPI_UNDEFINED) return;
            post(static_cast<std::size_t>(which));
            filled_[static_cast<std::size_t>(which)] = true;
            ++received_;
            ++owed_;
        }
    }

    MPI_Comm comm_;
    int peer_;
    int bytes_;
    std::size_t depth_;
    const Places& places_;
    std::vector<MPI_Request> sends_;
    std::vector<MPI_Request> receives_;
    std::vector<bool> filled_ = std::vector<bool>(receives_.size(), false);
    long long sent_ = 0;
    long long received_ = 0;
    long long owed_ = 0;
};

// The same work in the same pieces, without a message.
double alone_s(const Bench& bench, std::uint64_t polls, std::uint64_t steps) {
    const double begin_s = bench.clock().now_s();
    for (std::uint64_t i = 0; i < polls; ++i) work(steps);
    return bench.clock().now_s() - begin_s;
}

/* One repetition on one of the two ranks. */
struct PollingRun {
    double over_alone = 0.0; /* the time over that of the work alone */
    double rate_bytes_per_s = 0.0;
    bool right = true;
};

PollingRun run_once(const Bench& bench, const PollingPlan& plan, const Places& places,
                    double step_s) {
    const auto& harness = bench.harness();
    const auto steps = steps_for(plan.interval_s, step_s);
    const auto polls = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(plan.work_s / (static_cast<double>(steps) * step_s)));
    MessageLoop messages(harness.comm(), 1 - harness.rank(), plan, places);
    const double pure_s = alone_s(bench, polls, steps);
    bench.evict_caches(places.all());
    const double begin_s = bench.clock().now_s();
    std::uint64_t polled_count = 0;
    messages.begin();
    while (polled_count < polls) {
        work(steps);
        messages.poll();
        ++polled_count;
        const bool checks = polled_count % polls_per_clock_reading == 0;
        if (checks && bench.clock().now_s() - begin_s > longest_over_work * plan.work_s) break;
    }
    const double spent_s = bench.clock().now_s() - begin_s;
    const auto moved =
        2.0 * static_cast<double>(messages.received()) * static_cast<double>(plan.message_bytes);
    messages.finish();
    const double share = static_cast<double>(polled_count) / static_cast<double>(polls);
    return {spent_s / (share * pure_s), moved / spent_s, !plan.validate || messages.right()};
}

}  // namespace

Result<Polled> measure_polling(Bench& bench, const PollingPlan& plan) {
    const auto& harness = bench.harness();
    const auto& layout = bench.options().buffers;
    const auto buffers = layout.rotating_sets + 2 * static_cast<std::uint64_t>(plan.depth);
    const auto admitted = admit_availability(bench, "polling", plan.message_bytes, buffers);
    if (!admitted) return admitted.failure();
    const std::string what = "polling of " + format_size(plan.message_bytes) + " bytes ";
    const auto places = make_places(plan, layout, harness.rank());
    if (harness.any(!places))
        return Failure{LW_ERR_MEMORY,
                       what + (places ? "could not be set up" : places.failure().sentence)};
    const double step_s = calibrate_work_s(bench.clock());
    Polled polled;
    for (std::size_t i = 0; i < plan.repetitions; ++i) {
        double worst[3] = {0.0, -1e300, 0.0}; /* over alone; the rate, negated; wrong data */
        harness.barrier();
        if (harness.rank() < 2) {
            const auto run = run_once(bench, plan, *places, step_s);
            worst[0] = run.over_alone;
            worst[1] = -run.rate_bytes_per_s;
            worst[2] = run.right ? 0.0 : 1.0;
        }
        harness.maximum(worst);
        if (worst[2] > 0.0) return Failure{LW_ERR_OPERATION, what + "delivered wrong data"};
        polled.availability.push_back(1.0 / worst[0]);
        polled.rate_bytes_per_s.push_back(std::abs(worst[1]));
    }
    return polled;
}

}  // namespace lanewise::measure
