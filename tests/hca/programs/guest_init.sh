#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The first and only process of the guest: it brings up the kernel's RDMA device on its network
# card, and then does what comes over the second serial line.

/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin:/usr/sbin:/sbin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev

while read -r module; do
    insmod "/modules/$module"
done </modules/order

ip link set lo up
for word in $(cat /proc/cmdline); do
    case $word in address=*) ip addr add "${word#address=}" dev eth0 ;; esac
done
ip link set eth0 up
rdma link add rxe0 type rxe netdev eth0
# The RDMA device has the address as a GID a moment after the interface has it.
until ibv_devinfo -d rxe0 -v | grep -q 'GID.*::ffff:'; do
    sleep 0.1
done

# What comes while nobody has the line open would be lost.
exec </dev/ttyS1 >/dev/ttyS1
stty raw -echo
echo ready
while read -r line; do
    eval "$line"
done
