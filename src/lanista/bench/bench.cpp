#include "lanista/bench/bench.h"

#include <ostream>

#include "lanista/base/text_distance.h"
#include "lanista/bench/overhead.h"
#include "lanista/bench/train_step.h"

namespace lanista::bench {

std::vector<Entry> benchmarks() {
  return {
      {"overhead", "engine, strategy and log around 100,000 trials that do nothing; arms ours (with log), memory"},
      {"train-step", "one training step of the built-in bases; arms ours, loop (LibTorch), loop-nhwc (channels-last)"}};
}

Result<void> run(const Request& request, std::ostream& out) {
  const int repeats = request.repeats > 0 ? request.repeats : 5;
  if (request.name == "train-step") return train_step(request.repeats > 0 ? repeats : 9, request.json, out);
  if (request.name == "overhead") return overhead(repeats, request.json, out);
  std::vector<std::string> names;
  for (const auto& entry : benchmarks()) names.push_back(entry.name);
  const std::string near = nearest_name(request.name, names);
  return Error{Code::kNotFound,
               "there is no benchmark '" + request.name + "'" +
                   (near.empty() ? std::string("; see lanista bench --list") : "; did you mean '" + near + "'?"),
               ""};
}

}  // namespace lanista::bench
