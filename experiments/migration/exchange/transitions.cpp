// SPDX-License-Identifier: BSD-3-Clause

#include "experiments/migration/exchange/transitions.hpp"

#include <lanewise/paths.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.hpp"

namespace lanewise::exchange {
namespace {

constexpr double timeout_s = 30;
constexpr auto settle = std::chrono::milliseconds(20);

struct ClosePaths {
    void operator()(lw_paths *one) const { lw_paths_close(one); }
};

void count_migrated(void *context, lw_paths_notice notice, ibv_qp *, std::uint8_t, std::int64_t) {
    if (notice == LW_PATHS_MIGRATED) ++*static_cast<std::atomic<int> *>(context);
}

double seconds(std::int64_t from_ns, std::int64_t to_ns) {
    return 1e-9 * static_cast<double>(to_ns - from_ns);
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

class Timer {
  public:
    Timer(const Settings& settings, Endpoint& endpoint) : settings_(settings), endpoint_(endpoint) {
        lw_paths_options options = LW_PATHS_OPTIONS;
        options.initiative = LW_PATHS_MANUAL;
        options.notice = count_migrated;
        options.callback_context = &migrated_;
        lw_paths *opened = nullptr;
        require(lw_paths_open(endpoint.context(), &options, &opened) == LW_OK,
                "the device cannot migrate paths");
        paths_.reset(opened);
        for (const QueuePair& qp : endpoint.queue_pairs()) {
            require(lw_paths_add(opened, qp.get()) == LW_OK, "a queue pair cannot be watched");
            qps_.push_back(qp.get());
        }
    }

    ~Timer() {
        for (ibv_qp *qp : qps_) lw_paths_remove(paths_.get(), qp);
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    void load() {
        for (ibv_qp *qp : qps_) {
            require(lw_paths_specify(paths_.get(), qp, nullptr) == LW_OK,
                    "there is no alternate path");
        }
        require(lw_paths_load(paths_.get(), qps_.data(), qps_.size()) == LW_OK,
                "an alternate path cannot be loaded");
    }
    void migrate() {
        require(lw_paths_migrate(paths_.get(), qps_.data(), qps_.size()) == LW_OK,
                "a queue pair cannot be migrated");
    }
    // One write, on the next queue pair; its time.
    double write();
    // Writes until all are armed, or have migrated `rounds` times; the mean of a write.
    double write_until_armed();
    double write_until_migrated(int rounds);
    void wait_until_migrated(int rounds) const;

  private:
    bool migrated(int rounds) const { return migrated_ >= rounds * settings_.queue_pairs; }

    const Settings& settings_;
    Endpoint& endpoint_;
    std::atomic<int> migrated_{0};
    std::vector<ibv_qp *> qps_;
    std::size_t next_ = 0;
    std::unique_ptr<lw_paths, ClosePaths> paths_;
};

double Timer::write() {
    const std::size_t index = next_++ % qps_.size();
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(endpoint_.memory(index)),
                  static_cast<std::uint32_t>(settings_.message_bytes), endpoint_.key()};
    ibv_send_wr work{};
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_RDMA_WRITE;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.rdma = {endpoint_.remote(index), endpoint_.remote_key()};
    ibv_send_wr *bad = nullptr;
    const std::int64_t from = monotonic_ns();
    require(ibv_post_send(qps_[index], &work, &bad) == 0, "post_send");
    ibv_wc done{};
    int count = 0;
    while (count == 0) count = ibv_poll_cq(endpoint_.completions(), 1, &done);
    require(count == 1 && done.status == IBV_WC_SUCCESS,
            std::string("a write ended with: ") + ibv_wc_status_str(done.status));
    return seconds(from, monotonic_ns());
}

double Timer::write_until_armed() {
    const std::int64_t from = monotonic_ns();
    std::vector<ibv_qp *> open = qps_;
    double sum = 0;
    int count = 0;
    while (!open.empty()) {
        require(seconds(from, monotonic_ns()) < timeout_s, "queue pairs do not get armed");
        sum += write();
        ++count;
        lw_paths_state state = LW_PATHS_STATE;
        const auto armed = [&](ibv_qp *qp) {
            require(lw_paths_query(paths_.get(), qp, &state) == LW_OK, "query");
            return state.path == IBV_MIG_ARMED;
        };
        // The one that the write has just used.
        ibv_qp *used = qps_[(next_ - 1) % qps_.size()];
        const auto found = std::find(open.begin(), open.end(), used);
        if (found != open.end() && armed(used)) open.erase(found);
    }
    return sum / count;
}

double Timer::write_until_migrated(int rounds) {
    const std::int64_t from = monotonic_ns();
    double sum = 0;
    int count = 0;
    do {
        require(seconds(from, monotonic_ns()) < timeout_s, "queue pairs do not migrate");
        sum += write();
        ++count;
    } while (!migrated(rounds));
    return sum / count;
}

void Timer::wait_until_migrated(int rounds) const {
    const std::int64_t from = monotonic_ns();
    while (!migrated(rounds)) {
        require(seconds(from, monotonic_ns()) < timeout_s, "queue pairs do not follow");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace

Transition time_transitions(const Settings& settings, Rendezvous& rendezvous, Endpoint& endpoint) {
    Timer timer(settings, endpoint);
    std::vector<double> armed;
    std::vector<double> migrated;
    std::vector<double> usual;
    std::vector<double> arming;
    std::vector<double> migrating;
    for (int round = 1; round <= settings.rounds; ++round) {
        if (settings.listens) {
            timer.load();
            rendezvous.swap({1});
            rendezvous.swap({2});  // the caller has commanded
            timer.wait_until_migrated(round);
            rendezvous.swap({3});
            continue;
        }
        rendezvous.swap({1});
        for (int i = 0; i < 2 * settings.queue_pairs; ++i) usual.push_back(timer.write());
        std::int64_t from = monotonic_ns();
        timer.load();
        arming.push_back(timer.write_until_armed());
        armed.push_back(seconds(from, monotonic_ns()));
        from = monotonic_ns();
        timer.migrate();
        migrating.push_back(timer.write_until_migrated(round));
        migrated.push_back(seconds(from, monotonic_ns()));
        rendezvous.swap({2});
        rendezvous.swap({3});
        std::this_thread::sleep_for(settle);
    }
    return {settings.queue_pairs, median(armed),  median(migrated),
            median(usual),        median(arming), median(migrating)};
}

}  // namespace lanewise::exchange
