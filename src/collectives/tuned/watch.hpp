// SPDX-License-Identifier: BSD-3-Clause
//
// Watch: whether a rule that was faster when it was tuned is slower in this job. Of the calls under
// a rule, the one in 64 that is left to the MPI for the report makes a pair with the call before it
// if both have the same size: the logarithm of the rule's time over the MPI's. Each rank has its
// own; their mean over the ranks is one observation, the same on all of them.
//
// After every 16 observations the ranks look whether the mean of all so far is above 0, by
// Student's test. The k-th look is made at 0.05 / (k (k + 1)), so that a rule that is not slower is
// put aside with a probability of at most 5 %, however long the job runs (Bonferroni over the
// looks, whose levels add up to 0.05).
//
// Pure: times and observations in, verdicts out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::tuned {

class Watch {
  public:
    static constexpr std::size_t pairs_in_look = 16;

    /* A call that its rule executed, and one that was left to the MPI. */
    void ruled(std::uint64_t message_bytes, std::int64_t elapsed_ns);
    void sampled(std::uint64_t message_bytes, std::int64_t elapsed_ns);

    /* Whether it is time to look; then `pairs` are to be replaced by their means over the ranks. */
    bool is_due() const { return pairs_.size() >= pairs_in_look; }
    std::span<double> pairs() { return pairs_; }
    /* Takes them in. Whether the rule is slower than the MPI's own. */
    bool look();

    std::size_t observations() const { return count_; }
    /* The rule's time over the MPI's: the geometric mean. */
    double ratio() const;

  private:
    std::uint64_t ruled_bytes_ = 0;
    std::int64_t ruled_ns_ = 0; /* 0: no call since the last pair */
    std::vector<double> pairs_;
    std::size_t looks_ = 0;
    std::size_t count_ = 0;
    double mean_ = 0.0;
    double squares_ = 0.0; /* of distances from the mean (Welford) */
};

}  // namespace lanewise::tuned
