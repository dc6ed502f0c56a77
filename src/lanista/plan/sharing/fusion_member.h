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

// The input of the planner: the trials with their models, data and settings.
namespace lanista::sharing {

/// One step of the input pipeline (module io/data): a reader, a decoder, a transform or an augmentation.
struct DataStep {
  std::string text;                   ///< Name and settings, such as "flip(p=0.5)"; equal texts compute the same.
  bool random = false;                ///< True: random by data seed, epoch of the trial and row.
  double us_per_sample = 0;           ///< Measured or estimated microseconds for each sample.
  std::int64_t bytes_per_sample = 0;  ///< Bytes of its output for each sample.
};

/// The samples of a trial, their order, and the steps of its input pipeline.
struct DataKey {
  Digest dataset;                ///< Digest of the data set.
  std::string split = "train";   ///< Name of the part: train, validation or test.
  std::uint64_t order_seed = 0;  ///< Data seed.
  std::int64_t num_samples = 0;  ///< Number of samples of an epoch.
  std::vector<DataStep> steps;   ///< Input pipeline, in order.
};

/// Returns the bytes of one stored element: 1 for kByte and 4 for kIndex. A real number has 8 with kFloat64, else 4,
/// also with tf32 and bf16, which are stored as float32.
inline std::int64_t element_bytes(graph::DType dtype, Precision precision) {
  if (dtype == graph::DType::kByte) return 1;
  return dtype == graph::DType::kReal ? size_of(precision) : 4;
}

/// The settings of a trial that decide the shape of its steps, in addition to its model.
///
/// Learning rates, weight decays and seeds are numbers of a lane and do not matter here.
struct StepRecipe {
  autodiff::StepOptions step;                 ///< Loss and optimiser.
  std::int64_t batch_size = 32;               ///< Samples of a batch.
  DataKey data;                               ///< Samples and input pipeline.
  std::int64_t local_step = 0;                ///< Steps that the trial has finished; equal numbers read the same batch.
  std::int64_t epochs = 1;                    ///< Remaining epochs, each a pass over the samples.
  Precision precision = Precision::kFloat32;  ///< Type of all real values.
  /// True: a copy of the trained weights is kept, in addition to the state.
  bool keeps_best_epoch = false;
};

/// A trial that is to be planned.
struct FusionMember {
  TrialId trial;       ///< Number of the trial.
  graph::Graph model;  ///< Model that it trains.
  /// Nodes that are not trained and run in inference form, each with the hash of its weights and buffers. The hash is
  /// ignored for a node without weights.
  std::map<graph::NodeId, Digest> frozen;
  StepRecipe recipe;  ///< Data and settings.
  std::string alone;  ///< Reason why it must train alone, such as "its group failed"; empty if it may share.
};

}  // namespace lanista::sharing
