#include "bench/prefix.h"

#include <ostream>
#include <string>
#include <utility>

#include "bench/prefix_frozen.h"
#include "bench/recipe.h"
#include "bench/trainer_sets.h"
#include "lanista/base/file_system.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

// Runs the cases with augmented digits.
Result<void> augmented(const std::string& base, const data::Dataset& data, const graph::OpTable& ops, int repeats,
                       bool json, std::ostream& out) {
  LANISTA_ASSIGN(const auto model, mutate::builtin_base(base, {{1, 8, 8}}, 10));
  train::TrainerInput input{
      .trial = {}, .model = model.graph, .recipe = plain_recipe(), .metrics = {}, .data = &data, .step_ops = &ops};
  input.recipe.augment = {{"crop", {{"pad", 1}}}, {"noise", {{"std", 0.1}}}};
  for (const std::int64_t count : {1, 2, 4, 8, 16}) {
    LANISTA_ASSIGN(TrainerSet separate, TrainerSet::make(input, count, nullptr));
    std::vector<SeparateArm> others;
    others.push_back({"apart", std::move(separate)});
    LANISTA_TRY(
        measure_sharing(base + "/" + std::to_string(count), input, count, std::move(others), repeats, json, out));
  }
  return {};
}

}  // namespace

Result<void> prefix(int repeats, bool json, std::ostream& out) {
  kernels::set_flush_to_zero();
  LANISTA_ASSIGN(const auto digits, data::open({}, ".", real_file_system()));
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  for (const char* base : {"small-mlp", "small-cnn"}) LANISTA_TRY(augmented(base, digits, ops, repeats, json, out));
  return frozen_prefix(repeats, json, out);
}

}  // namespace lanista::bench
