/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard_x86_64.S - the guarded accesses of host/guard.h for x86-64.
 *
 * Nothing here touches the stack or a callee-saved register, so that the fix-up can return from any
 * instruction: the handler only moves the instruction pointer. Two ranges: in the second the upper
 * halves of vector registers are in use, and its fix-up clears them.
 *
 * Loads come before stores in every copy of up to 128 bytes; stores ascend. No string instruction:
 * its stores are not ordered among themselves [SDM 3A Fast-String Operation], and applications
 * poll on the last byte.
 */
#if defined(__x86_64__)

	.text
	.hidden host_guard_begin
	.hidden host_guard_wide_begin
	.hidden host_guard_end
	.hidden host_guard_fixup
	.hidden host_guard_wide_fixup
	.hidden host_guard_wide

	.macro function name
	.globl \name
	.hidden \name
	.type \name, @function
	.p2align 5
\name:
	endbr64
	.endm

	.globl host_guard_begin
host_guard_begin:

/* bool host_guard_load32(void *ctx, uint64_t va rsi, uint32_t *value rdx) */
	function host_guard_load32
	movl (%rsi), %eax
	movl %eax, (%rdx)
	movl $1, %eax
	ret
	.size host_guard_load32, .-host_guard_load32

/* bool host_guard_store32(void *ctx, uint64_t va rsi, uint32_t value edx) */
	function host_guard_store32
	movl %edx, (%rsi)
	movl $1, %eax
	ret
	.size host_guard_store32, .-host_guard_store32

/* bool host_guard_cas64(void *ctx, uint64_t va rsi, compare rdx, swap rcx, uint64_t *old r8) */
	function host_guard_cas64
	movq %rdx, %rax
	lock cmpxchgq %rcx, (%rsi)
	movq %rax, (%r8)
	movl $1, %eax
	ret
	.size host_guard_cas64, .-host_guard_cas64

/* bool host_guard_copy(void *ctx, void *to rsi, const void *from rdx, size_t len rcx) */
	function host_guard_copy
	cmpq $16, %rcx
	jb .Lbelow_16
	cmpq $32, %rcx
	ja .Lover_32
	movups (%rdx), %xmm0
	movups -16(%rdx,%rcx), %xmm1
	movups %xmm0, (%rsi)
	movups %xmm1, -16(%rsi,%rcx)
	movl $1, %eax
	ret
.Lover_32:
	cmpq $64, %rcx
	ja .Lover_64
	movups (%rdx), %xmm0
	movups 16(%rdx), %xmm1
	movups -32(%rdx,%rcx), %xmm2
	movups -16(%rdx,%rcx), %xmm3
	movups %xmm0, (%rsi)
	movups %xmm1, 16(%rsi)
	movups %xmm2, -32(%rsi,%rcx)
	movups %xmm3, -16(%rsi,%rcx)
	movl $1, %eax
	ret
.Lbelow_16:
	cmpl $8, %ecx
	jb .Lbelow_8
	movq (%rdx), %r8
	movq -8(%rdx,%rcx), %r9
	movq %r8, (%rsi)
	movq %r9, -8(%rsi,%rcx)
	movl $1, %eax
	ret
.Lbelow_8:
	cmpl $4, %ecx
	jb .Lbelow_4
	movl (%rdx), %r8d
	movl -4(%rdx,%rcx), %r9d
	movl %r8d, (%rsi)
	movl %r9d, -4(%rsi,%rcx)
	movl $1, %eax
	ret
.Lbelow_4:
	testl %ecx, %ecx
	jz .Ldone
	movzbl (%rdx), %r8d
	movzbl -1(%rdx,%rcx), %r9d
	shrl $1, %ecx			/* 1: first byte only; 2 and 3: the byte at 1 too */
	jz .Lone
	movzbl 1(%rdx), %r10d
	movb %r8b, (%rsi)
	movb %r10b, 1(%rsi)
	adcl $0, %ecx			/* shift's carry: 3 gives index 2, 2 gives index 1 */
	movb %r9b, (%rsi,%rcx)
.Ldone:
	movl $1, %eax
	ret
.Lone:
	movb %r8b, (%rsi)
	movl $1, %eax
	ret

.Lover_64:
	cmpq $128, %rcx
	ja .Lover_128
	movups (%rdx), %xmm0
	movups 16(%rdx), %xmm1
	movups 32(%rdx), %xmm2
	movups 48(%rdx), %xmm3
	movups -64(%rdx,%rcx), %xmm4
	movups -48(%rdx,%rcx), %xmm5
	movups -32(%rdx,%rcx), %xmm6
	movups -16(%rdx,%rcx), %xmm7
	movups %xmm0, (%rsi)
	movups %xmm1, 16(%rsi)
	movups %xmm2, 32(%rsi)
	movups %xmm3, 48(%rsi)
	movups %xmm4, -64(%rsi,%rcx)
	movups %xmm5, -48(%rsi,%rcx)
	movups %xmm6, -32(%rsi,%rcx)
	movups %xmm7, -16(%rsi,%rcx)
	movl $1, %eax
	ret
.Lover_128:
	cmpb $0, host_guard_wide(%rip)
	jne .Lwide
/* Blocks of 64 while more than 64 remain, then the last 64, which overlap the block before. */
	.p2align 4
.Lblock:
	movups (%rdx), %xmm0
	movups 16(%rdx), %xmm1
	movups 32(%rdx), %xmm2
	movups 48(%rdx), %xmm3
	addq $64, %rdx
	movups %xmm0, (%rsi)
	movups %xmm1, 16(%rsi)
	movups %xmm2, 32(%rsi)
	movups %xmm3, 48(%rsi)
	addq $64, %rsi
	subq $64, %rcx
	cmpq $64, %rcx
	ja .Lblock
	movups -64(%rdx,%rcx), %xmm4
	movups -48(%rdx,%rcx), %xmm5
	movups -32(%rdx,%rcx), %xmm6
	movups -16(%rdx,%rcx), %xmm7
	movups %xmm4, -64(%rsi,%rcx)
	movups %xmm5, -48(%rsi,%rcx)
	movups %xmm6, -32(%rsi,%rcx)
	movups %xmm7, -16(%rsi,%rcx)
	movl $1, %eax
	ret
	.size host_guard_copy, .-host_guard_copy

/* The same with 256-bit registers. The first block brings the destination to a multiple of 32: a
 * store that crosses a cache line costs twice what such a load does. */
	.globl host_guard_wide_begin
host_guard_wide_begin:
.Lwide:
	vmovdqu (%rdx), %ymm0
	vmovdqu %ymm0, (%rsi)
	movq %rsi, %rax
	negq %rax
	andl $31, %eax			/* 0 to 31 bytes are copied twice */
	addq %rax, %rdx
	addq %rax, %rsi
	subq %rax, %rcx
	cmpq $128, %rcx
	jbe .Lwide_tail
	.p2align 4
.Lwide_block:
	vmovdqu (%rdx), %ymm0
	vmovdqu 32(%rdx), %ymm1
	vmovdqu 64(%rdx), %ymm2
	vmovdqu 96(%rdx), %ymm3
	subq $-128, %rdx
	vmovdqa %ymm0, (%rsi)
	vmovdqa %ymm1, 32(%rsi)
	vmovdqa %ymm2, 64(%rsi)
	vmovdqa %ymm3, 96(%rsi)
	subq $-128, %rsi
	addq $-128, %rcx
	cmpq $128, %rcx
	ja .Lwide_block
/* 1 to 128 bytes remain, aligned: steps of 32, and a last one that ends where the copy ends and
 * overlaps bytes that are written already. */
.Lwide_tail:
	cmpq $32, %rcx
	jbe .Lwide_last
	vmovdqu (%rdx), %ymm0
	vmovdqa %ymm0, (%rsi)
	addq $32, %rdx
	addq $32, %rsi
	subq $32, %rcx
	jmp .Lwide_tail
.Lwide_last:
	vmovdqu -32(%rdx,%rcx), %ymm0
	vmovdqu %ymm0, -32(%rsi,%rcx)
	vzeroupper
	movl $1, %eax
	ret

	.globl host_guard_end
host_guard_end:

	.globl host_guard_wide_fixup
host_guard_wide_fixup:
	vzeroupper
	.globl host_guard_fixup
host_guard_fixup:
	xorl %eax, %eax
	ret

#endif
	.section .note.GNU-stack, "", @progbits
