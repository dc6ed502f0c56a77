#include "lanista/nn/kernel_table.h"

#include <gtest/gtest.h>

#include <set>

#include "lanista/nn/test_models.h"
#include "lanista/step/training_step.h"

namespace lanista::nn {
namespace {

using namespace testing;

// What needs no kernel: names of memory, what the program does itself, and what never survives lowering.
bool needs_kernel(const graph::OpDef& def) {
  static const std::set<std::string> kAlwaysAliases{"identity", "dropout", "output"};
  return !is_source(def.name) && !is_commit(def.name) && !kAlwaysAliases.contains(def.name) && !def.decompose;
}

TEST(KernelTable, KnowsEveryOperatorOfTheStep) {
  const graph::OpTable ops = step::training_ops(graph::builtin_ops());
  const auto narrow = kernel_table<float>();
  const auto wide = kernel_table<double>();

  ASSERT_GT(ops.names().size(), 50U);
  for (const std::string& name : ops.names()) {
    if (!needs_kernel(*ops.find(name))) continue;
    EXPECT_TRUE(narrow.contains(name)) << name;
    EXPECT_TRUE(wide.contains(name)) << name;
  }
}

TEST(KernelTable, NamesOnlyOperatorsAndFusions) {
  const graph::OpTable ops = step::training_ops(graph::builtin_ops());
  const std::set<std::string> fusions{"linear_relu", "conv2d_relu", "relu_max_pool2d", "relu_max_pool2d_train"};
  for (const auto& [name, prepare] : kernel_table<float>()) {
    EXPECT_TRUE(fusions.contains(name) || ops.find(name) != nullptr) << name;
  }
}

TEST(KernelTable, IsCoveredByTheTestModels) {
  std::set<std::string> used;
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    const auto collect = [&used](const graph::Graph& graph, const graph::Types& types, const auto& order) {
      for (const Call& call : lower(graph, types, order, {}).calls) used.insert(call.kernel);
    };
    collect(derived.train.graph, derived.train.types, derived.train.compute);
    collect(derived.infer.graph, derived.infer.types, derived.infer.compute);
  }

  for (const auto& [name, prepare] : kernel_table<float>()) EXPECT_TRUE(used.contains(name)) << name;
}

}  // namespace
}  // namespace lanista::nn
