// SPDX-License-Identifier: BSD-3-Clause
//
// What tests of measuring share: handles that free themselves, options that
// cost little, a listener for the sentences a call reports.

#pragma once

#include <lanewise/measure.h>

#include <memory>
#include <string>
#include <vector>

#include "testing/ranks.hpp"

namespace lanewise::testing {

struct Free {
    void operator()(lw_operation *operation) const { lw_operation_free(operation); }
    void operator()(lw_samples *samples) const { lw_samples_free(samples); }
};
using Operation = std::unique_ptr<lw_operation, Free>;
using Samples = std::unique_ptr<lw_samples, Free>;

inline Operation operation_named(const char *name) {
    lw_operation *operation = nullptr;
    lw_operation_named(name, &operation);
    return Operation(operation);
}

inline lw_measure_options fixed_repetitions(std::uint32_t count) {
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.repetitions_min = options.repetitions_max = count;
    options.warmup_repetitions = 1;
    return options;
}

/* Keeps what one call reports. */
struct Listener {
    std::vector<lw_status> statuses;
    std::vector<std::string> sentences;

    void listen(lw_measure_options& options) {
        options.report_context = this;
        options.report = [](void *self, lw_status status, const char *sentence) {
            static_cast<Listener *>(self)->statuses.push_back(status);
            static_cast<Listener *>(self)->sentences.emplace_back(sentence);
        };
    }
};

/* A communicator that is freed; MPI_COMM_NULL is left alone. */
class Communicator {
  public:
    explicit Communicator(MPI_Comm comm) : comm_(comm) {}
    ~Communicator() {
        if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    MPI_Comm get() const { return comm_; }

  private:
    MPI_Comm comm_;
};

inline MPI_Comm duplicate_of(MPI_Comm comm) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &copy);
    return copy;
}

/* Ranks of equal `colour` together; MPI_COMM_NULL for MPI_UNDEFINED. */
inline MPI_Comm split_of(MPI_Comm comm, int colour) {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(comm, colour, 0, &part);
    return part;
}

}  // namespace lanewise::testing
