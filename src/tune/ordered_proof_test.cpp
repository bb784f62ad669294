// SPDX-License-Identifier: BSD-3-Clause

#include "tune/ordered_proof.hpp"

#include <gtest/gtest.h>

namespace lanewise::tune {
namespace {

TEST(OrderedProof, GivesNoTwoRanksMapsThatCommute) {
    for (int first = 0; first < 256; ++first) {
        for (int second = 0; second < first; ++second) {
            EXPECT_NE(composed(map_of(first), map_of(second)),
                      composed(map_of(second), map_of(first)))
                << second << " and " << first;
        }
    }
}

}  // namespace
}  // namespace lanewise::tune
