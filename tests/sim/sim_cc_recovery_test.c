/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: a flow's rate after notifications is the reference model's to the bit, with the paper's
 * rules and with the cards'.
 * How: sim/fluid.h, row by row with the curves of tests/golden/cc/recovery.csv.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/fluid.h"

#define GBPS 1000000000ull
#define US   1000ull
#define ONE  (1u << 30)

/* ---- the curves -------------------------------------------------------------------------------
 */

struct curve {
	const char *name;
	const struct nic_cc_params *params;
	uint64_t line_bps;
	uint64_t cnp_every_us;
	uint32_t cnp_count;
	uint32_t row_count;
};

static uint32_t alpha_now(const struct nic_cc *cc, uint64_t now_ns)
{
	struct nic_cc copy = *cc;

	/* A notification brings alpha up to date; the cards' rules move it at the period's end. */
	copy.dcqcn.cut_allowed_ns = NIC_CC_NEVER;
	nic_cc_on_cnp(&copy, now_ns);
	if (copy.params->dcqcn.paper_rules)
		return (uint32_t)((copy.dcqcn.alpha_q30 - (ONE >> 8)) * 256ull / 255 + 1);
	return copy.dcqcn.alpha_q30;
}

static void expect_row(struct sim_fluid *f, const char *row)
{
	unsigned long long rate, target;
	unsigned timers, bytes;
	double alpha;

	assert_int_equal(
	    sscanf(row, "%llu,%llu,%lf,%u,%u", &rate, &target, &alpha, &timers, &bytes), 5);
	if (!f->cc.dcqcn.active) { /* the model's goes on, one bit/s below the line */
		assert_true(alpha < 1.0 / 1024);
		assert_int_equal(f->cc.rate_bps, target);
		assert_int_equal(rate, target - 1);
		return;
	}
	assert_int_equal(f->cc.rate_bps, rate);
	assert_int_equal(f->cc.dcqcn.target_bps, target);
	assert_int_equal(f->cc.dcqcn.timer_count, timers);
	assert_int_equal(f->cc.dcqcn.byte_count, bytes);
	assert_true(abs((int)(alpha_now(&f->cc, f->now_ns) - (uint32_t)(alpha * ONE + 0.5))) <= 2);
}

static void expect_curve(const struct curve *curve)
{
	struct sim_fluid f;
	size_t name_len = strlen(curve->name);
	uint32_t cnps = 0, rows = 0;
	char path[512], line[256];
	FILE *file;

	sim_fluid_open(&f, curve->params, curve->line_bps);
	snprintf(path, sizeof(path), "%s/tests/golden/cc/recovery.csv", getenv("RIG5_SOURCE_DIR"));
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		char *row;
		uint64_t us;

		if (strncmp(line, curve->name, name_len) != 0 || line[name_len] != ',')
			continue;
		us = strtoull(line + name_len + 1, &row, 10);
		for (; cnps < curve->cnp_count && cnps * curve->cnp_every_us <= us; cnps++) {
			sim_fluid_run_to(&f, cnps * curve->cnp_every_us * US);
			sim_fluid_cnp(&f);
		}
		sim_fluid_run_to(&f, us * US);
		expect_row(&f, row + 1);
		rows++;
	}
	fclose(file);
	assert_int_equal(rows, curve->row_count);
}

static void paper_one_notification(void **state)
{
	(void)state;
	expect_curve(&(struct curve){"A1", &nic_cc_paper, 40 * GBPS, 50, 1, 21});
}

static void paper_ten_notifications(void **state)
{
	(void)state;
	expect_curve(&(struct curve){"A10", &nic_cc_paper, 40 * GBPS, 50, 10, 201});
}

static void vendor_one_notification(void **state)
{
	(void)state;
	expect_curve(&(struct curve){"V1", &nic_cc_vendor, 100 * GBPS, 4, 1, 61});
}

static void vendor_ten_notifications(void **state)
{
	(void)state;
	expect_curve(&(struct curve){"V10", &nic_cc_vendor, 100 * GBPS, 4, 10, 81});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paper_one_notification),
	    cmocka_unit_test(paper_ten_notifications),
	    cmocka_unit_test(vendor_one_notification),
	    cmocka_unit_test(vendor_ten_notifications),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
