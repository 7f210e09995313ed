// SPDX-License-Identifier: MIT
//
// shim.cpp: the C interface of shim.h over Google Benchmark. The only C++ file: it is built with
// baseline flags and includes nothing of the project but shim.h, so that no inline function of a
// C++ library can be emitted with instructions that this CPU may lack.

#include "bench/shim.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

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

} // namespace

extern "C" void sattn_shim_register(const char *name, sattn_shim_fn *fn, void *arg, int repetitions)
{
    benchmark::RegisterBenchmark(name,
                                 [fn, arg](benchmark::State &state) {
                                     fn(reinterpret_cast<sattn_shim_state *>(&state), arg);
                                 })
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(repetitions);
}

extern "C" bool sattn_shim_keep_running(sattn_shim_state *state)
{
    return from_c(state).KeepRunning();
}

extern "C" void sattn_shim_set_iteration_time(sattn_shim_state *state, double seconds)
{
    from_c(state).SetIterationTime(seconds);
}

extern "C" void sattn_shim_counter(sattn_shim_state *state, const char *name, double value)
{
    if (std::isfinite(value))
        from_c(state).counters[name] = benchmark::Counter(value);
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

extern "C" void sattn_shim_initialize(int *argc, const char **argv)
{
    benchmark::Initialize(argc, const_cast<char **>(argv));
}

extern "C" bool sattn_shim_report_unrecognized(int argc, const char **argv)
{
    return benchmark::ReportUnrecognizedArguments(argc, const_cast<char **>(argv));
}

extern "C" void sattn_shim_run(bool display)
{
    QuietReporter quiet;
    if (display)
        benchmark::RunSpecifiedBenchmarks();
    else
        benchmark::RunSpecifiedBenchmarks(&quiet);
    benchmark::Shutdown();
}
