#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/autodiff/step_builder.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::step {

enum class Mode { kTraining, kInference };

/// One step node of the forward pass, with what its gradient rule wants to know.
struct ForwardNode {
  graph::NodeId id;
  const graph::OpDef* def;  ///< of the operator that the model (or a decomposition) named, not of its train form
  graph::NodeId origin;
  std::vector<graph::ValueType> data;    ///< types of its data inputs
  std::vector<graph::ParamSpec> params;  ///< what its further inputs are
};

/// The ports behind a parameter name of a forward node: input number of `name`. A name the operator lacks is a bug.
std::size_t param_input(const ForwardNode& node, std::string_view name);

/// Lowers a model into a step graph: sources for input and state first (they get the same ids in every mode), then
/// the forward nodes in dependency order, in train form or decomposed where their definitions say so.
class ForwardLowering {
 public:
  ForwardLowering(StepBuilder& builder, Mode mode) : builder_(builder), mode_(mode) {}

  Result<void> add_sources(const graph::Graph& model);
  Result<void> add_nodes(const graph::Graph& model);

  /// Adds `op` over data inputs ++ parameters for model node `origin`; `recorded` nodes take part in nodes().
  graph::Port lower(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs, graph::NodeId origin,
                    bool recorded);

  graph::Port input() const { return input_; }
  graph::Port prediction() const { return prediction_; }
  const std::vector<StateTensor>& state_tensors() const { return state_; }
  /// In execution order.
  const std::deque<ForwardNode>& nodes() const { return nodes_; }

 private:
  Result<graph::Port> value_of(const graph::Graph& model, graph::Port port) const;

  StepBuilder& builder_;
  Mode mode_;
  graph::Port input_, prediction_;
  std::vector<StateTensor> state_;
  std::map<graph::NodeId, std::vector<graph::Port>> params_;  // of each model node, in order of its definition
  std::map<graph::NodeId, graph::Port> values_;               // output 0 of each model node
  std::deque<ForwardNode> nodes_;
};

}  // namespace lanista::step
