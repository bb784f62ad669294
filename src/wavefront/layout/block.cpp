// SPDX-License-Identifier: BSD-3-Clause
//
// The block layout: squares of strip_rows side by side, as programs that read blocks want them.

#include "wavefront/layout/blocks.hpp"

namespace lanewise::wavefront::layouts {

extern const Layout block = layout_in_blocks<BlockLayout::block>("block");

}  // namespace lanewise::wavefront::layouts
