/* SPDX-License-Identifier: BSD-2-Clause */
/* got.c - finds and changes one entry of a library's global offset table [System V ABI, gABI 5]. */
#include "shim/got.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { SLOT = R_X86_64_JUMP_SLOT, DATA = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { SLOT = R_AARCH64_JUMP_SLOT, DATA = R_AARCH64_GLOB_DAT };
#else
enum { SLOT = -1, DATA = -1 };
#endif

/* What the dynamic section says, as addresses. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * slots; /* of functions */
	size_t slots_bytes;
	const ElfW(Rela) * data; /* of everything else */
	size_t data_bytes;
};

static bool tables_of(const struct dl_phdr_info *info, struct tables *tables)
{
	const ElfW(Dyn) *dyn = NULL;

	for (unsigned int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	*tables = (struct tables){0};
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		switch (dyn->d_tag) {
		case DT_SYMTAB:
			tables->symbols = (const ElfW(Sym) *)dyn->d_un.d_ptr;
			break;
		case DT_STRTAB:
			tables->names = (const char *)dyn->d_un.d_ptr;
			break;
		case DT_JMPREL:
			tables->slots = (const ElfW(Rela) *)dyn->d_un.d_ptr;
			break;
		case DT_PLTRELSZ:
			tables->slots_bytes = dyn->d_un.d_val;
			break;
		case DT_RELA:
			tables->data = (const ElfW(Rela) *)dyn->d_un.d_ptr;
			break;
		case DT_RELASZ:
			tables->data_bytes = dyn->d_un.d_val;
			break;
		}
	}
	return tables->symbols && tables->names;
}

/* Whether the page of an entry is read-only since the library was loaded. */
static bool is_relro(const struct dl_phdr_info *info, uintptr_t entry)
{
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_GNU_RELRO &&
		    entry - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
			return true;
	}
	return false;
}

static void entry_set(const struct dl_phdr_info *info, void **entry, void *value)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)entry & ~(uintptr_t)(page_bytes - 1));
	bool relro = is_relro(info, (uintptr_t)entry);

	if (__atomic_load_n(entry, __ATOMIC_RELAXED) == value)
		return;
	if (relro && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
		return;
	__atomic_store_n(entry, value, __ATOMIC_RELEASE);
	if (relro)
		(void)mprotect(page, page_bytes, PROT_READ);
}

static void entries_set(const struct dl_phdr_info *info, const struct tables *tables,
			const ElfW(Rela) * relocations, size_t bytes, void *value)
{
	for (size_t i = 0; i < bytes / sizeof(*relocations); i++) {
		const ElfW(Rela) *relocation = &relocations[i];
		int type = (int)ELF64_R_TYPE(relocation->r_info);
		const char *name =
		    tables->names + tables->symbols[ELF64_R_SYM(relocation->r_info)].st_name;

		if ((type == SLOT || type == DATA) &&
		    (strcmp(name, "mmap") == 0 || strcmp(name, "mmap64") == 0))
			entry_set(info, (void **)(info->dlpi_addr + relocation->r_offset), value);
	}
}

static int object_take(struct dl_phdr_info *info, size_t size, void *mmap_instead)
{
	const char *file = strrchr(info->dlpi_name, '/');
	struct tables tables;

	(void)size;
	if (!file || strncmp(file, "/libmlx5", 8) != 0 || !tables_of(info, &tables))
		return 0;
	entries_set(info, &tables, tables.slots, tables.slots_bytes, mmap_instead);
	entries_set(info, &tables, tables.data, tables.data_bytes, mmap_instead);
	return 0;
}

void got_take(void *mmap_instead)
{
	(void)dl_iterate_phdr(object_take, mmap_instead);
}
