#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/autodiff/step_builder.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::autodiff {

/// The form of the forward pass: with the train forms of operators, or with the operators themselves.
enum class Mode { kTraining, kInference };

/// One node of the forward pass in a step graph, with what its gradient rule reads.
struct ForwardNode {
  graph::NodeId id;                      ///< Id in the step graph.
  const graph::OpDef* def;               ///< Operator of the model or of a decomposition; not the train form.
  graph::NodeId origin;                  ///< Id of the model node for which it was added.
  std::vector<graph::ValueType> data;    ///< Types of the data inputs, in order.
  std::vector<graph::ParamSpec> params;  ///< Definitions of the inputs after the data inputs.
};

/// The index, among the inputs of a forward node, of its parameter or buffer `name`. Throws InternalError if this node
/// has none with that name, such as a bias that is switched off.
std::size_t param_input(const ForwardNode& node, std::string_view name);

/// Lowers a model into the forward pass of a step graph.
///
/// It first adds source nodes for input and state, which get the same ids in both modes. Then it adds the forward nodes
/// in dependency order, decomposed or in train form where their definitions have one.
class ForwardLowering {
 public:
  /// Lowers into `builder`, which must live as long as this object.
  ForwardLowering(StepBuilder& builder, Mode mode) : builder_(builder), mode_(mode) {}

  /// Adds the sources of a verified model: its input, its parameters, then its buffers. Errors: the first error of the
  /// builder.
  Result<void> add_sources(const graph::Graph& model);
  /// Adds the forward nodes of the model. Call add_sources() first. Errors: the first error of the builder;
  /// kInvalidArgument if a node reads another output than output 0 of an operator that has a train form or a
  /// decomposition.
  Result<void> add_nodes(const graph::Graph& model);

  /// Adds a node `op` for the model node `origin`, in train form or decomposed where its definition has one. `inputs`
  /// has the data inputs, then the parameters. Returns output 0 of the node, or the result of the decomposition.
  /// `recorded` true: the node, or each part, is added to nodes(), so that the backward pass includes it. Errors: the
  /// builder keeps them.
  graph::Port lower(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs, graph::NodeId origin,
                    bool recorded);

  /// The source of the samples of the batch.
  graph::Port input() const { return input_; }
  /// The value that the node `output` of the model reads.
  graph::Port prediction() const { return prediction_; }
  /// The state tensors of the model: parameters first, then buffers, each in dependency order of the model nodes.
  const std::vector<StateTensor>& state_tensors() const { return state_; }
  /// The recorded forward nodes, in execution order.
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

}  // namespace lanista::autodiff
