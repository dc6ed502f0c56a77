#include "lanista/bench/torch_loop.h"

namespace lanista::bench {

TorchLoop::TorchLoop(Forward forward, const std::vector<Tensor>& params, bool channels_last)
    : forward_(std::move(forward)) {
  for (const auto& param : params) {
    at::Tensor tensor = torch::empty(param.shape, torch::kFloat32);
    std::copy_n(elements_of<float>(param).data(), param.elements(), tensor.data_ptr<float>());
    if (channels_last && tensor.dim() == 4) tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
    params_.push_back(tensor.set_requires_grad(true));
    momenta_.push_back(torch::zeros_like(tensor));
  }
}

double TorchLoop::step(const at::Tensor& x, const at::Tensor& labels, double lr, double momentum) {
  const at::Tensor loss = torch::cross_entropy_loss(forward_(params_, x), labels);
  const auto gradients = torch::autograd::grad({loss}, params_);
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < params_.size(); ++i) {
    momenta_[i].mul_(momentum).add_(gradients[i]);
    params_[i].add_(momenta_[i], -lr);
  }
  return loss.item<double>();
}

TorchLoop::Forward torch_small_mlp() {
  return [](const std::vector<at::Tensor>& p, const at::Tensor& x) {
    const auto hidden = torch::relu(torch::addmm(p[1], x.flatten(1), p[0].t()));
    return torch::addmm(p[3], hidden, p[2].t());
  };
}

TorchLoop::Forward torch_small_cnn() {
  return [](const std::vector<at::Tensor>& p, const at::Tensor& x) {
    auto h = torch::max_pool2d(torch::relu(torch::conv2d(x, p[0], p[1], 1, 1)), 2);
    h = torch::max_pool2d(torch::relu(torch::conv2d(h, p[2], p[3], 1, 1)), 2);
    return torch::addmm(p[5], h.flatten(1), p[4].t());
  };
}

}  // namespace lanista::bench
