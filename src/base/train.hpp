// SPDX-License-Identifier: BSD-3-Clause
//
// Train: the number of messages in one, for the code that measures trains and the code that fits
// them. The number is Netgauge's.

#pragma once

namespace lanewise {

inline constexpr int train_length = 16;

}  // namespace lanewise
