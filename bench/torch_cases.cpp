// The models of cases.cpp for LibTorch. They read tensors in the order in which Net adds them there.
#include <cmath>
#include <map>

#include "bench/torch_loop.h"
#include "lanista/base/check.h"

namespace lanista::bench {
namespace {

using at::Tensor;

Tensor linear(TorchWeights& w, const Tensor& x) {
  const Tensor& weight = w.next();
  return at::linear(x, weight, w.next());
}

Tensor batch_norm(TorchWeights& w, const Tensor& x) {
  const Tensor& weight = w.next();
  const Tensor& bias = w.next();
  const Tensor& mean = w.next_buffer();
  return at::batch_norm(x, weight, bias, mean, w.next_buffer(), true, 0.1, 1e-5, false);
}

Tensor conv_norm(TorchWeights& w, const Tensor& x, std::int64_t stride = 1, std::int64_t groups = 1) {
  const Tensor& weight = w.next();
  return batch_norm(w, at::conv2d(x, weight, {}, stride, weight.size(2) / 2, 1, groups));
}

Tensor layer_norm(TorchWeights& w, const Tensor& x) {
  const Tensor& weight = w.next();
  return at::layer_norm(x, x.size(-1), weight, w.next());
}

Tensor mlp(TorchWeights& w, const Tensor& x, int hidden) {
  Tensor h = x;
  for (int i = 0; i < hidden; ++i) h = at::relu(linear(w, h));
  return linear(w, h);
}

Tensor cnn(TorchWeights& w, const Tensor& x) {
  Tensor h = x;
  for (int stage = 0; stage < 2; ++stage) {
    const Tensor& weight = w.next();
    h = at::max_pool2d(at::relu(at::conv2d(h, weight, w.next(), 1, 1)), 2);
  }
  return linear(w, h.flatten(1));
}

Tensor nb201_cell(TorchWeights& w, const Tensor& images) {
  const Tensor x = conv_norm(w, images);
  const Tensor active = at::relu(x);
  const Tensor wide = conv_norm(w, active);
  const Tensor narrow = conv_norm(w, active);
  const Tensor mean = at::avg_pool2d(x, 3, 1, 1, false, false);
  return linear(w, (wide + narrow + mean).mean({2, 3}));
}

Tensor mobilenet(TorchWeights& w, const Tensor& images) {
  Tensor h = at::relu6(conv_norm(w, images, 2));
  for (const std::int64_t stride : {1, 2, 1}) {
    const Tensor before = h;
    h = at::relu6(conv_norm(w, before));
    h = conv_norm(w, at::relu6(conv_norm(w, h, stride, h.size(1))));
    if (h.sizes() == before.sizes()) h = before + h;
  }
  h = at::relu6(conv_norm(w, h));
  return linear(w, h.mean({2, 3}));
}

Tensor attention(TorchWeights& w, const Tensor& x, std::int64_t heads) {
  const std::int64_t n = x.size(0), t = x.size(1), d = x.size(2), width = d / heads;
  const auto parts = linear(w, x).reshape({n, t, 3, heads, width}).permute({2, 0, 3, 1, 4}).unbind();
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const Tensor weights = at::softmax(at::matmul(parts[0] * scale, parts[1].transpose(-1, -2)), -1);
  return linear(w, at::matmul(weights, parts[2]).transpose(1, 2).reshape({n, t, d}));
}

Tensor transformer(TorchWeights& w, const Tensor& tokens) {
  constexpr std::int64_t kHeads = 4;
  const Tensor& table = w.next();
  Tensor h = at::embedding(table, tokens) + w.next();
  h = h + attention(w, layer_norm(w, h), kHeads);
  h = h + linear(w, at::gelu(linear(w, layer_norm(w, h)), "tanh"));
  return linear(w, layer_norm(w, h).mean(1));
}

}  // namespace

TorchForward torch_forward(const std::string& case_name) {
  const auto mlp_of = [](int hidden) {
    return [hidden](TorchWeights& w, const Tensor& x) { return mlp(w, x, hidden); };
  };
  const std::map<std::string, TorchForward> all{{"mlp-64", mlp_of(1)},
                                                {"mlp-256", mlp_of(2)},
                                                {"cnn-digits", cnn},
                                                {"cnn-28", cnn},
                                                {"nb201-cell", nb201_cell},
                                                {"nb201-cell-16", nb201_cell},
                                                {"mobilenet-small", mobilenet},
                                                {"transformer-tiny", transformer}};
  const auto found = all.find(case_name);
  LANISTA_CHECK(found != all.end(), "case " + case_name + " has no forward function for LibTorch");
  return found->second;
}

}  // namespace lanista::bench
