#include "bench/torch_loop.h"

#include <algorithm>

#include "lanista/base/check.h"

namespace lanista::bench {
namespace {

// The tensor in the requested memory format.
at::Tensor laid_out(const at::Tensor& tensor, bool channels_last) {
  return channels_last && tensor.dim() == 4 ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor;
}

std::vector<at::Tensor> to_torch(const std::vector<Tensor>& tensors, bool channels_last) {
  std::vector<at::Tensor> out;
  for (const Tensor& tensor : tensors) {
    at::Tensor copy = torch::empty(tensor.shape, torch::kFloat32);
    std::copy_n(elements_of<float>(tensor).data(), tensor.elements(), copy.data_ptr<float>());
    out.push_back(laid_out(copy, channels_last));
  }
  return out;
}

}  // namespace

TorchWeights::TorchWeights(const StartWeights& start, bool channels_last)
    : trained_(to_torch(start.trained, channels_last)), buffers_(to_torch(start.buffers, channels_last)) {
  for (at::Tensor& tensor : trained_) tensor.set_requires_grad(true);
}

TorchBatch::TorchBatch(const Case& c, bool channels_last) {
  const CaseBatch batch(c);
  std::vector<std::int64_t> shape = c.sample;
  shape.insert(shape.begin(), c.batch);
  x = laid_out(at::tensor(at::ArrayRef<float>(batch.features())).reshape(shape), channels_last);
  if (c.vocab > 0) x = x.to(torch::kInt64);
  labels = at::tensor(at::ArrayRef<std::int32_t>(batch.labels())).to(torch::kInt64);
}

TorchLoop::TorchLoop(TorchForward forward, const StartWeights& start, double rate, bool channels_last)
    : forward_(std::move(forward)), weights_(start, channels_last), rate_(rate) {
  for (const at::Tensor& tensor : weights_.trained()) momenta_.push_back(torch::zeros_like(tensor));
}

double TorchLoop::step(const TorchBatch& batch) {
  weights_.rewind();
  const at::Tensor loss = at::cross_entropy_loss(forward_(weights_, batch.x), batch.labels);
  LANISTA_CHECK(weights_.at_end(), "a forward function reads all tensors of its model");
  std::vector<at::Tensor>& trained = weights_.trained();
  const auto gradients = torch::autograd::grad({loss}, trained);
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    momenta_[i].mul_(kMomentum).add_(gradients[i]);
    trained[i].add_(momenta_[i], -rate_);
  }
  return loss.item<double>();
}

}  // namespace lanista::bench
