// Counts the models that numeric class own-1 trained wrongly, because a sum used the memory of a value that it read
// again. It checks memory plans of the old rule and runs no model.
//
//   aliasing_scan nasbench201           all 15,625 cells
//   aliasing_scan KIND COUNT [FIRST]    samples: random, mutated, or a published space by name
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cases.h"
#include "lanista/base/check.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/spaces/published.h"
#include "support/exec/program/aliasing_v1.h"

namespace lanista::oracle {
namespace {

struct Scan {
  std::int64_t models = 0, wrong = 0;

  void look(const graph::Graph& model, const std::string& loss) {
    static const graph::OpTable kOps = autodiff::training_ops(graph::builtin_ops());
    const auto train = autodiff::derive_training_step(model, {.loss = loss}, kOps);
    const auto infer = autodiff::derive_inference_step(model, kOps);
    LANISTA_CHECK(train.ok() && infer.ok(), "a model without a step");
    ++models;
    if (!program::testing::v1_rule_overwrote_value_read_again(*train, *infer)) return;
    if (++wrong == 1) std::printf("the first of them:\n%s", graph::to_text(model).c_str());
  }
};

void scan_every_cell(Scan& scan) {
  const graph::OpTable ops = graph::builtin_ops();
  const mutate::ModelInterface between = mutate::model_interface(graph::Shape{{1, 8, 8}}, 10);
  const auto blueprint = mutate::published_space("nasbench201", nlohmann::json::object(), ops, between);
  LANISTA_CHECK(blueprint.ok(), "no such space");
  const auto& choices = blueprint->parameters();
  for (std::int64_t number = 0;; ++number) {
    space::Sample sample;
    std::int64_t rest = number;
    for (const space::Parameter& choice : choices) {
      const std::int64_t size = *space::domain_size(choice.domain);
      sample[choice.name] = space::domain_value(choice.domain, rest % size, size);
      rest /= size;
    }
    if (rest > 0) return;
    const auto model = blueprint->expand(sample, ops, between);
    // A cell without a path from input to output gives no model.
    if (model) scan.look(*model, "cross_entropy");
  }
}

int run(const std::string& kind, std::uint64_t count, std::uint64_t first) {
  Scan scan;
  if (kind == "nasbench201" && count == 0) {
    scan_every_cell(scan);
  } else if (kind == "random") {
    for (std::uint64_t i = first; i < first + count; ++i) scan.look(random_case(i).model, "mse");
  } else if (kind == "mutated") {
    for (const Case& c : mutated_cases(count, first)) scan.look(c.model, c.loss);
  } else {
    for (const Case& c : published_cases(count, first, kind)) scan.look(c.model, c.loss);
  }
  std::printf("%s: %lld of %lld models\n", kind.c_str(), static_cast<long long>(scan.wrong),
              static_cast<long long>(scan.models));
  return 0;
}

}  // namespace
}  // namespace lanista::oracle

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: aliasing_scan nasbench201|random|mutated|SPACE [COUNT [FIRST]]\n");
    return 2;
  }
  const auto number = [&](int i) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : 0; };
  return lanista::oracle::run(argv[1], number(2), number(3));
}
