// SPDX-License-Identifier: BSD-3-Clause
//
// Harness: the collectives that a measurement itself needs.
//
// They consist of point-to-point messages only, so that tuning the collectives of
// the MPI does not change the measurement: changing the barrier of a benchmark was
// seen to change the ranking of what it measured (open-mpi/ompi#11022). Barrier:
// dissemination (Hensgen, Finkel and Manber, 1988), ceil(log2 n) rounds. Broadcast
// and maximum: binomial trees.

#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace lanewise::measure {

/* An MPI call failed. Caught where the C API begins (measure.cpp). */
class MpiFailure : public std::runtime_error {
  public:
    explicit MpiFailure(int code);
};

/* Throws MpiFailure unless `code` is MPI_SUCCESS. */
void check(int code);

class Harness {
  public:
    /* Duplicates `comm`, which must be an intracommunicator. */
    explicit Harness(MPI_Comm comm);
    ~Harness();
    Harness(const Harness&) = delete;
    Harness& operator=(const Harness&) = delete;

    MPI_Comm comm() const { return comm_; }
    int rank() const { return rank_; }
    int size() const { return size_; }

    void barrier() const;
    /* A barrier in which waiting ranks sleep, for ranks that share processors. */
    void sleeping_barrier() const;
    /* A barrier that also returns, on every rank, whether `flag` was set on any rank. */
    bool any(bool flag) const;
    void broadcast(std::span<std::byte> bytes) const;
    /* Every rank gets the elementwise maximum over the ranks. */
    void maximum(std::span<double> values) const;
    /* Rank r's values, for each r, on every rank; lengths may differ. */
    std::vector<std::vector<double>> collect(std::span<const double> values) const;

    void send(std::span<const std::byte> bytes, int peer) const;
    void receive(std::span<std::byte> bytes, int peer) const;

    template <typename T>
    void send_value(const T& value, int peer) const {
        send(std::as_bytes(std::span(&value, 1)), peer);
    }
    template <typename T>
    T receive_value(int peer) const {
        T value{};
        receive(std::as_writable_bytes(std::span(&value, 1)), peer);
        return value;
    }
    template <typename T>
    void broadcast_value(T& value) const {
        broadcast(std::as_writable_bytes(std::span(&value, 1)));
    }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

}  // namespace lanewise::measure
