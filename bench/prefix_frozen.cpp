#include "bench/prefix_frozen.h"

#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/recipe.h"
#include "bench/trainer_sets.h"
#include "lanista/base/check.h"
#include "lanista/base/file_system.h"
#include "lanista/exec/train/frozen_prefix.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"

namespace lanista::bench {
namespace {

struct Case {
  std::string name, model;
  std::set<graph::NodeId> frozen;
};

std::vector<Case> cases() {
  using graph::NodeId;
  return {{"frozen-cnn",
           "%0 = input(shape=[1,8,8])\n"
           "%1 = conv2d(%0, kernel=[3], out=16, padding=[1])\n"
           "%2 = batch_norm(%1)\n"
           "%3 = relu(%2)\n"
           "%4 = conv2d(%3, kernel=[3], out=32, padding=[1])\n"
           "%5 = batch_norm(%4)\n"
           "%6 = relu(%5)\n"
           "%7 = max_pool2d(%6, kernel=[2])\n"
           "%8 = flatten(%7)\n"
           "%9 = linear(%8, out=32)\n"
           "%10 = relu(%9)\n"
           "%11 = linear(%10, out=10)\n"
           "%12 = output(%11)\n",
           {NodeId{1}, NodeId{2}, NodeId{4}, NodeId{5}}},
          {"frozen-cnn-28",
           "%0 = input(shape=[1,8,8])\n"
           "%1 = resize(%0, out=[28,28], mode=\"bilinear\")\n"
           "%2 = conv2d(%1, kernel=[3], out=8, padding=[1])\n"
           "%3 = relu(%2)\n"
           "%4 = max_pool2d(%3, kernel=[2])\n"
           "%5 = conv2d(%4, kernel=[3], out=16, padding=[1])\n"
           "%6 = relu(%5)\n"
           "%7 = max_pool2d(%6, kernel=[2])\n"
           "%8 = conv2d(%7, kernel=[3], out=16)\n"
           "%9 = relu(%8)\n"
           "%10 = global_avg_pool(%9)\n"
           "%11 = linear(%10, out=10)\n"
           "%12 = output(%11)\n",
           {NodeId{2}, NodeId{5}}}};
}

/// A backbone and the data sets for its heads.
struct Backbone {
  train::FrozenPrefix prefix;
  data::Dataset plain, streamed, kept;
};

/// Makes a backbone with random weights, since times do not depend on them.
Result<Backbone> backbone(const Case& requested, const data::Dataset& digits, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const auto model, graph::parse(requested.model));
  LANISTA_ASSIGN(
      const auto fresh,
      train::Trainer::create(
          {.trial = {}, .model = model, .recipe = plain_recipe(), .metrics = {}, .data = &digits, .step_ops = &ops}));
  const std::vector<Tensor> weights = fresh.save().tensors;
  LANISTA_ASSIGN(auto prefix, train::FrozenPrefix::create(
                                  {.model = model, .frozen = requested.frozen, .weights = weights, .step_ops = &ops}));
  LANISTA_ASSIGN(auto plain, prefix.features(digits, data::StoredSamples::kNothing, nullptr));
  LANISTA_ASSIGN(auto streamed, prefix.features(digits, data::StoredSamples::kValidation, nullptr));
  LANISTA_ASSIGN(auto kept, prefix.features(digits, data::StoredSamples::kAll, nullptr));
  return Backbone{std::move(prefix), std::move(plain), std::move(streamed), std::move(kept)};
}

Result<void> run_case(const std::string& name, const Backbone& on, const graph::OpTable& ops, std::int64_t count,
                      int repeats, bool json, std::ostream& out) {
  const auto head_on = [&](const data::Dataset& data) {
    return train::TrainerInput{.trial = {},
                               .model = on.prefix.head(),
                               .recipe = plain_recipe(),
                               .metrics = {},
                               .data = &data,
                               .step_ops = &ops};
  };
  LANISTA_ASSIGN(TrainerSet separate, TrainerSet::make(head_on(on.plain), count, nullptr));
  LANISTA_ASSIGN(TrainerSet kept, TrainerSet::make(head_on(on.kept), count, nullptr));
  std::vector<SeparateArm> others;
  others.push_back({"apart", std::move(separate)});
  others.push_back({"materialised", std::move(kept)});
  return measure_sharing(name, head_on(on.streamed), count, std::move(others), repeats, json, out);
}

/// Prints the time to compute and store the outputs of the backbone for all samples.
void measure_store(const std::string& name, const Backbone& on, const data::Dataset& digits, int repeats, bool json,
                   std::ostream& out) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const double begin = now_seconds();
    const bool kept = on.prefix.features(digits, data::StoredSamples::kAll, nullptr).ok();
    times.push_back(1e6 * (now_seconds() - begin));
    LANISTA_CHECK(kept, "outputs that were stored before can be stored again");
  }
  print(summary("prefix", name, "store", "us", times), json, out);
}

}  // namespace

Result<void> frozen_prefix(int repeats, bool json, std::ostream& out) {
  LANISTA_ASSIGN(const auto digits, data::open({}, ".", real_file_system()));
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  for (const Case& each : cases()) {
    LANISTA_ASSIGN(const Backbone on, backbone(each, digits, ops));
    for (const std::int64_t count : {1, 2, 4, 8, 16}) {
      LANISTA_TRY(run_case(each.name + "/" + std::to_string(count), on, ops, count, repeats, json, out));
    }
    measure_store(each.name, on, digits, repeats, json, out);
  }
  return {};
}

}  // namespace lanista::bench
