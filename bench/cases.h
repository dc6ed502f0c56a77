#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/graph/graph.h"

namespace lanista::bench {

/// A training step that is timed: a model and the shape of its batch. The loss is cross-entropy, the optimiser SGD
/// with momentum.
struct Case {
  std::string name;
  graph::Graph model;
  std::vector<std::int64_t> sample;  ///< Shape of one sample.
  std::int64_t batch = 32;           ///< Samples of a step.
  std::int64_t vocab = 0;            ///< Token numbers of a sample are below it; 0: a sample has real numbers.
  std::int64_t classes = 10;
  double rate = 0.02;  ///< Learning rate, small enough that two programs have similar losses over the first steps.

  /// True if a sample is an image, [channels, height, width].
  bool is_image() const { return sample.size() == 3; }
};

/// All cases of training steps:
/// - mlp-64: 64-64-10, the built-in small-mlp
/// - mlp-256: 784-256-256-10 with batch 128
/// - cnn-digits, cnn-28: the built-in small-cnn on images of 8x8 and of 28x28
/// - nb201-cell, nb201-cell-16: a cell of NAS-Bench-201 (Dong and Yang, ICLR'20) between a convolution and a linear
///   layer, with 16 channels on images of 8x8 and of 16x16
/// - mobilenet-small: inverted residual blocks (Sandler et al., CVPR'18) on images of 16x16
/// - transformer-tiny: a block of attention and MLP over 32 tokens, with 64 features and four heads
std::vector<Case> training_cases();

/// The cases of these names, in the order of training_cases(). All cases if `names` is empty. Errors: kNotFound with
/// the known names.
Result<std::vector<Case>> training_cases(std::span<const std::string> names);

/// A batch of random samples and labels for a case. Equal cases get equal batches.
class CaseBatch {
 public:
  explicit CaseBatch(const Case& c);

  /// The batch as a program reads it; valid while this lives.
  program::Batch view() const;
  const std::vector<float>& features() const { return features_; }  ///< [batch, sample…].
  const std::vector<std::int32_t>& labels() const { return labels_; }

 private:
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> sample_index_;
};

}  // namespace lanista::bench
