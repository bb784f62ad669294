// SPDX-License-Identifier: BSD-3-Clause
//
// Train: how many messages make one, where they are measured and where they
// are fitted. Netgauge's number.

#pragma once

namespace lanewise {

inline constexpr int train_length = 16;

}  // namespace lanewise
