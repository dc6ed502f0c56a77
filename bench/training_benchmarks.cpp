#include <ostream>

#include "bench/bench.h"
#include "bench/device_benchmark.h"
#include "bench/fuse.h"
#include "bench/train_step.h"
#include "lanista/base/edit_distance.h"

namespace lanista::bench {

std::vector<Benchmark> training_benchmarks() {
  return {
#ifdef LANISTA_BENCH_LIBTORCH
      {"train-step",
       "a training step of eight models; arms ours, ours-2 (two threads), loop and loop-nhwc (LibTorch), limits",
       train_step},
      {"fuse",
       "the same for 1 to 64 models at once; on one thread loop, loop-nhwc, single, auto-1; on two, processes, packed, "
       "auto",
       fuse},
#endif
#ifdef LANISTA_BENCH_DEVICES
      {"gpu",
       "1 to 256 models at once on devices (torch:cuda:0), against lanista kernels on all cores and the card's limit",
       gpu},
#endif
  };
}

Result<void> run(const BenchRequest& request, std::ostream& out) {
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.name == request.name) return benchmark.run(request, out);
    names.push_back(benchmark.name);
  }
  const std::string nearest = nearest_name(request.name, names);
  return Error{Code::kNotFound,
               "unknown benchmark '" + request.name + "'" +
                   (nearest.empty() ? std::string("; see lanista bench --list") : "; did you mean '" + nearest + "'?"),
               ""};
}

}  // namespace lanista::bench
