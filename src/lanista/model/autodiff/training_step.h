#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::autodiff {

/// The settings of a recipe that change the step graph. All other settings are numbers, which each lane may have for
/// itself.
struct StepOptions {
  std::string loss = "cross_entropy";  ///< name of a loss in losses()
  std::string optimizer = "sgd";       ///< name of an optimiser in optimizers()
  bool operator==(const StepOptions&) const = default;
};

/// One tensor of the state of a lane. A list of them has the order of the tensors in the flat buffers of the lane.
struct StateTensor {
  std::string name;                        ///< name in checkpoints, such as "n3.weight"
  graph::Shape shape;                      ///< without batch, in PyTorch order
  bool trained = true;                     ///< true: trained parameter; false: buffer
  graph::Init init = graph::Init::kZeros;  ///< initial values
  std::int64_t fan_in = 0;                 ///< input elements of one output element, for kUniformFanIn
  double deviation = 1;                    ///< standard deviation, for kNormal
  graph::NodeId node;                      ///< `parameter` or `buffer` node in the step graph
};

/// A training step as a graph: forward pass, loss, derived backward pass, and a final commit section.
///
/// Only the commit section writes state, so a step that stops before it has changed nothing. The graph describes one
/// lane. A program runs it for every lane on the state of that lane, but computes values that depend on the batch alone
/// only once.
struct TrainingStep {
  graph::Graph graph;                  ///< All nodes.
  graph::Types types;                  ///< Types of all values.
  StepOptions options;                 ///< Loss and optimiser.
  std::vector<StateTensor> state;      ///< Parameters first, then buffers.
  std::vector<graph::NodeId> compute;  ///< Nodes that are neither sources nor in `commit`, in execution order.
  std::vector<graph::NodeId> commit;   ///< Nodes that write state, in execution order.
  graph::Port input;                   ///< Source of the samples.
  graph::Port target;                  ///< Source of the targets.
  graph::Port prediction;              ///< Value that the `output` of the model reads (logits).
  graph::Port loss;                    ///< Loss of each sample [N].
  std::map<graph::NodeId, graph::Port> gradient;  ///< Value by `parameter` node; absent if no gradient reaches it.
  std::map<graph::NodeId, graph::Port> renewed;   ///< New value by `buffer` node; absent if the step keeps it.
  std::map<graph::NodeId, graph::NodeId> origin;  ///< From step node to its model node, if it has one.
};

/// The forward pass in inference form (running statistics, no dropout) as a graph that reads the state of a training
/// step.
struct InferenceStep {
  graph::Graph graph;                  ///< all nodes
  graph::Types types;                  ///< types of all values
  std::vector<StateTensor> state;      ///< equal to the `state` of the training step
  std::vector<graph::NodeId> compute;  ///< nodes that are no sources, in execution order
  graph::Port input;                   ///< source of the samples
  graph::Port prediction;              ///< value that the `output` of the model reads
};

/// The table of all operators of a step: those of `model_ops`, sources, gradients, train forms, losses and updates. A
/// model operator with the name of a step operator is a bug of the caller.
graph::OpTable training_ops(const graph::OpTable& model_ops);

/// Derives the training step of a model. `ops` must be the result of training_ops().
///
/// Errors: as in `graph::verify` (kNotFound, kInvalidArgument) for an invalid model; kInvalidArgument for an unknown
/// loss or optimiser, or if the loss does not accept the shape of the output. It is kInvalidArgument too if a gradient
/// rule gives a wrong type, or if a node reads a further output of an operator with a train form or a decomposition.
Result<TrainingStep> derive_training_step(const graph::Graph& model, const StepOptions& options,
                                          const graph::OpTable& ops);
/// Derives the inference step of a model. `ops` must be the result of training_ops(). Errors: as in `graph::verify`
/// (kNotFound, kInvalidArgument); kInvalidArgument if a node reads a further output of an operator with a train form or
/// a decomposition.
Result<InferenceStep> derive_inference_step(const graph::Graph& model, const graph::OpTable& ops);

}  // namespace lanista::autodiff
