/* SPDX-License-Identifier: MIT
 *
 * main.c: the program `simdattn`: finds the verb and hands the rest of the line to it. */
#include "bench/suggest.h"
#include "bench/verbs.h"
#include "dispatch/simdattn.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    sattn_verb_fn *run;
    const char *help;
} verbs[] = {
    {"info", sattn_verb_info, "this CPU and system, and the kernels that it can run"},
    {"bench", sattn_verb_bench, "verify kernels and time them against what the CPU can do"},
    {"check", sattn_verb_check,
     "accuracy of every kernel against the oracle, and against a baseline"},
    {"tune", sattn_verb_tune,
     "find out which kernels are the fastest here, and write a profile of it"},
    {"explain", sattn_verb_explain, "which kernels a call runs here, and why not others"},
    {"conform", sattn_verb_conform, "conformance suites, as ONNX's for Attention and Softmax"},
};

enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

static void print_help(FILE *file)
{
    fputs("usage: simdattn VERB [OPTION...]\n\n", file);
    for (int v = 0; v < N_VERBS; ++v)
        fprintf(file, "  %-8s %s\n", verbs[v].name, verbs[v].help);
    fputs("\n'simdattn VERB --help' lists the options of a verb.\n"
          "Exit codes: 0 good, 1 a kernel or check failed, 2 wrong usage or unreadable input,\n"
          "3 nothing was selected.\n",
          file);
}

/* A full disk or a closed pipe must not pass for success. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fputs("simdattn: writing to standard output failed\n", stderr);
    return code == SATTN_EXIT_GOOD ? SATTN_EXIT_FAILED : code;
}

int main(int argc, char **argv)
{
    const char *names[N_VERBS];
    for (int v = 0; v < N_VERBS; ++v)
        names[v] = verbs[v].name;
    if (argc < 2) {
        print_help(stderr);
        return SATTN_EXIT_USAGE;
    }
    const char *const word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return finish(SATTN_EXIT_GOOD);
    }
    if (strcmp(word, "--version") == 0) {
        printf("simdattn %s\n", sattn_version());
        return finish(SATTN_EXIT_GOOD);
    }
    for (int v = 0; v < N_VERBS; ++v)
        if (strcmp(word, verbs[v].name) == 0)
            return finish(verbs[v].run(argc - 2, argv + 2));
    char nearest[256];
    sattn_suggest(word, names, N_VERBS, nearest, sizeof nearest);
    fprintf(stderr, "simdattn: there is no verb '%s'%s\n", word, nearest);
    return SATTN_EXIT_USAGE;
}
