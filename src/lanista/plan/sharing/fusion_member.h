#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/precision.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/shape.h"

// What the planner is told of a trial.
namespace lanista::fuse {

/// One link of the input pipeline, run by room `data`: a reader, a decoder, a transform, an augmentation.
struct DataStep {
  std::string text;                   ///< what it does, with its settings: "flip(p=0.5)"; equal texts do the same
  bool random = false;                ///< drawn by (data seed, local epoch, sample): the same for all on one stream
  double us_per_sample = 0;           ///< measured or guessed
  std::int64_t bytes_per_sample = 0;  ///< of what comes out
};

/// Which samples come, in which order, and what is done to them.
struct DataKey {
  Digest dataset;
  std::string split = "train";
  std::uint64_t order_seed = 0;
  std::int64_t num_samples = 0;
  std::vector<DataStep> steps;
};

/// Bytes of one element of this kind.
inline std::int64_t element_bytes(graph::DType dtype, Precision precision) {
  if (dtype == graph::DType::kByte) return 1;
  return dtype == graph::DType::kReal ? size_of(precision) : 4;
}

/// What shapes a trial's steps beside its model. Learning rates, decays, seeds and the like are a lane's own numbers
/// and of no interest here.
struct StepRecipe {
  step::StepOptions step;
  std::int64_t batch_size = 32;
  DataKey data;
  std::int64_t local_step = 0;  ///< steps done: trials at the same one see the same batch
  std::int64_t epochs = 1;      ///< still to go, each a pass over the samples
  Precision precision = Precision::kFloat32;
  bool keeps_best_epoch = false;  ///< a copy of the trained part's weights, beside its state
};

/// A trial that is to run.
struct FusionMember {
  TrialId trial;
  graph::Graph model;
  /// Nodes that are not trained and run in inference form, each with the hash of its weights and buffers (of no
  /// account where it has none).
  std::map<graph::NodeId, Digest> frozen;
  StepRecipe recipe;
  std::string alone;  ///< why it may share no step ("its group failed"); empty: it may
};

}  // namespace lanista::fuse
