#include "bench/bench.h"

// Without studies, the benchmarks of training steps are all benchmarks.
std::vector<lanista::bench::Benchmark> lanista::bench::benchmarks() { return training_benchmarks(); }
