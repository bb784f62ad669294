// SPDX-License-Identifier: BSD-3-Clause
//
// See device.hpp.  TUNSETOFFLOAD and IFF_VNET_HDR: Linux, Documentation/networking/tuntap.rst.

#include "testbed/device.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace lanewise::testbed {
namespace {

constexpr int waiting_requests = 16;
constexpr unsigned long tunsetcarrier = _IOW('T', 226, int); /* headers before 4.20 lack it */

Failure failed(const std::string& what) {
    return {LW_ERR_IO, what + ": " + std::strerror(errno)};
}

}  // namespace

Result<Descriptor> open_device(const End& end, Layer layer) {
    if (!end.network_namespace.empty()) {
        const Descriptor home(open(end.network_namespace.c_str(), O_RDONLY | O_CLOEXEC));
        if (home.number() < 0 || setns(home.number(), CLONE_NEWNET) != 0)
            return failed("cannot enter the network namespace " + end.network_namespace);
    }
    Descriptor device(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (device.number() < 0) return failed("cannot open /dev/net/tun");
    ifreq request{};
    if (end.device.empty() || end.device.size() >= sizeof request.ifr_name)
        return Failure{LW_ERR_ARGUMENT, "\"" + end.device + "\" is not a name for a device"};
    std::memcpy(request.ifr_name, end.device.c_str(), end.device.size());
    const int kind = layer == Layer::ip ? IFF_TUN : IFF_TAP;
    request.ifr_flags = static_cast<short>(kind | IFF_NO_PI | IFF_VNET_HDR);
    if (ioctl(device.number(), TUNSETIFF, &request) != 0)
        return failed("cannot make the device " + end.device);
    int header_bytes = sizeof(VirtioHeader);
    const unsigned offload = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    if (ioctl(device.number(), TUNSETVNETHDRSZ, &header_bytes) != 0 ||
        ioctl(device.number(), TUNSETOFFLOAD, offload) != 0)
        return failed("cannot set up the device " + end.device);
    return device;
}

Outcome set_carrier(const Descriptor& device, Carrier carrier) {
    int there = carrier == Carrier::up ? 1 : 0;
    if (ioctl(device.number(), tunsetcarrier, &there) != 0)
        return failed("cannot change the carrier of a device");
    return Done{};
}

Result<Descriptor> listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return Failure{LW_ERR_ARGUMENT, "the path " + path + " is too long for a socket"};
    std::memcpy(address.sun_path, path.c_str(), path.size());
    Descriptor listening(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const auto *generic = reinterpret_cast<const sockaddr *>(&address);
    if (listening.number() < 0 || bind(listening.number(), generic, sizeof address) != 0 ||
        listen(listening.number(), waiting_requests) != 0)
        return failed("cannot listen on " + path);
    return listening;
}

}  // namespace lanewise::testbed
