// SPDX-License-Identifier: BSD-3-Clause
//
// The frontier layout: the same squares with top, left, interior, right and bottom apart, so that
// each frontier of a block is one read.

#include "wavefront/layout/blocks.hpp"

namespace lanewise::wavefront::layouts {

extern const Layout frontier = layout_in_blocks<BlockLayout::frontier>("frontier");

}  // namespace lanewise::wavefront::layouts
