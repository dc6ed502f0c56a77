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

/// What shapes a step beside the model; everything else of a recipe is a lane's own number.
struct StepOptions {
  std::string loss = "cross_entropy";  ///< of losses() (loss.h)
  std::string optimizer = "sgd";       ///< of optimizers() (optimizer.h)
  bool operator==(const StepOptions&) const = default;
};

/// One tensor of a lane's state, in the order in which it lies in the lane's flat buffers.
struct StateTensor {
  std::string name;     ///< as in checkpoints: "n3.weight"
  graph::Shape shape;   ///< canonical order
  bool trained = true;  ///< parameter, or buffer
  graph::Init init = graph::Init::kZeros;
  std::int64_t fan_in = 0;
  double deviation = 1;
  graph::NodeId node;  ///< its `parameter` or `buffer` node in the step graph
};

/// A training step as a graph: forward, loss, derived backward, and a final commit section. Pure up to the commit:
/// a step that stops before it has changed nothing. All values belong to one lane, except those computed from the
/// inputs alone; the program repeats the graph for every lane on that lane's state.
struct TrainingStep {
  graph::Graph graph;
  graph::Types types;
  StepOptions options;
  std::vector<StateTensor> state;      ///< parameters first, then buffers
  std::vector<graph::NodeId> compute;  ///< pure section, in execution order; dead values removed
  std::vector<graph::NodeId> commit;   ///< update and buffer_update nodes
  graph::Port input, target;           ///< sources fed by the batch
  graph::Port prediction;              ///< what the model's `output` saw (logits)
  graph::Port loss;                    ///< [N], per sample
  std::map<graph::NodeId, graph::Port>
      gradient;  ///< of each `parameter` node; absent: no gradient reaches it (it stays)
  std::map<graph::NodeId, graph::Port> renewed;   ///< of each `buffer` node that the step renews: its new value
  std::map<graph::NodeId, graph::NodeId> origin;  ///< step node -> model node it serves
};

/// The forward pass in inference form (running statistics, no dropout), over the same state.
struct InferenceStep {
  graph::Graph graph;
  graph::Types types;
  std::vector<StateTensor> state;  ///< equal to the training step's
  std::vector<graph::NodeId> compute;
  graph::Port input, prediction;
};

/// The model's operators and the step's: sources, backward, losses, updates.
graph::OpTable training_ops(const graph::OpTable& model_ops);

/// Derives the step of a verified model. `ops` is training_ops(...).
/// Errors: kInvalidArgument if the output's shape does not fit the loss (cross-entropy wants [N, classes], classes >=
/// 2), or there is no such loss or optimiser.
Result<TrainingStep> derive_training_step(const graph::Graph& model, const StepOptions& options,
                                          const graph::OpTable& ops);
Result<InferenceStep> derive_inference_step(const graph::Graph& model, const graph::OpTable& ops);

}  // namespace lanista::step
