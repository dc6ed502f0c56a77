// Compares training with the autograd, losses and optimisers of LibTorch in float64. Models are random graphs with all
// operators, samples of each published space, and mutated models.
//
//   model_oracle [torch:cpu|torch:host] [random|published|mutated] [COUNT [FIRST]]
//
// torch:cpu, torch:host: the tested device; without it, CPU kernels are tested.
// COUNT models from number FIRST on, of each published space. A model that differs is reduced to a smaller one that
// still differs, and printed.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "cases.h"
#include "compare.h"
#include "lanista/exec/backends/aten/aten_backend.h"
#include "lanista/model/graph/text.h"
#include "shrink.h"

namespace lanista::oracle {
namespace {

constexpr int kMaxPrinted = 10;
constexpr int kTriesOfShrinking = 400;

struct Failures {
  int count = 0;
  std::map<std::string, int> by_operator;  ///< number of shrunk models by operator
};

void print(const char* title, const Case& c, const Difference& difference) {
  std::fprintf(stderr, "%s, seed %llu, %s: %s\n  %s\n%s", title, static_cast<unsigned long long>(c.seed),
               c.loss.c_str(), difference.what.c_str(), difference.text.c_str(), graph::to_text(c.model).c_str());
}

void report(const Case& c, const Difference& difference, const program::Backend* device, Failures& failures) {
  if (++failures.count > kMaxPrinted) return;
  print(c.origin.c_str(), c, difference);
  const Case small = shrunk(
      c,
      [&](const Case& candidate) {
        ComparisonCounts unused;
        const auto found = compare(candidate, unused, device);
        return found && (found->what == "exception") == (difference.what == "exception");
      },
      kTriesOfShrinking);
  ComparisonCounts unused;
  if (const auto still = compare(small, unused, device)) print("  shrunk", small, *still);
  std::set<std::string> operators;
  for (const auto& node : small.model.nodes()) operators.insert(node->op);
  for (const std::string& op : operators) ++failures.by_operator[op];
}

int run(const std::string& kind, std::uint64_t count, std::uint64_t first, const program::Backend* device) {
  torch::set_num_threads(1);
  const auto begin = std::chrono::steady_clock::now();
  ComparisonCounts counts;
  Failures failures;
  const auto judge = [&](const Case& c) {
    if (const auto difference = compare(c, counts, device)) report(c, *difference, device, failures);
  };
  if (kind == "random") {
    for (std::uint64_t number = first; number < first + count; ++number) judge(random_case(number));
  } else {
    for (const Case& c : kind == "published" ? published_cases(count, first) : mutated_cases(count, first)) judge(c);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf(
      "%s%s: %lld models, %d differ; %lld values, worst error %.2g of the largest element; %lld ill-conditioned "
      "models, %lld with NaN or infinity; %.1f models/s\n",
      device != nullptr ? (std::string(device->name()) + " ").c_str() : "", kind.c_str(),
      static_cast<long long>(counts.models), failures.count, static_cast<long long>(counts.values), counts.worst,
      static_cast<long long>(counts.ill_conditioned), static_cast<long long>(counts.not_finite),
      static_cast<double>(counts.models) / seconds);
  for (const auto& [op, times] : failures.by_operator) std::printf("  differs with %-20s %d\n", op.c_str(), times);
  return failures.count == 0 && counts.models > 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanista::oracle

int main(int argc, char** argv) {
  int next = 1;
  std::string kind = "random";
  const auto is_next = [&](const char* word) { return argc > next && std::string(argv[next]) == word; };
  const lanista::program::Backend* device = nullptr;
  for (const char* name : {"cpu", "host"}) {
    if (!is_next((std::string("torch:") + name).c_str())) continue;
    device = *lanista::device::aten_backend(name);
    ++next;
  }
  if (is_next("published") || is_next("mutated") || is_next("random")) kind = argv[next++];
  const auto number = [&](std::uint64_t otherwise) {
    return argc > next ? std::strtoull(argv[next++], nullptr, 10) : otherwise;
  };
  const std::uint64_t count = number(kind == "published" ? 50 : 2000), first = number(0);
  return lanista::oracle::run(kind, count, first, device);
}
