#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/graph/graph.h"

namespace lanista::bench {

/// A model whose training step is timed, and what of data a step sees. Cross-entropy, momentum SGD.
struct Case {
  std::string name;
  graph::Graph model;
  std::vector<std::int64_t> sample;  ///< shape of one sample
  std::int64_t batch = 32;
  std::int64_t vocab = 0;  ///< a sample is token numbers below it; 0: real numbers
  std::int64_t classes = 10;
  double rate = 0.02;  ///< small enough for losses of two programs to stay together over the first steps

  bool is_image() const { return sample.size() == 3; }
};

/// - mlp-64, mlp-256: 64-64-10 (the built-in small-mlp), and 784-256-256-10 with batch 128
/// - cnn-digits, cnn-28: the built-in small-cnn on images of 8x8 and of 28x28
/// - nb201-cell, nb201-cell-16: a cell of NAS-Bench-201 (Dong and Yang, ICLR'20), 16 channels on 8x8 and on 16x16
///   between a convolution and a linear layer
/// - mobilenet-small: inverted residual blocks (Sandler et al., CVPR'18) on images of 16x16
/// - transformer-tiny: a block of attention and a small network over 32 tokens, 64 features, four heads
std::vector<Case> training_cases();

/// Those of these names in the order of training_cases(), all if there are none. Errors: kNotFound with the known
/// names.
Result<std::vector<Case>> training_cases(std::span<const std::string> names);

/// Random samples and labels; the same case gives the same batch.
class CaseBatch {
 public:
  explicit CaseBatch(const Case& c);

  nn::Batch view() const;
  const std::vector<float>& features() const { return features_; }  ///< [batch, sample…]
  const std::vector<std::int32_t>& labels() const { return labels_; }

 private:
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> sample_index_;
};

}  // namespace lanista::bench
