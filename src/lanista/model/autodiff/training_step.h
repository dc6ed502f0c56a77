#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::step {

/// The parts of a recipe that change the step graph. All other settings are numbers that each lane has for itself.
struct StepOptions {
  std::string loss = "cross_entropy";  ///< name in losses()
  std::string optimizer = "sgd";       ///< name in optimizers()
  bool operator==(const StepOptions&) const = default;
};

/// One tensor of the state of a lane. The list order is the order of the tensors in the flat buffers of the lane.
struct StateTensor {
  std::string name;                        ///< name in checkpoints, such as "n3.weight"
  graph::Shape shape;                      ///< without batch, in PyTorch order
  bool trained = true;                     ///< parameter; false: buffer
  graph::Init init = graph::Init::kZeros;  ///< initial values
  std::int64_t fan_in = 0;                 ///< inputs of one output element, for kUniformFanIn
  double deviation = 1;                    ///< standard deviation, for kNormal
  graph::NodeId node;                      ///< its `parameter` or `buffer` node in the step graph
};

/// A training step as a graph: forward pass, loss, derived backward pass, and a final commit section.
///
/// Only the commit section writes state, so a step that stops before it has changed nothing. The graph describes one
/// lane. A program repeats it for every lane on the state of that lane, and computes values that depend on the batch
/// alone once.
struct TrainingStep {
  graph::Graph graph;                             ///< All nodes.
  graph::Types types;                             ///< Types of all values.
  StepOptions options;                            ///< Loss and optimiser.
  std::vector<StateTensor> state;                 ///< Parameters first, then buffers.
  std::vector<graph::NodeId> compute;             ///< Nodes without side effect, in execution order.
  std::vector<graph::NodeId> commit;              ///< Nodes that write state: the update and the buffer updates.
  graph::Port input;                              ///< Source of the samples.
  graph::Port target;                             ///< Source of the targets.
  graph::Port prediction;                         ///< Value that the `output` of the model reads (logits).
  graph::Port loss;                               ///< Loss of each sample [N].
  std::map<graph::NodeId, graph::Port> gradient;  ///< By `parameter` node; one that no gradient reaches is absent.
  std::map<graph::NodeId, graph::Port> renewed;   ///< New value by `buffer` node, for the buffers that the step updates
  std::map<graph::NodeId, graph::NodeId> origin;  ///< Step node to model node.
};

/// The forward pass in inference form (running statistics, no dropout) as a graph, over the state of a training step.
struct InferenceStep {
  graph::Graph graph;                  ///< all nodes
  graph::Types types;                  ///< types of all values
  std::vector<StateTensor> state;      ///< equal to that of the training step
  std::vector<graph::NodeId> compute;  ///< nodes in execution order
  graph::Port input;                   ///< source of the samples
  graph::Port prediction;              ///< value that the `output` of the model reads
};

/// The table of model operators and step operators: sources, gradients, train forms, losses and updates.
graph::OpTable training_ops(const graph::OpTable& model_ops);

/// Derives the training step of a model. `ops` is the result of training_ops().
///
/// Errors: those of `graph::verify`; kInvalidArgument for an unknown loss or optimiser, or if the loss does not accept
/// the shape of the model's output. Cross-entropy needs [N, classes] with at least two classes, for example.
Result<TrainingStep> derive_training_step(const graph::Graph& model, const StepOptions& options,
                                          const graph::OpTable& ops);
/// Derives the inference step of a model. `ops` is the result of training_ops(). Errors: those of `graph::verify`.
Result<InferenceStep> derive_inference_step(const graph::Graph& model, const graph::OpTable& ops);

}  // namespace lanista::step
