#include "lanista/exec/kernels/kernels.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lanista/base/rng.h"

// Times of typical shapes of small models on one thread, per ISA level and element type.
namespace lanista::kernels {
namespace {

template <class T>
std::vector<T> random_values(std::int64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(rng.uniform(-1, 1));
  return values;
}

template <class T>
void linear_32x64x64(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(32 * 64, 1), w = random_values<T>(64 * 64, 2), b = random_values<T>(64, 3);
  std::vector<T> y(32 * 64);
  for (auto _ : state) k.linear(32, 64, 64, x.data(), w.data(), b.data(), y.data());
}

template <class T>
void linear_grad_x_32x64x64(benchmark::State& state, const Kernels<T>& k) {
  const auto dy = random_values<T>(32 * 64, 1), w = random_values<T>(64 * 64, 2);
  std::vector<T> dx(32 * 64);
  for (auto _ : state) k.linear_grad_x(32, 64, 64, dy.data(), w.data(), dx.data());
}

template <class T>
void linear_grad_w_32x64x64(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(32 * 64, 1), dy = random_values<T>(32 * 64, 2);
  std::vector<T> dw(64 * 64);
  for (auto _ : state) k.linear_grad_w(32, 64, 64, x.data(), dy.data(), dw.data());
}

template <class T>
void linear_128x784x256(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(128 * 784, 1), w = random_values<T>(784 * 256, 2), b = random_values<T>(256, 3);
  std::vector<T> y(128 * 256);
  for (auto _ : state) k.linear(128, 784, 256, x.data(), w.data(), b.data(), y.data());
}

template <class T>
void linear_grad_w_128x784x256(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(128 * 784, 1), dy = random_values<T>(128 * 256, 2);
  std::vector<T> dw(784 * 256);
  for (auto _ : state) k.linear_grad_w(128, 784, 256, x.data(), dy.data(), dw.data());
}

ConvShape same_conv(std::int64_t size, std::int64_t ci, std::int64_t co, std::int64_t window) {
  return {32, size, size, ci, size, size, co, window, window, 1, 1, window / 2, window / 2, 1, 1, 1};
}

enum class Pass { kForward, kGradX, kGradW };

template <class T>
void conv(benchmark::State& state, const Kernels<T>& k, ConvShape s, Pass pass) {
  const auto x = random_values<T>(s.n * s.h * s.w * s.ci, 1), w = random_values<T>(s.kh * s.kw * s.ci * s.co, 2);
  const auto y = random_values<T>(s.n * s.oh * s.ow * s.co, 3), bias = random_values<T>(s.co, 4);
  std::vector<T> out(std::max({x.size(), y.size(), w.size()}));
  std::vector<T> scratch(static_cast<std::size_t>(k.conv2d_scratch(s)));
  for (auto _ : state) {
    if (pass == Pass::kForward) k.conv2d_relu(s, x.data(), w.data(), bias.data(), out.data(), scratch.data());
    if (pass == Pass::kGradX) k.conv2d_grad_x(s, y.data(), w.data(), out.data(), scratch.data());
    if (pass == Pass::kGradW) k.conv2d_grad_w(s, x.data(), y.data(), out.data(), scratch.data());
  }
}

template <class T>
void cross_entropy_32x10(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(320, 1);
  std::vector<std::int32_t> target(32, 3);
  std::vector<T> loss(32), probability(320), dx(320);
  for (auto _ : state) {
    k.loss("cross_entropy")->of_classes(32, 10, 0.0, x.data(), target.data(), loss.data(), probability.data());
    k.loss("cross_entropy")->grad_of_classes(32, 32, 10, 0.0, probability.data(), target.data(), dx.data());
  }
}

template <class T>
void sgd_4810(benchmark::State& state, const Kernels<T>& k) {
  const auto grad = random_values<T>(4810, 1);
  std::vector<T> param(4810), momentum(4810);
  T* const slots[] = {momentum.data()};
  const UpdateHyper hyper{.lr = 1e-3, .momentum = 0.9, .step = 10};
  for (auto _ : state) k.update("sgd")->run(4810, hyper, grad.data(), param.data(), slots);
}

template <class T>
void adam_4810(benchmark::State& state, const Kernels<T>& k) {
  const auto grad = random_values<T>(4810, 1);
  std::vector<T> param(4810), m(4810), v(4810);
  T* const slots[] = {m.data(), v.data()};
  const UpdateHyper hyper{.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 10};
  for (auto _ : state) k.update("adam")->run(4810, hyper, grad.data(), param.data(), slots);
}

template <class T>
void batch_norm_2048x16(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(2048 * 16, 1), one = random_values<T>(16, 2);
  std::vector<T> y(x.size()), mean(16), inv(16), rm(16), rv(16);
  for (auto _ : state) {
    k.batch_norm_train(2048, 16, 1e-5, 0.1, x.data(), one.data(), one.data(), one.data(), one.data(), y.data(),
                       mean.data(), inv.data(), rm.data(), rv.data());
  }
}

template <class T>
void batch_norm_grad_2048x16(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(2048 * 16, 1), dy = random_values<T>(2048 * 16, 3), one = random_values<T>(16, 2);
  std::vector<T> dx(x.size()), dgamma(16), dbeta(16);
  for (auto _ : state) {
    k.batch_norm_grad(2048, 16, x.data(), one.data(), one.data(), one.data(), dy.data(), dx.data(), dgamma.data(),
                      dbeta.data());
  }
}

template <class T>
void pools_8x8x16(benchmark::State& state, const Kernels<T>& k, int which) {
  const PoolShape two{32, 8, 8, 16, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0, false},
      three{32, 8, 8, 16, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, false};
  const auto x = random_values<T>(32 * 64 * 16, 1);
  std::vector<T> y(x.size()), scratch(8 * 8 * 16);
  std::vector<std::uint8_t> index(x.size());
  for (auto _ : state) {
    if (which == 0) k.relu_max_pool(two, x.data(), y.data(), index.data());
    if (which == 1) k.max_pool_grad(two, index.data(), x.data(), y.data());
    if (which == 2) k.avg_pool(three, x.data(), y.data());
    if (which == 3) k.avg_pool_grad(three, x.data(), y.data(), scratch.data());
  }
}

template <class T>
void map_4096(benchmark::State& state, void (*f)(std::int64_t, const T*, T*)) {
  const auto x = random_values<T>(4096, 1);
  std::vector<T> y(4096);
  for (auto _ : state) f(4096, x.data(), y.data());
}

template <class T>
void column_sum_2048x16(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(2048 * 16, 1);
  std::vector<T> y(16);
  for (auto _ : state) k.column_sum(2048, 16, x.data(), y.data());
}

template <class T>
void layer_norm_1024x64(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(1024 * 64, 1), one = random_values<T>(64, 2);
  std::vector<T> y(x.size()), mean(1024), inv(1024);
  for (auto _ : state) {
    k.layer_norm(1024, 64, 1e-5, x.data(), one.data(), one.data(), y.data(), mean.data(), inv.data());
  }
}

template <class T>
void softmax_1024x32(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(1024 * 32, 1);
  std::vector<T> y(x.size());
  for (auto _ : state) k.softmax({1024, 32, 1}, x.data(), y.data());
}

template <class T>
void dropout_32x64(benchmark::State& state, const Kernels<T>& k) {
  const auto x = random_values<T>(32 * 64, 1);
  const std::vector<std::int64_t> samples(32, 5);
  std::vector<T> y(x.size());
  for (auto _ : state) k.dropout(32, 64, samples.data(), 0.5, {1, 2, 3}, x.data(), y.data());
}

template <class T>
void heads_to_front(benchmark::State& state, const Kernels<T>& k) {
  const std::vector<std::int64_t> sizes{32, 4, 32, 16}, strides{32 * 64, 16, 64, 1};
  const auto x = random_values<T>(32 * 32 * 64, 1);
  std::vector<T> y(x.size());
  for (auto _ : state) k.permute(sizes, strides, x.data(), y.data());
}

template <class T>
void add_family(Isa isa, const std::string& type) {
  const Kernels<T>& k = kernels<T>(isa);
  const std::string prefix = std::string(isa_name(isa)) + "/" + type + "/";
  const auto add = [&](const std::string& name, auto run) {
    benchmark::RegisterBenchmark((prefix + name).c_str(), run)->Unit(benchmark::kMicrosecond);
  };
  add("linear_32x64x64", [&k](auto& s) { linear_32x64x64<T>(s, k); });
  add("linear_grad_x_32x64x64", [&k](auto& s) { linear_grad_x_32x64x64<T>(s, k); });
  add("linear_grad_w_32x64x64", [&k](auto& s) { linear_grad_w_32x64x64<T>(s, k); });
  add("linear_128x784x256", [&k](auto& s) { linear_128x784x256<T>(s, k); });
  add("linear_grad_w_128x784x256", [&k](auto& s) { linear_grad_w_128x784x256<T>(s, k); });
  const std::vector<std::pair<std::string, ConvShape>> shapes{
      {"8x8_1_16", same_conv(8, 1, 16, 3)},      {"8x8_16_16", same_conv(8, 16, 16, 3)},
      {"4x4_16_32", same_conv(4, 16, 32, 3)},    {"8x8_16_16_1x1", same_conv(8, 16, 16, 1)},
      {"16x16_16_16", same_conv(16, 16, 16, 3)}, {"14x14_16_32", same_conv(14, 16, 32, 3)},
      {"28x28_1_16", same_conv(28, 1, 16, 3)}};
  for (const auto& [name, s] : shapes) {
    add("conv_" + name, [&k, s = s](auto& st) { conv<T>(st, k, s, Pass::kForward); });
    add("conv_grad_x_" + name, [&k, s = s](auto& st) { conv<T>(st, k, s, Pass::kGradX); });
    add("conv_grad_w_" + name, [&k, s = s](auto& st) { conv<T>(st, k, s, Pass::kGradW); });
  }
  add("cross_entropy_32x10", [&k](auto& s) { cross_entropy_32x10<T>(s, k); });
  add("sgd_4810", [&k](auto& s) { sgd_4810<T>(s, k); });
  add("adam_4810", [&k](auto& s) { adam_4810<T>(s, k); });
  add("batch_norm_2048x16", [&k](auto& s) { batch_norm_2048x16<T>(s, k); });
  add("batch_norm_grad_2048x16", [&k](auto& s) { batch_norm_grad_2048x16<T>(s, k); });
  add("relu_max_pool_8x8x16", [&k](auto& s) { pools_8x8x16<T>(s, k, 0); });
  add("max_pool_grad_8x8x16", [&k](auto& s) { pools_8x8x16<T>(s, k, 1); });
  add("avg_pool_8x8x16", [&k](auto& s) { pools_8x8x16<T>(s, k, 2); });
  add("avg_pool_grad_8x8x16", [&k](auto& s) { pools_8x8x16<T>(s, k, 3); });
  add("relu_4096", [&k](auto& s) { map_4096<T>(s, k.activation("relu")->forward); });
  add("gelu_4096", [&k](auto& s) { map_4096<T>(s, k.activation("gelu")->forward); });
  add("tanh_4096", [&k](auto& s) { map_4096<T>(s, k.activation("tanh")->forward); });
  add("column_sum_2048x16", [&k](auto& s) { column_sum_2048x16<T>(s, k); });
  add("layer_norm_1024x64", [&k](auto& s) { layer_norm_1024x64<T>(s, k); });
  add("softmax_1024x32", [&k](auto& s) { softmax_1024x32<T>(s, k); });
  add("dropout_32x64", [&k](auto& s) { dropout_32x64<T>(s, k); });
  add("heads_to_front", [&k](auto& s) { heads_to_front<T>(s, k); });
}

}  // namespace
}  // namespace lanista::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const lanista::kernels::Isa isa : lanista::kernels::available_isas()) {
    lanista::kernels::add_family<float>(isa, "float");
    lanista::kernels::add_family<double>(isa, "double");
  }
  benchmark::RunSpecifiedBenchmarks();
}
