/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/program.h - whether a program can be run with a library preloaded. */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

/* tool_program_check - TOOL_OK, or TOOL_FAILED after a sentence that says why not. name as for
 * execvp. */
int tool_program_check(const char *name);

#endif
