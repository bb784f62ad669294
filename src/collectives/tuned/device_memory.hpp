// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory: pointers to the memory of a GPU, which only its driver can tell from others. The
// driver's function is looked up where the program has loaded the driver; nothing is linked.

#pragma once

namespace lanewise::tuned {

/* Whether this process has loaded a driver that knows device memory. */
bool has_devices();

bool is_device_memory(const void *pointer);

}  // namespace lanewise::tuned
