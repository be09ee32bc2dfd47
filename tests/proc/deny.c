/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deny.c - deny <command>...: runs the command as nobody (if this is root), without privileges to
 * gain, and with process_vm_readv, process_vm_writev and userfaultfd refused, as containers and
 * hardened systems do. Exit status 98: it could not be done; else the command's.
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534, FAILED = 98 };

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* A call of that number is refused; any other goes to the next rule. */
#define REFUSE(number)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),  \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static int fail(const char *what)
{
	fprintf(stderr, "deny: %s: %s\n", what, strerror(errno));
	return FAILED;
}

static int refuse_calls(void)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    REFUSE(SYS_process_vm_readv),
	    REFUSE(SYS_process_vm_writev),
	    REFUSE(SYS_userfaultfd),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The filter does what it is for. */
static int is_refused(long number)
{
	errno = 0;
	return syscall(number, 0, 0, 0, 0, 0, 0) == -1 && errno == EPERM;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: deny <command>...\n");
		return FAILED;
	}
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		return fail("cannot become nobody");
	if (refuse_calls() != 0)
		return fail("no seccomp filter");
	if (!is_refused(SYS_process_vm_readv) || !is_refused(SYS_process_vm_writev) ||
	    !is_refused(SYS_userfaultfd))
		return fail("the filter refuses nothing");
	execvp(argv[1], argv + 1);
	return fail(argv[1]);
}
