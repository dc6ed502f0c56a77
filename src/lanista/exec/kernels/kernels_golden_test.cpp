// Hashes of the bits of every numeric class. If a hash differs, trials train to other numbers. The cause is a defect
// (here or in a compiler) or an intended change. For an intended change, give the classes a new number in
// exec/backends/cpu/cpu_backend.cpp. Then run these tests and copy the printed hashes into the tables, here and in
// models_golden_test.cpp. Inputs are sampled by lanista::Rng, and no kernel calls the mathematical library. So every
// compiler must give these hashes.
#include <cstdio>
#include <functional>
#include <map>

#include "lanista/base/digest.h"
#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

template <class T>
using Values = std::vector<T>;

/// Hashes every number of a kernel's result, one call after the other.
template <class T>
class Recorder {
 public:
  explicit Recorder(const Kernels<T>& kernels) : k(kernels) {}

  /// Uniform in [-2, 2), other numbers for every call.
  Values<T> random(std::int64_t count) { return random_values<T>(rng_, count, -2, 2); }
  Values<T> random(std::int64_t count, double low, double high) { return random_values<T>(rng_, count, low, high); }
  void add(const Values<T>& values) { hasher_.bytes(std::as_bytes(std::span(values))); }
  void add(double value) { hasher_.real(value); }
  std::string hash() const { return hasher_.finish().hex().substr(0, 16); }

  const Kernels<T>& k;

 private:
  Rng rng_{20};
  Hasher hasher_;
};

/// Every 2^-10 in [-24, 24], and every power of two down to the smallest normal ones.
template <class T>
Values<T> dense_sweep() {
  Values<T> x;
  for (int i = -24 * 1024; i <= 24 * 1024; ++i) x.push_back(static_cast<T>(i) / T(1024));
  for (T small = T(1) / T(2048); small >= std::numeric_limits<T>::min(); small /= 2) {
    x.push_back(small);
    x.push_back(-small);
  }
  return x;
}

template <class T>
using Task = std::function<void(Recorder<T>&)>;

template <class T>
Task<T> unary(const char* op) {
  return [op](Recorder<T>& r) {
    const ActivationKernel<T>& activation = *r.k.activation(op);
    const auto x = dense_sweep<T>();
    const auto n = static_cast<std::int64_t>(x.size());
    Values<T> y(x.size()), dx(x.size());
    activation.forward(n, x.data(), y.data());
    activation.gradient(n, activation.from_output ? y.data() : x.data(), r.random(n).data(), dx.data());
    r.add(y);
    r.add(dx);
  };
}

template <class T>
void elu(Recorder<T>& r) {
  const auto x = dense_sweep<T>();
  const auto n = static_cast<std::int64_t>(x.size());
  Values<T> y(x.size()), dx(x.size());
  r.k.elu(n, T(0.75), x.data(), y.data());
  r.k.elu_grad(n, T(0.75), y.data(), r.random(n).data(), dx.data());
  r.add(y);
  r.add(dx);
}

// exp of every number of the sweep below 0, as softmax shares next to exp(0) = 1.
template <class T>
void exponential(Recorder<T>& r) {
  for (const T x : dense_sweep<T>()) {
    if (x > 0) continue;
    const T pair[] = {0, x};
    Values<T> y(2);
    r.k.softmax({1, 2, 1}, pair, y.data());
    r.add(y);
  }
}

// log of shares from 1/2 to almost nothing.
template <class T>
void logarithm(Recorder<T>& r) {
  for (const T x : dense_sweep<T>()) {
    const T pair[] = {0, x};
    const std::int32_t target = 0;
    Values<T> loss(1), share(2), slope(2);
    r.k.loss("cross_entropy")->of_classes(1, 2, 0.1, pair, &target, loss.data(), share.data());
    r.k.loss("cross_entropy")->grad_of_classes(1, 1, 2, 0.1, share.data(), &target, slope.data());
    r.add(loss);
    r.add(slope);
  }
}

template <class T>
void softmax(Recorder<T>& r) {
  for (const AxisShape& s : {AxisShape{5, 37, 1}, AxisShape{3, 7, 19}, AxisShape{2, 1000, 1}}) {
    const std::int64_t n = s.outer * s.len * s.inner;
    Values<T> y(static_cast<std::size_t>(n)), dx(y.size());
    r.k.softmax(s, r.random(n).data(), y.data());
    r.k.softmax_grad(s, y.data(), r.random(n).data(), dx.data());
    r.add(y);
    r.add(dx);
  }
}

template <class T>
void norms(Recorder<T>& r) {
  for (const std::int64_t rows : {1, 12, 301}) {
    const std::int64_t c = 42;
    const auto n = static_cast<std::size_t>(rows * c);
    const auto x = r.random(rows * c), dy = r.random(rows * c), gamma = r.random(c), beta = r.random(c);
    const auto old_mean = r.random(c), old_var = r.random(c, 0.5, 2);
    Values<T> y(n), dx(n), mean(42), inv(42), new_mean(42), new_var(42), dgamma(42), dbeta(42);
    r.k.batch_norm_train(rows, c, 1e-5, 0.1, x.data(), gamma.data(), beta.data(), old_mean.data(), old_var.data(),
                         y.data(), mean.data(), inv.data(), new_mean.data(), new_var.data());
    r.k.batch_norm_grad(rows, c, x.data(), gamma.data(), mean.data(), inv.data(), dy.data(), dx.data(), dgamma.data(),
                        dbeta.data());
    for (const auto* each : {&y, &dx, &mean, &inv, &new_mean, &new_var, &dgamma, &dbeta}) r.add(*each);
    r.k.batch_norm_eval(rows, c, 1e-5, x.data(), gamma.data(), beta.data(), new_mean.data(), old_var.data(), y.data());
    r.add(y);
    Values<T> row_mean(static_cast<std::size_t>(rows)), row_inv(row_mean.size());
    r.k.layer_norm(rows, c, 1e-5, x.data(), gamma.data(), beta.data(), y.data(), row_mean.data(), row_inv.data());
    r.k.layer_norm_grad(rows, c, x.data(), gamma.data(), row_mean.data(), row_inv.data(), dy.data(), dx.data(),
                        dgamma.data(), dbeta.data());
    for (const auto* each : {&y, &dx, &dgamma, &dbeta}) r.add(*each);
    Values<T> group_mean(static_cast<std::size_t>(3 * rows)), group_inv(group_mean.size());
    r.k.group_norm(rows, 2, 21, 3, 1e-5, x.data(), gamma.data(), beta.data(), y.data(), group_mean.data(),
                   group_inv.data());
    r.k.group_norm_grad(rows, 2, 21, 3, x.data(), gamma.data(), group_mean.data(), group_inv.data(), dy.data(),
                        dx.data(), dgamma.data(), dbeta.data());
    for (const auto* each : {&y, &dx, &dgamma, &dbeta}) r.add(*each);
  }
}

template <class T>
void sums(Recorder<T>& r) {
  const auto x = r.random(3 * 1001), other = r.random(3 * 1001);
  Values<T> y(1001), loss(3), dx(x.size());
  r.k.column_sum(3, 1001, x.data(), y.data());
  r.add(y);
  r.add({r.k.mean(3003, x.data())});
  r.add(r.k.square_norm(3003, x.data()));
  r.k.loss("mse")->of_values(3, 1001, x.data(), other.data(), loss.data());
  r.k.loss("mse")->grad_of_values(3, 3, 1001, x.data(), other.data(), dx.data());
  r.add(loss);
  r.add(dx);
  for (const AxisShape& s : {AxisShape{3, 1001, 1}, AxisShape{3, 7, 143}}) {
    Values<T> means(static_cast<std::size_t>(s.outer * s.inner));
    r.k.mean_axis(s, x.data(), means.data());
    r.k.mean_axis_grad(s, means.data(), dx.data());
    r.add(means);
    r.add(dx);
  }
  const LrnShape lrn{91, 33, 5, 1e-2, 0.75, 1};
  Values<T> scratch(2 * (33 + 5)), z(x.size());
  r.k.lrn(lrn, x.data(), z.data(), scratch.data());
  r.k.lrn_grad(lrn, x.data(), other.data(), dx.data(), scratch.data());
  r.add(z);
  r.add(dx);
}

template <class T>
void products(Recorder<T>& r) {
  const std::int64_t rows = 17, in = 45, out = 37;
  const auto x = r.random(rows * in), w = r.random(in * out), bias = r.random(out), dy = r.random(rows * out);
  Values<T> y(dy.size()), dx(x.size()), dw(w.size());
  r.k.linear(rows, in, out, x.data(), w.data(), bias.data(), y.data());
  r.k.linear_grad_x(rows, in, out, dy.data(), w.data(), dx.data());
  r.k.linear_grad_w(rows, in, out, x.data(), dy.data(), dw.data());
  for (const auto* each : {&y, &dx, &dw}) r.add(*each);
  r.k.matmul({1, rows, out, in, false, false}, x.data(), w.data(), y.data());
  r.add(y);
}

template <class T>
void convolutions(Recorder<T>& r) {
  for (const std::int64_t groups : {1, 3}) {
    const ConvShape s{.n = 3,
                      .h = 9,
                      .w = 7,
                      .ci = 6,
                      .oh = 5,
                      .ow = 7,
                      .co = 12,
                      .kh = 3,
                      .kw = 3,
                      .stride_h = 2,
                      .stride_w = 1,
                      .pad_h = 1,
                      .pad_w = 1,
                      .dilation_h = 1,
                      .dilation_w = 1,
                      .groups = groups};
    const auto x = r.random(s.n * s.h * s.w * s.ci), w = r.random(9 * s.ci / groups * s.co), bias = r.random(s.co),
               dy = r.random(s.n * s.oh * s.ow * s.co);
    Values<T> y(dy.size()), dx(x.size()), dw(w.size()), scratch(static_cast<std::size_t>(r.k.conv2d_scratch(s)));
    r.k.conv2d(s, x.data(), w.data(), bias.data(), y.data(), scratch.data());
    r.k.conv2d_grad_x(s, dy.data(), w.data(), dx.data(), scratch.data());
    r.k.conv2d_grad_w(s, x.data(), dy.data(), dw.data(), scratch.data());
    for (const auto* each : {&y, &dx, &dw}) r.add(*each);
  }
}

// Three steps of one optimiser.
template <class T, class Step>
void steps(Recorder<T>& r, Step step) {
  Values<T> param = r.random(1003), m(1003), v(1003);
  for (std::int64_t i = 0; i < 3; ++i) {
    step(i, r.random(1003), param, m, v);
    for (const auto* each : {&param, &m, &v}) r.add(*each);
  }
}

template <class T>
Task<T> sgd(bool nesterov) {
  return [nesterov](Recorder<T>& r) {
    steps(r, [&](std::int64_t i, const Values<T>& grad, Values<T>& param, Values<T>& m, Values<T>&) {
      T* const slots[] = {m.data()};
      const UpdateHyper hyper{
          .lr = 0.1, .momentum = 0.9, .weight_decay = 5e-4, .grad_scale = 0.7, .nesterov = nesterov, .step = i + 1};
      r.k.update("sgd")->run(1003, hyper, grad.data(), param.data(), slots);
    });
  };
}

template <class T>
Task<T> adam(bool decoupled) {
  return [decoupled](Recorder<T>& r) {
    steps(r, [&](std::int64_t i, const Values<T>& grad, Values<T>& param, Values<T>& m, Values<T>& v) {
      T* const slots[] = {m.data(), v.data()};
      const UpdateHyper hyper{.lr = 1e-3,
                              .weight_decay = 1e-2,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .grad_scale = 0.7,
                              .step = i + 1};
      r.k.update(decoupled ? "adamw" : "adam")->run(1003, hyper, grad.data(), param.data(), slots);
    });
  };
}

template <class T>
std::map<std::string, Task<T>> tasks() {
  return {{"gelu", unary<T>("gelu")},
          {"silu", unary<T>("silu")},
          {"tanh", unary<T>("tanh")},
          {"sigmoid", unary<T>("sigmoid")},
          {"elu", elu<T>},
          {"exp", exponential<T>},
          {"log", logarithm<T>},
          {"softmax", softmax<T>},
          {"norms", norms<T>},
          {"sums", sums<T>},
          {"products", products<T>},
          {"convolutions", convolutions<T>},
          {"sgd", sgd<T>(false)},
          {"sgd_nesterov", sgd<T>(true)},
          {"adam", adam<T>(false)},
          {"adamw", adam<T>(true)}};
}

struct Golden {
  const char *float_no_fma, *float_fma, *double_no_fma, *double_fma;
};

// Classes own-2/no-fma and own-2/fma.
const std::map<std::string, Golden>& golden() {
  static const std::map<std::string, Golden> kGolden{
      {"adam", {"b5213ee6db6a0d0a", "13d7831cbfcc0719", "e44ee7d22d41a0db", "dc745676fbed5d68"}},
      {"adamw", {"ab61b7e3d829619f", "aa1f9f31a2225c6a", "a65c9b9c092c8f62", "8bb53b33ca25a676"}},
      {"convolutions", {"adeec7d25be6d058", "be5b14e7e00005a6", "ec9980a432677a4d", "0d1bd2845a7b3577"}},
      {"elu", {"1208fcbd62dd9ded", "f2e529f0239fe94b", "04dc17b704066124", "c39e8f7aa339297a"}},
      {"exp", {"0c9cd80d1b70e82b", "8a7d9d94251bb624", "1112267fba3dad2b", "30ef8331d80a9d25"}},
      {"gelu", {"0069d32914220798", "e53c8d1272f05950", "8ace12c457e6b191", "949a399165a71c9f"}},
      {"log", {"80ef903be565c013", "59896eeafa958687", "b2216c3c98a5ca3e", "772a8cbdfc481788"}},
      {"norms", {"e511a2f21d583d65", "6741aa5d19423533", "5f9cf66668d14ce8", "237fb74301f5ee9c"}},
      {"products", {"e338abc5777cbdf5", "93f0811072f9794c", "cbbd6d465902a404", "655c0dd33bdc3c34"}},
      {"sgd", {"52be40e854504944", "181f40b0fb28d2e1", "7cf12df991825850", "44284565c7a2c09d"}},
      {"sgd_nesterov", {"0f4ed7bbe5e31f8f", "73273d6f9ed7095b", "73b11ab4e72f2c07", "bf008c31ba58b45a"}},
      {"sigmoid", {"83aca4dfd9f37c24", "3a16a64a5c0a24fd", "663cc4139a2828c7", "b7466db76934fb21"}},
      {"silu", {"824ac81beb56713d", "467665022bb38ba2", "f3f37a18b8dc4f9d", "4b774d3332901549"}},
      {"softmax", {"899ae6be9fae5eef", "e66daaa1104b9a51", "9e5370cdbc632a6f", "18f9daa2d99703ee"}},
      {"sums", {"331abc21cf7ffd7c", "4f7a3073c4154f65", "02bf02d079745f7e", "b424dc4df9340090"}},
      {"tanh", {"8cbbb72076f175d8", "0252fead6565fbc4", "0d48ba8ba7a039e5", "2d7e17d36fb43c3d"}},
  };
  return kGolden;
}

TEST(Golden, BitsOfEveryNumericClassAreUnchanged) {
  std::map<std::string, std::map<std::string, std::string>> seen;
  for_every_family([&](auto zero, Isa isa, const auto& family) {
    using T = decltype(zero);
    const bool fma = isa != Isa::kPortable;
    for (const auto& [name, run] : tasks<T>()) {
      SCOPED_TRACE(name);
      Recorder<T> recorder(family);
      run(recorder);
      const bool narrow = sizeof(T) == 4;
      seen[name][std::string(narrow ? "float" : "double") + (fma ? "_fma" : "_no_fma")] = recorder.hash();
      const auto wanted = golden().find(name);
      if (wanted == golden().end()) {
        ADD_FAILURE() << "no hash as yet";
        continue;
      }
      const Golden& g = wanted->second;
      EXPECT_EQ(recorder.hash(),
                narrow ? (fma ? g.float_fma : g.float_no_fma) : (fma ? g.double_fma : g.double_no_fma));
    }
  });
  if (!HasFailure()) return;
  for (auto& [name, hashes] : seen) {
    std::printf("{\"%s\", {\"%s\", \"%s\", \"%s\", \"%s\"}},\n", name.c_str(), hashes["float_no_fma"].c_str(),
                hashes["float_fma"].c_str(), hashes["double_no_fma"].c_str(), hashes["double_fma"].c_str());
  }
}

}  // namespace
}  // namespace lanista::kernels
