// SPDX-License-Identifier: BSD-3-Clause
//
// From what a program says of a destination to what stands on the wire, and back.

#pragma once

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {

// None where the port, the GID index or the destination mean nothing.
std::optional<AddressVector> resolved(const Adapter& adapter, const ibv_ah_attr& attributes,
                                      std::uint8_t port);

ibv_ah_attr shown_address(const AddressVector& address);

}  // namespace lanewise::verbs::abi
