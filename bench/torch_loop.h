#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/lanista_program.h"

namespace lanista::bench {

/// The tensors of a model for LibTorch. A forward function reads them one by one in the order of the model's state.
class TorchWeights {
 public:
  /// Copies `start`. With `channels_last`, tensors of four dimensions get that memory format.
  TorchWeights(const StartWeights& start, bool channels_last);

  std::vector<at::Tensor>& trained() { return trained_; }
  /// Starts again at the first tensor.
  void rewind() { at_ = buffer_at_ = 0; }
  /// True if all tensors were read.
  bool at_end() const { return at_ == trained_.size() && buffer_at_ == buffers_.size(); }
  /// Returns the next trained tensor.
  const at::Tensor& next() { return trained_.at(at_++); }
  /// Returns the next buffer.
  const at::Tensor& next_buffer() { return buffers_.at(buffer_at_++); }

 private:
  std::vector<at::Tensor> trained_, buffers_;
  std::size_t at_ = 0, buffer_at_ = 0;
};

/// Returns the logits [N, classes] of a batch [N, sample…]. It reads each tensor of the weights once.
using TorchForward = std::function<at::Tensor(TorchWeights& weights, const at::Tensor& x)>;

/// The forward function of a case. Every case has one.
TorchForward torch_forward(const std::string& case_name);

/// The batch of a case for LibTorch (CaseBatch).
struct TorchBatch {
  TorchBatch(const Case& c, bool channels_last);
  at::Tensor x, labels;
};

/// A training loop written for LibTorch, the baseline of benchmarks.
///
/// It uses functional calls, autograd, and momentum SGD without optimiser objects.
class TorchLoop {
 public:
  /// Starts at the weights `start`, with the learning rate `rate`.
  TorchLoop(TorchForward forward, const StartWeights& start, double rate, bool channels_last);

  /// Runs one step and returns the mean loss before it.
  double step(const TorchBatch& batch);

 private:
  TorchForward forward_;
  TorchWeights weights_;
  std::vector<at::Tensor> momenta_;
  double rate_;
};

}  // namespace lanista::bench
