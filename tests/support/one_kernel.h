/* SPDX-License-Identifier: MIT
 *
 * one_kernel.h: options that make whole calls of the public interface use the kernel that a test is
 * run for, whatever the call's shape.
 *
 * A fused kernel runs alone. A kernel of qk, softmax or av runs in a chain with, for the other
 * steps, the first rows of its ISA in the registry, named too: else a call of few rows might take
 * another kernel than one of many, and results would differ in their last bits. */
#ifndef SATTN_TESTS_SUPPORT_ONE_KERNEL_H
#define SATTN_TESTS_SUPPORT_ONE_KERNEL_H

#include "dispatch/simdattn.h"
#include "tests/support/harness.h"

/* Their strings live until the next call. */
sattn_options one_kernel_options(const test_run *run);

bool one_kernel_is_chain(const test_run *run);

#endif
