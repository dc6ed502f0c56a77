#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/lanista_program.h"

namespace lanista::bench {

/// A model's tensors for LibTorch, handed out one after the other in the order of its state.
class TorchWeights {
 public:
  /// `channels_last`: four-dimensional tensors lie so in memory.
  TorchWeights(const StartWeights& start, bool channels_last);

  std::vector<at::Tensor>& trained() { return trained_; }
  void rewind() { at_ = buffer_at_ = 0; }
  bool at_end() const { return at_ == trained_.size() && buffer_at_ == buffers_.size(); }
  const at::Tensor& next() { return trained_.at(at_++); }
  const at::Tensor& next_buffer() { return buffers_.at(buffer_at_++); }

 private:
  std::vector<at::Tensor> trained_, buffers_;
  std::size_t at_ = 0, buffer_at_ = 0;
};

/// Logits of a batch [N, sample…]; takes every tensor of the weights once.
using TorchForward = std::function<at::Tensor(TorchWeights& weights, const at::Tensor& x)>;

/// Of a case by its name; a case without one is a bug.
TorchForward torch_forward(const std::string& case_name);

/// A case's batch for LibTorch.
struct TorchBatch {
  TorchBatch(const Case& c, bool channels_last);
  at::Tensor x, labels;
};

/// Training written by hand against LibTorch: the baseline. Functional calls, autograd, momentum SGD without optimiser
/// objects.
class TorchLoop {
 public:
  TorchLoop(TorchForward forward, const StartWeights& start, double rate, bool channels_last);

  /// One step; returns the mean loss before it.
  double step(const TorchBatch& batch);

 private:
  TorchForward forward_;
  TorchWeights weights_;
  std::vector<at::Tensor> momenta_;
  double rate_;
};

}  // namespace lanista::bench
