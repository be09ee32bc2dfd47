/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * barrier.h - memory barriers, each named for the one order that it keeps between this processor
 * and the NIC. Nothing else in lib/ writes a bare fence.
 *
 * Rings and doorbell records are ordinary write-back memory that the NIC reads and writes through
 * the bus, coherently. The register page is mapped uncached (a UAR object of type NC), so a store
 * to it leaves the processor at once and in order.
 *
 * On x86 stores become visible in program order, loads are executed in program order, and an
 * uncached store waits for all earlier stores [SDM, memory ordering]: each barrier only has to stop
 * the compiler. Elsewhere a store barrier must reach the outer shareable domain, where the NIC is.
 */
#ifndef LIB_BARRIER_H
#define LIB_BARRIER_H

#if defined(__x86_64__)
#define LIB_DEVICE_STORE_FENCE() __asm__ volatile("" ::: "memory")
#define LIB_DEVICE_LOAD_FENCE() __asm__ volatile("" ::: "memory")
#elif defined(__aarch64__)
#define LIB_DEVICE_STORE_FENCE() __asm__ volatile("dmb oshst" ::: "memory")
#define LIB_DEVICE_LOAD_FENCE() __asm__ volatile("dmb oshld" ::: "memory")
#else
#define LIB_DEVICE_STORE_FENCE() __sync_synchronize()
#define LIB_DEVICE_LOAD_FENCE() __sync_synchronize()
#endif

/*
 * WQE, then doorbell record. The NIC fetches entries up to the count it finds in the record, at any
 * time: a record that is visible before its entries makes it execute garbage.
 */
#define lib_wqe_before_record() LIB_DEVICE_STORE_FENCE()

/*
 * Doorbell record, then register. The NIC answers the register by reading the record; a register
 * that runs ahead of its record is an error that the NIC reports.
 */
#define lib_record_before_register() LIB_DEVICE_STORE_FENCE()

/*
 * Owner bit, then the rest of the completion and the data it announces. The NIC writes data, then
 * the completion, its owner bit last; a load of the rest must not be taken before the load of the
 * bit.
 */
#define lib_owner_before_cqe() LIB_DEVICE_LOAD_FENCE()

/*
 * Reads of completions, then the consumer index. The NIC reuses a slot as soon as the index passed
 * it. A store never overtakes an earlier load on x86; elsewhere a full barrier of loads and stores
 * is due.
 */
#if defined(__x86_64__)
#define lib_cqe_before_consumer() __asm__ volatile("" ::: "memory")
#else
#define lib_cqe_before_consumer() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/*
 * The poller's mark, then the state of the queue it polls. This is one half of an asymmetric fence:
 * the other half is membarrier(2) in lib_cq_stop, which makes every running thread order its stores
 * before its loads. So the poller itself only has to stop the compiler [membarrier(2)].
 */
#define lib_mark_before_state() __asm__ volatile("" ::: "memory")

#endif
