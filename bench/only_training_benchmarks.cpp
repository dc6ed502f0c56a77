#include "bench/bench.h"

// Where studies are not built, the races are all benchmarks there are.
std::vector<lanista::bench::Benchmark> lanista::bench::benchmarks() { return training_benchmarks(); }
