#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The guest's first process: loads Soft-RoCE, gives the network card its addresses, and runs the
# agent on the second serial line. The guest is 10.77.0.2 and fd77::2. With "spin" on its command
# line it makes queue pairs in the background until they have large numbers.
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do
	insmod "/lib/modules/$module.ko" || echo "insmod $module failed"
done </lib/modules/order
/sbin/ip link set lo up
/sbin/ip link set eth0 mtu 4500
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
/sbin/ip address add 10.77.0.2/24 dev eth0
/sbin/ip address add fd77::2/64 dev eth0 nodad
/sbin/ip link set eth0 up
/sbin/rdma link add rxe0 type rxe netdev eth0
i=0
while [ ! -e /dev/infiniband/uverbs0 ] && [ $i -lt 100 ]; do
	i=$((i + 1))
	usleep 50000
done
ulimit -l unlimited
stty -F /dev/ttyS1 raw -echo
echo "up after $(cut -d' ' -f1 /proc/uptime) s"
case " $(cat /proc/cmdline) " in
*" spin "*) agent rxe0 65535 & ;;
esac
while :; do
	agent rxe0 </dev/ttyS1 >/dev/ttyS1 2>/dev/console
	echo "the agent ended: $?"
done
