// SPDX-License-Identifier: BSD-3-Clause
//
// Lessons: who teaches whom the time, in which rounds, by HCA3.
//
// In round i = k..1 of k = floor(log2 n), member r with r mod 2^i = 0 teaches
// member r + 2^(i-1); members from 2^k on learn in one more round from r - 2^k.
// Whoever teaches has learned before. Pure.

#pragma once

#include <vector>

namespace lanewise::measure {

struct Lesson {
    int teacher = 0;
    int pupil = 0;
};

/* The lessons of `member_count` members, numbered from 0, who teaches first. */
std::vector<std::vector<Lesson>> hca3_rounds(int member_count);

}  // namespace lanewise::measure
