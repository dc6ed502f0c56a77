#include "lanista/bench/bench.h"

#include <ostream>

#include "lanista/base/text_distance.h"
#include "lanista/bench/fuse.h"
#include "lanista/bench/lanes.h"
#include "lanista/bench/lineage.h"
#include "lanista/bench/overhead.h"
#include "lanista/bench/prefix.h"
#include "lanista/bench/tabular.h"
#include "lanista/bench/train_step.h"

namespace lanista::bench {

std::vector<Entry> benchmarks() {
  return {
      {"lanes", "trials that stop early in the lanes of a program; arms masked, compacted, refilled; occupancy"},
      {"lineage", "what 1,000 mutated models of 300 nodes share, by ids and by structure; edits and their replay"},
      {"overhead", "engine, strategy and log around 100,000 trials that do nothing; arms ours (with log), memory"},
      {"prefix",
       "1 to 16 models behind one augmentation or frozen backbone; arms apart, shared, materialised, and the limit"},
      {"tabular", "strategies against random search on a table of accuracies (--file), a query a trial"},
#ifdef LANISTA_BENCH_LIBTORCH
      {"train-step",
       "a training step of eight models; arms ours, ours-2 (two threads), loop and loop-nhwc (LibTorch), limits"},
      {"fuse",
       "the same for 1 to 64 models at once; on one thread loop, loop-nhwc, single, auto-1; on two, processes, packed, "
       "auto"},
#endif
  };
}

Result<void> run(const Request& request, std::ostream& out) {
  const int repeats = request.repeats > 0 ? request.repeats : 5;
#ifdef LANISTA_BENCH_LIBTORCH
  if (request.name == "train-step") return train_step(request, out);
  if (request.name == "fuse") return fuse(request, out);
#endif
  if (request.name == "lanes") return lanes(repeats, request.json, out);
  if (request.name == "lineage") return lineage(repeats, request.json, out);
  if (request.name == "overhead") return overhead(repeats, request.json, out);
  if (request.name == "prefix") return prefix(request.repeats > 0 ? request.repeats : 21, request.json, out);
  if (request.name == "tabular") return tabular(request, out);
  std::vector<std::string> names;
  for (const auto& entry : benchmarks()) names.push_back(entry.name);
  const std::string near = nearest_name(request.name, names);
  return Error{Code::kNotFound,
               "there is no benchmark '" + request.name + "'" +
                   (near.empty() ? std::string("; see lanista bench --list") : "; did you mean '" + near + "'?"),
               ""};
}

}  // namespace lanista::bench
