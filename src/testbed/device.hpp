// SPDX-License-Identifier: BSD-3-Clause
//
// Device: a TUN or TAP interface in a network namespace, and the socket that commands come over.

#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"
#include "testbed/configuration.hpp"

namespace lanewise::testbed {

/* A file descriptor that closes itself. */
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();
    int number() const { return number_; }

  private:
    int number_;
};

/* Makes the device of `end`, with checksums and segmentation left to whoever reads it. */
Result<Descriptor> open_device(const End& end, Layer layer);

/* Lets the interface of a device have its carrier, or lose it. */
Outcome set_carrier(const Descriptor& device, Carrier carrier);

/* Listens on a socket at `path`; each request and each answer is one packet. */
Result<Descriptor> listen_at(const std::string& path);

}  // namespace lanewise::testbed
