// SPDX-License-Identifier: MIT
//
// shim.cpp: the C interface of shim.h over Google Benchmark. The only C++ file: it is built with
// baseline flags and includes nothing of the project but shim.h, so that no inline function of a
// C++ library can be emitted with instructions that this CPU may lack.

#include "bench/shim.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <iostream>
#include <string>
#include <vector>

// Stands in where the library declares no function of this name (1.7): where it does, that
// one is no template and is preferred. Not in the unnamed namespace, which would hide the other.
namespace sattn_fallback
{
template <int = 0> static std::string GetBenchmarkVersion()
{
    return "unknown";
}
} // namespace sattn_fallback

namespace
{

benchmark::State &from_c(sattn_shim_state *state)
{
    return *reinterpret_cast<benchmark::State *>(state);
}

class QuietReporter final : public benchmark::BenchmarkReporter
{
  public:
    bool ReportContext(const Context &) override
    {
        return true;
    }
    void ReportRuns(const std::vector<Run> &) override
    {
    }
};

// The namespace of the row's type differs between versions.
template <typename Row> void apply(const sattn_shim_options &options, Row *row)
{
    if (options.manual_time)
        row->UseManualTime();
    else
        row->UseRealTime();
    if (options.iterations > 0)
        row->Iterations(static_cast<benchmark::IterationCount>(options.iterations));
    else if (options.min_time_s > 0)
        row->MinTime(options.min_time_s);
    if (options.repetitions > 0)
        row->Repetitions(options.repetitions);
    if (options.aggregates_only)
        row->ReportAggregatesOnly(true);
    switch (options.unit) {
    case SATTN_SHIM_UNIT_DEFAULT:
        break;
    case SATTN_SHIM_NANOSECONDS:
        row->Unit(benchmark::kNanosecond);
        break;
    case SATTN_SHIM_MICROSECONDS:
        row->Unit(benchmark::kMicrosecond);
        break;
    case SATTN_SHIM_MILLISECONDS:
        row->Unit(benchmark::kMillisecond);
        break;
    case SATTN_SHIM_SECONDS:
        row->Unit(benchmark::kSecond);
        break;
    }
}

std::string library_version()
{
    using namespace benchmark;
    using namespace sattn_fallback;
    return GetBenchmarkVersion();
}

} // namespace

extern "C" void sattn_shim_register(const char *name, sattn_shim_fn *fn, void *arg,
                                    const sattn_shim_options *options)
{
    auto *row = benchmark::RegisterBenchmark(name, [fn, arg](benchmark::State &state) {
        fn(reinterpret_cast<sattn_shim_state *>(&state), arg);
    });
    apply(options ? *options : sattn_shim_options{}, row);
}

extern "C" bool sattn_shim_keep_running(sattn_shim_state *state)
{
    return from_c(state).KeepRunning();
}

extern "C" bool sattn_shim_keep_running_batch(sattn_shim_state *state, int64_t n)
{
    return from_c(state).KeepRunningBatch(static_cast<benchmark::IterationCount>(n));
}

extern "C" void sattn_shim_set_iteration_time(sattn_shim_state *state, double seconds)
{
    from_c(state).SetIterationTime(seconds);
}

extern "C" void sattn_shim_counter(sattn_shim_state *state, const char *name, double value,
                                   sattn_shim_counter_kind kind)
{
    if (!std::isfinite(value))
        return;
    const auto flags = kind == SATTN_SHIM_RATE ? benchmark::Counter::kIsRate
                       : kind == SATTN_SHIM_ITERATION_RATE
                           ? benchmark::Counter::kIsIterationInvariantRate
                           : benchmark::Counter::kAvgThreads;
    from_c(state).counters[name] = benchmark::Counter(value, flags);
}

extern "C" void sattn_shim_label(sattn_shim_state *state, const char *text)
{
    from_c(state).SetLabel(text);
}

extern "C" void sattn_shim_skip_with_error(sattn_shim_state *state, const char *text)
{
    from_c(state).SkipWithError(text);
}

extern "C" void sattn_shim_add_context(const char *key, const char *value)
{
    benchmark::AddCustomContext(key, value);
}

extern "C" void sattn_shim_initialize(int *argc, char **argv)
{
    benchmark::Initialize(argc, argv);
}

extern "C" bool sattn_shim_report_unrecognized(int argc, char **argv)
{
    return benchmark::ReportUnrecognizedArguments(argc, argv);
}

extern "C" size_t sattn_shim_run(sattn_shim_display display)
{
    if (display == SATTN_SHIM_QUIET) {
        QuietReporter reporter;
        return benchmark::RunSpecifiedBenchmarks(&reporter);
    }
    if (display == SATTN_SHIM_STDERR) {
        benchmark::ConsoleReporter reporter(benchmark::ConsoleReporter::OO_None);
        reporter.SetOutputStream(&std::cerr);
        reporter.SetErrorStream(&std::cerr);
        return benchmark::RunSpecifiedBenchmarks(&reporter);
    }
    return benchmark::RunSpecifiedBenchmarks();
}

extern "C" void sattn_shim_shutdown(void)
{
    benchmark::Shutdown();
}

extern "C" const char *sattn_shim_version(void)
{
    static const std::string version = library_version();
    return version.c_str();
}
