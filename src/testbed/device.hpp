// SPDX-License-Identifier: BSD-3-Clause
//
// Device: a TUN or TAP interface in a network namespace, and the socket that commands come over.

#pragma once

#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "testbed/configuration.hpp"

namespace lanewise::testbed {

/* Makes the device of `end`, with checksums and segmentation left to whoever reads it. */
Result<Descriptor> open_device(const End& end, Layer layer);

/* Lets the interface of a device have its carrier, or lose it. */
Outcome set_carrier(const Descriptor& device, Carrier carrier);

/* Listens on a socket at `path`; each request and each answer is one packet. */
Result<Descriptor> listen_at(const std::string& path);

}  // namespace lanewise::testbed
