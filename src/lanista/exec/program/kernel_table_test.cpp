#include "lanista/exec/program/kernel_table.h"

#include <gtest/gtest.h>

#include <set>

#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/autodiff/training_step.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

// Operators without a kernel: names of memory, work of the program itself, and operators that lowering removes.
bool needs_kernel(const graph::OpDef& def) {
  static const std::set<std::string> kAlwaysAliases{"identity", "dropout", "output"};
  return def.role != graph::OpRole::kSource && def.name != "buffer_update" && !kAlwaysAliases.contains(def.name) &&
         !def.decompose;
}

TEST(KernelTable, HasEveryStepOperator) {
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto narrow = kernel_table<float>();
  const auto wide = kernel_table<double>();

  ASSERT_GT(ops.names().size(), 50U);
  for (const std::string& name : ops.names()) {
    if (!needs_kernel(*ops.find(name))) continue;
    EXPECT_TRUE(narrow.contains(name)) << name;
    EXPECT_TRUE(wide.contains(name)) << name;
  }
}

TEST(KernelTable, HasOnlyOperatorsAndFusions) {
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  for (const auto& [name, entry] : kernel_table<float>()) {
    EXPECT_TRUE(entry.fusion || ops.find(name) != nullptr) << name;
  }
}

TEST(KernelTable, FusesOnlyKernelsInTheTable) {
  const auto table = kernel_table<float>();
  const std::vector<Fusion> fusions = fusions_of(table);
  EXPECT_EQ(fusions.size(), 4U);
  for (const Fusion& fusion : fusions) {
    for (const std::string& part : {fusion.first, fusion.second}) EXPECT_TRUE(table.contains(part)) << fusion.kernel;
    for (const std::string& grad : {fusion.first_grad, fusion.second_grad}) {
      EXPECT_TRUE(grad.empty() || table.contains(grad)) << fusion.kernel;
    }
  }
}

TEST(KernelTable, HasTheSlotsOfEveryOptimiser) {
  for (const kernels::Isa isa : kernels::available_isas()) {
    const auto& family = kernels::kernels<double>(isa);
    EXPECT_EQ(family.updates.size(), autodiff::optimizers().size());
    for (const autodiff::Optimizer& optimizer : autodiff::optimizers()) {
      const auto* update = family.update(optimizer.name);
      ASSERT_NE(update, nullptr) << optimizer.name;
      EXPECT_EQ(update->slots, optimizer.slots.size()) << optimizer.name;
    }
  }
}

TEST(KernelTable, HasEveryLossForItsTargetType) {
  for (const kernels::Isa isa : kernels::available_isas()) {
    const auto& family = kernels::kernels<double>(isa);
    EXPECT_EQ(family.losses.size(), autodiff::losses().size());
    for (const autodiff::Loss& loss : autodiff::losses()) {
      const auto* kernel = family.loss(loss.name);
      ASSERT_NE(kernel, nullptr) << loss.name;
      EXPECT_EQ(kernel->of_classes != nullptr && kernel->grad_of_classes != nullptr, loss.of_classes()) << loss.name;
      EXPECT_EQ(kernel->of_values != nullptr && kernel->grad_of_values != nullptr, !loss.of_classes()) << loss.name;
    }
  }
}

TEST(KernelTable, IsCoveredByTheTestModels) {
  std::set<std::string> used;
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    const auto collect = [&used](const graph::Graph& graph, const graph::Types& types, const auto& order) {
      for (const KernelCall& call : lower(graph, types, order, {}, shipped_lowering_rules()).calls)
        used.insert(call.kernel);
    };
    collect(derived.train.graph, derived.train.types, derived.train.compute);
    collect(derived.infer.graph, derived.infer.types, derived.infer.compute);
  }
  for (const autodiff::Optimizer& optimizer : autodiff::optimizers()) used.insert(optimizer.rule().name);

  for (const auto& [name, prepare] : kernel_table<float>()) EXPECT_TRUE(used.contains(name)) << name;
}

}  // namespace
}  // namespace lanista::program
