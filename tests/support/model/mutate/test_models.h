#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/model/space/domain.h"

// Models and helper functions for tests of this module.
namespace lanista::mutate::testing {

inline const RepairPolicy kPad{RepairPolicy::Channels::kPad, RepairPolicy::Spatial::kPool};
inline const RepairPolicy kReject{RepairPolicy::Channels::kReject, RepairPolicy::Spatial::kReject};

inline graph::Graph model(std::string_view text) {
  auto parsed = graph::parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_TRUE(graph::verify(*parsed, graph::builtin_ops()).ok())
      << graph::verify(*parsed, graph::builtin_ops()).error().text();
  return *std::move(parsed);
}

inline graph::Graph base_model(std::string_view name) {
  auto base = builtin_base(name, graph::Shape{{1, 8, 8}}, 10);
  EXPECT_TRUE(base.ok()) << base.error().text();
  return std::move(base->graph);
}

/// Two residual stages with norms, grouped and separable convolutions, a concat and a head without flatten.
inline graph::Graph residual_model() {
  return model(
      "%0 = input(shape=[3,8,8])\n"
      "%1 = conv2d(%0, out=8, padding=[1]) \"stem\"\n"
      "%2 = batch_norm(%1)\n"
      "%3 = relu(%2)\n"
      "%4 = conv2d(%3, groups=2, out=8, padding=[1]) \"stage1\"\n"
      "%5 = group_norm(%4, groups=4)\n"
      "%6 = gelu(%5)\n"
      "%7 = add(%6, %3)\n"
      "%8 = conv2d(%7, kernel=[1], out=16, stride=[2])\n"
      "%9 = separable_conv2d(%7, out=12, padding=[1], stride=[2]) \"stage2\"\n"
      "%10 = concat(%8, %9)\n"
      "%11 = dropout(%10, p=0.1)\n"
      "%12 = depthwise_conv2d(%11, padding=[1])\n"
      "%13 = avg_pool2d(%12)\n"
      "%14 = global_avg_pool(%13)\n"
      "%15 = linear(%14, out=24)\n"
      "%16 = silu(%15)\n"
      "%17 = linear(%16, out=5)\n"
      "%18 = output(%17)\n");
}

/// A token mixer on sequences: rank 3 values, transposes, layer norms.
inline graph::Graph sequence_model() {
  return model(
      "%0 = input(shape=[6,8])\n"
      "%1 = linear(%0, out=16)\n"
      "%2 = layer_norm(%1)\n"
      "%3 = transpose(%2, axes=[0,2,1])\n"
      "%4 = linear(%3, out=6)\n"
      "%5 = tanh(%4)\n"
      "%6 = transpose(%5, axes=[0,2,1])\n"
      "%7 = add(%6, %1)\n"
      "%8 = mean(%7, axes=[1])\n"
      "%9 = linear(%8, out=3)\n"
      "%10 = output(%9)\n");
}

inline std::vector<BaseModel> all_bases() {
  return {{"small-mlp", base_model("small-mlp")},
          {"small-cnn", base_model("small-cnn")},
          {"residual", residual_model()},
          {"sequence", sequence_model()}};
}

inline std::shared_ptr<const Mutator> mutator(std::string_view name, const nlohmann::json& given = nullptr) {
  for (const MutatorPlugin& plugin : builtin_mutators()) {
    if (plugin.name != name) continue;
    auto options = resolve_options(given, plugin.options);
    EXPECT_TRUE(options.ok()) << options.error().text();
    auto made = plugin.make(*options);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return *std::move(made);
  }
  ADD_FAILURE() << "no mutator " << name;
  return nullptr;
}

/// A chooser that answers with the given numbers in order.
class ScriptedChooser final : public space::Chooser {
 public:
  explicit ScriptedChooser(std::vector<std::int64_t> answers) : answers_(std::move(answers)) {}
  /// The questions as "site/3 to/1".
  std::string asked_labels() const {
    std::string text;
    for (const auto& d : trace()) text += (text.empty() ? "" : " ") + d.label + "/" + std::to_string(d.count);
    return text;
  }

 protected:
  std::int64_t pick_index(std::string_view, std::int64_t) override { return answers_.at(trace().size()); }
  space::Value pick_value(std::string_view, const space::Domain& domain) override {
    return space::domain_value(domain, 0, 2);
  }

 private:
  std::vector<std::int64_t> answers_;
};

inline Result<graph::Edited> apply(const Mutator& mutator, const graph::Graph& base, space::Chooser& choose,
                                   const RepairPolicy& repair = {}) {
  const auto ops = graph::builtin_ops();
  return mutator.apply(base, ops, repair, choose);
}

/// The text of the mutated model, or "code: message".
inline std::string mutated(const Mutator& mutator, const graph::Graph& base, std::vector<std::int64_t> answers,
                           const RepairPolicy& repair = {}) {
  ScriptedChooser choose(std::move(answers));
  const auto edited = apply(mutator, base, choose, repair);
  if (!edited) return std::string(code_name(edited.error().code)) + ": " + edited.error().message;
  return graph::to_text(edited->graph);
}

/// The number of distinct samples of a blueprint; no value if a domain is continuous. Some may make no model.
inline std::optional<double> count_samples(const Blueprint& blueprint) {
  space::SearchSpace space;
  for (const space::Parameter& parameter : blueprint.parameters()) EXPECT_TRUE(space.add(parameter).ok());
  return space.size();
}

inline graph::ValueType output_type(const graph::Graph& g) {
  const auto types = graph::infer_shapes(g, graph::builtin_ops());
  EXPECT_TRUE(types.ok()) << types.error().text();
  return types->outputs(g.nodes_of("output").front()).front();
}

}  // namespace lanista::mutate::testing
