#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/arms.h"
#include "bench/lanista_program.h"

namespace lanista::bench {

/// Work for one thread, the same for a second one, and the work of both as it is done together: one that has two
/// threads of its own, or two side by side.
struct ThreadPairWork {
  RepeatedWork alone, second_alone;
  std::vector<RepeatedWork> together;
};

/// What a second thread gains: model-steps a second together, over the mean of what each thread does alone. The three
/// are timed right after one another, because cores of a virtual machine change their speed from moment to moment, and
/// not together. At least 15 repeats; arm speedup-2, unit "x".
BenchRow speedup_row(const std::string& bench, const std::string& case_name, const ThreadPairWork& thread_pair,
                     int repeats);

/// The same for `alone` and `second_alone`, programs of as many models on one thread, and `together`: programs that
/// side by side train as many models, or twice as many.
BenchRow speedup_row(const std::string& bench, const std::string& case_name, LanistaProgram& alone,
                     LanistaProgram& second_alone, const std::vector<LanistaProgram*>& together, int repeats);

/// The machine's own limit: chains of multiply-adds, which need nothing but a core.
BenchRow machine_speedup_row(const std::string& bench, int repeats);

}  // namespace lanista::bench
