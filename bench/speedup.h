#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/arms.h"
#include "bench/our_program.h"

namespace lanista::bench {

/// Work for one thread, the same for a second one, and the work of both as it is done together: one that has two
/// threads of its own, or two side by side.
struct Doubling {
  Work alone, twin;
  std::vector<Work> together;
};

/// What a second thread gains: model-steps a second together, over the mean of what each thread does alone. The three
/// are timed right after one another, because cores of a virtual machine change their speed from moment to moment, and
/// not together. At least 15 repeats; arm speedup-2, unit "x".
Row speedup_row(const std::string& bench, const std::string& case_name, const Doubling& doubling, int repeats);

/// The same for `alone` and `twin`, programs of as many models on one thread, and `together`: programs that side by
/// side train as many models, or twice as many.
Row speedup_row(const std::string& bench, const std::string& case_name, OurProgram& alone, OurProgram& twin,
                const std::vector<OurProgram*>& together, int repeats);

/// The machine's own limit: chains of multiply-adds, which need nothing but a core.
Row machine_speedup_row(const std::string& bench, int repeats);

}  // namespace lanista::bench
