// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory: pointers to the memory of a GPU, which only its driver can tell from others. The
// driver's function is looked up where the program has loaded the driver; nothing is linked.

#pragma once

#include <cstddef>

namespace lanewise::tuned {

/* Whether this process has loaded a driver that knows device memory. */
bool has_devices();

bool is_device_memory(const void *pointer);

/* Copies device memory to the host, once the work before it is done; false where it cannot. */
bool copy_from_device(void *to, const void *from, std::size_t bytes);

}  // namespace lanewise::tuned
