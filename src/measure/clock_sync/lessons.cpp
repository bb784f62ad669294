// SPDX-License-Identifier: BSD-3-Clause
//
// See lessons.hpp.

#include "measure/clock_sync/lessons.hpp"

namespace lanewise::measure {

std::vector<std::vector<Lesson>> hca3_rounds(int member_count) {
    std::vector<std::vector<Lesson>> rounds;
    int whole = 1;
    while (2 * whole <= member_count) whole *= 2;
    for (int half = whole / 2; half >= 1; half /= 2) {
        auto& round = rounds.emplace_back();
        for (int teacher = 0; teacher < whole; teacher += 2 * half) {
            round.push_back({teacher, teacher + half});
        }
    }
    if (whole == member_count) return rounds;
    auto& last = rounds.emplace_back();
    for (int pupil = whole; pupil < member_count; ++pupil) last.push_back({pupil - whole, pupil});
    return rounds;
}

}  // namespace lanewise::measure
