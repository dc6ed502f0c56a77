#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/arms.h"
#include "bench/lanista_program.h"

namespace lanista::bench {

/// The works of a comparison of one thread with two threads.
struct ThreadPairWork {
  RepeatedWork alone, second_alone;    ///< Work of the first and of the second thread, each run alone.
  std::vector<RepeatedWork> together;  ///< One work with two threads of its own, or two works that run at a time.
};

/// The row with the speedup by a second thread (arm speedup-2, unit "x").
///
/// The value is the model-steps a second of both threads together, over the mean of those of each thread alone. The
/// three times follow each other directly, because the cores of a virtual machine change their speed independently. It
/// has at least 15 repeats.
BenchRow speedup_row(const std::string& bench, const std::string& case_name, const ThreadPairWork& thread_pair,
                     int repeats);

/// The speedup of programs. `alone` and `second_alone` have one thread each and equally many models. The programs of
/// `together` train that many models, or twice as many.
BenchRow speedup_row(const std::string& bench, const std::string& case_name, LanistaProgram& alone,
                     LanistaProgram& second_alone, const std::vector<LanistaProgram*>& together, int repeats);

/// The speedup for chains of multiply-adds, which use no memory: the limit of the machine (case `machine`).
BenchRow machine_speedup_row(const std::string& bench, int repeats);

}  // namespace lanista::bench
