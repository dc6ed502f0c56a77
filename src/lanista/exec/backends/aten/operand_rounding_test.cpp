// tf32 and bf16 round the operands of products and nothing else. The reference computes sums in double over operands
// that an independent routine rounds.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <map>

#include "lanista/base/rng.h"
#include "lanista/exec/backends/aten/operand_rounding.h"
#include "lanista/exec/backends/cuda_blocks/block_backend.h"
#include "support/exec/backends/aten/test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

int digits_of(Precision precision) {  // bits of the mantissa, with the leading one
  return precision == Precision::kTf32 ? 11 : precision == Precision::kBf16 ? 8 : 53;
}

// x rounded to so many binary digits, ties to even. x is not subnormal.
double nearest(double x, Precision precision) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  const int digits = digits_of(precision);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, digits)), exponent - digits);
}

TEST(Rounding, IsToTheNearestWithTiesToEven) {
  Rng rng(4);
  for (const Precision precision : {Precision::kTf32, Precision::kBf16}) {
    std::vector<float> values{0.0F, -0.0F, 1.0F, -1.0F, 3.0F, FLT_MIN, FLT_MAX / 4};
    const int digits = digits_of(precision);
    for (int i = 0; i < 4000; ++i) {
      const double whole = static_cast<double>(rng.between(1 << (digits - 1), (1 << digits) - 1));
      const double part = i % 3 == 0 ? 0.5 : i % 3 == 1 ? rng.uniform() : 0.5 + (rng.bernoulli(0.5) ? 1 : -1) * 0x1p-12;
      values.push_back(static_cast<float>(
          std::ldexp(rng.bernoulli(0.5) ? whole + part : -whole - part, static_cast<int>(rng.between(-100, 90)))));
    }
    const at::Tensor x = at::from_blob(values.data(), {1, static_cast<std::int64_t>(values.size())}, at::kFloat);
    const at::Tensor y = rounded(x, precision);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(y.data_ptr<float>()[i], nearest(values[i], precision)) << name_of(precision) << " of " << values[i];
    }
    float odd[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                   std::nanf("0x3fffff")};
    const at::Tensor z = rounded(at::from_blob(odd, {1, 3}, at::kFloat), precision);
    EXPECT_EQ(z.data_ptr<float>()[0], odd[0]);
    EXPECT_EQ(z.data_ptr<float>()[1], odd[1]);
    EXPECT_TRUE(std::isnan(z.data_ptr<float>()[2]));
    const at::Tensor shared = rounded(x.expand({3, x.size(1)}), precision);
    EXPECT_EQ(shared.stride(0), 0);
  }
}

class RoundedOperands : public DeviceTest {};

struct Gradients {
  double loss = 0;
  std::map<std::string, std::vector<double>> of;  // by parameter
};

std::vector<double> doubles(const std::vector<lanista::Tensor>& state, std::string_view name) {
  const auto values = elements_of<float>(tensor_named(state, name));
  return {values.begin(), values.end()};
}

bool is_parameter(const lanista::Tensor& tensor) {
  return tensor.type == ElementType::kF32 && tensor.name.find('/') == std::string::npos;
}

// The gradient: the difference of the parameters over one step of plain descent with rate 1.
Gradients gradients_of_step(const std::vector<lanista::Tensor>& before, const std::vector<lanista::Tensor>& after,
                            double loss) {
  Gradients all{.loss = loss, .of = {}};
  for (const lanista::Tensor& tensor : before) {
    if (!is_parameter(tensor)) continue;
    const std::vector<double> a = doubles(before, tensor.name), b = doubles(after, tensor.name);
    for (std::size_t i = 0; i < a.size(); ++i) all.of[tensor.name].push_back(a[i] - b[i]);
  }
  return all;
}

// The model %1 = linear, %2 = relu, %3 = linear with mse, forward and backward by their definitions.
Gradients linear_reference(const std::vector<lanista::Tensor>& state, const OwnedBatch& batch, std::size_t in,
                           std::size_t hidden, std::size_t out, Precision precision,
                           const std::vector<std::string>& names) {
  const auto n = static_cast<std::size_t>(batch.size);
  const auto r = [&](double x) { return x == 0 ? 0 : nearest(x, precision); };
  const auto narrow = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  const std::vector<double> w1 = doubles(state, names[0]), b1 = doubles(state, names[1]), w2 = doubles(state, names[2]),
                            b2 = doubles(state, names[3]);
  std::vector<double> h(n * hidden), y(n * out), dy(n * out), dh(n * hidden);
  Gradients g;
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t j = 0; j < hidden; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < in; ++i)
        sum += r(static_cast<double>(batch.features[s * in + i])) * r(w1[j * in + i]);
      h[s * hidden + j] = std::max(0.0, narrow(narrow(sum) + b1[j]));
    }
    for (std::size_t k = 0; k < out; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < hidden; ++j) sum += r(h[s * hidden + j]) * r(w2[k * hidden + j]);
      y[s * out + k] = narrow(narrow(sum) + b2[k]);
      const double off = y[s * out + k] - static_cast<double>(batch.targets[s * out + k]);
      g.loss += off * off / static_cast<double>(n * out);
      dy[s * out + k] = narrow(2 * off / static_cast<double>(n * out));
    }
    for (std::size_t j = 0; j < hidden; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < out; ++k) sum += r(dy[s * out + k]) * r(w2[k * hidden + j]);
      dh[s * hidden + j] = h[s * hidden + j] > 0 ? narrow(sum) : 0;
    }
  }
  std::vector<double>&gw1 = g.of[names[0]], &gb1 = g.of[names[1]], &gw2 = g.of[names[2]], &gb2 = g.of[names[3]];
  gw1.resize(hidden * in), gb1.resize(hidden), gw2.resize(out * hidden), gb2.resize(out);
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t j = 0; j < hidden; ++j) {
      gb1[j] += dh[s * hidden + j];
      for (std::size_t i = 0; i < in; ++i) {
        gw1[j * in + i] += r(dh[s * hidden + j]) * r(static_cast<double>(batch.features[s * in + i]));
      }
    }
    for (std::size_t k = 0; k < out; ++k) {
      gb2[k] += dy[s * out + k];
      for (std::size_t j = 0; j < hidden; ++j) gw2[k * hidden + j] += r(dy[s * out + k]) * r(h[s * hidden + j]);
    }
  }
  return g;
}

Gradients one_step(const Derived& derived, const program::Backend& backend, Precision precision,
                   const OwnedBatch& batch) {
  program::Program program =
      compile(derived, {.lanes = 2, .max_batch = kBatch, .precision = precision, .backend = &backend});
  const std::vector<lanista::Tensor> before = program.extract(1);
  const program::Batch view = batch.view();
  const std::vector<program::LaneHyper> hyper(2, program::LaneHyper{.lr = 1});
  const std::vector<std::uint8_t> active{0, 1};
  std::vector<double> loss(2);
  program.train_step({&view, 1}, hyper, active, loss);
  return gradients_of_step(before, program.extract(1), loss[1]);
}

double distance(const Gradients& a, const Gradients& b, std::string* where = nullptr) {
  double worst = std::fabs(a.loss - b.loss) / std::fabs(b.loss);
  for (const auto& [name, wanted] : b.of) {
    double far = 0, size = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      far = std::max(far, std::fabs(a.of.at(name)[i] - wanted[i]));
      size = std::max(size, std::fabs(wanted[i]));
    }
    if (far / size <= worst) continue;
    worst = far / size;
    if (where != nullptr) *where = name;
  }
  return worst;
}

TEST_P(RoundedOperands, RoundsOnlyOperandsOfLinearLayers) {
  const TestModel model{.name = "two_layers",
                        .text =
                            "%0 = input(shape=[13], dtype=\"real\")\n%1 = linear(%0, out=17)\n%2 = relu(%1)\n"
                            "%3 = linear(%2, out=3)\n%4 = output(%3)\n",
                        .loss = "mse"};
  const Derived derived = derive(model);
  const OwnedBatch batch = random_batch(derived, kBatch, 5);
  const program::Program plain = compile(derived, {});
  const std::vector<lanista::Tensor> state = plain.extract(0);
  std::vector<std::string> names;
  for (const lanista::Tensor& tensor : state) {
    if (is_parameter(tensor)) names.push_back(tensor.name);
  }
  ASSERT_EQ(names.size(), 4U);
  if (names[0].ends_with("bias")) std::swap(names[0], names[1]);
  if (names[2].ends_with("bias")) std::swap(names[2], names[3]);
  for (const Precision precision : {Precision::kTf32, Precision::kBf16}) {
    const Gradients wanted = linear_reference(state, batch, 13, 17, 3, precision, names);
    std::string where;
    const Gradients got = one_step(derived, backend(), precision, batch);
    EXPECT_LT(distance(got, wanted, &where), 2e-5) << name_of(precision) << " " << where;
    const double rounding = distance(one_step(derived, backend(), Precision::kFloat32, batch), wanted);
    EXPECT_GT(rounding, precision == Precision::kTf32 ? 1e-4 : 1e-3) << "float32 is no " << name_of(precision);
  }
}

// A convolution, its bias and its weight gradient, computed by loops.
TEST_P(RoundedOperands, RoundsOnlyOperandsOfConvolutions) {
  for (const std::int64_t channels : {3, 8}) {  // with gathered windows, and with the direct kernel
    const auto co = static_cast<std::size_t>(channels);
    const TestModel model{
        .name = "convolution",
        .text = "%0 = input(shape=[2,6,5], dtype=\"real\")\n%1 = conv2d(%0, out=" + std::to_string(channels) +
                ", kernel=[3], stride=[2], padding=[1])\n%2 = output(%1)\n",
        .loss = "mse"};
    const Derived derived = derive(model);
    const OwnedBatch batch = random_batch(derived, kBatch, 6);
    const std::vector<lanista::Tensor> state = compile(derived, {}).extract(0);
    std::string weight, bias;
    for (const lanista::Tensor& tensor : state) {
      if (is_parameter(tensor)) (tensor.name.ends_with("bias") ? bias : weight) = tensor.name;
    }
    constexpr std::size_t kC = 2, kH = 6, kW = 5, kOh = 3, kOw = 3;
    for (const Precision precision : {Precision::kTf32, Precision::kBf16}) {
      const auto r = [&](double x) { return x == 0 ? 0 : nearest(x, precision); };
      const std::vector<double> w = doubles(state, weight), b = doubles(state, bias);
      Gradients wanted;
      wanted.of[weight].resize(w.size());
      wanted.of[bias].resize(b.size());
      const auto pixel = [&](std::size_t s, std::size_t c, std::size_t i, std::size_t j, std::size_t p, std::size_t q) {
        const std::size_t y = 2 * i + p, x = 2 * j + q;
        if (y < 1 || x < 1 || y > kH || x > kW) return 0.0;
        return r(static_cast<double>(batch.features[((s * kC + c) * kH + y - 1) * kW + x - 1]));
      };
      const auto each_weight = [&](std::size_t o, const auto& f) {
        for (std::size_t c = 0; c < kC; ++c) {
          for (std::size_t p = 0; p < 3; ++p) {
            for (std::size_t q = 0; q < 3; ++q) f(((o * kC + c) * 3 + p) * 3 + q, c, p, q);
          }
        }
      };
      const auto n = static_cast<std::size_t>(batch.size);
      const double count = static_cast<double>(n * co * kOh * kOw);
      for (std::size_t s = 0; s < n; ++s) {
        for (std::size_t o = 0; o < co; ++o) {
          for (std::size_t i = 0; i < kOh; ++i) {
            for (std::size_t j = 0; j < kOw; ++j) {
              double sum = 0;
              each_weight(o, [&](std::size_t at, std::size_t c, std::size_t p, std::size_t q) {
                sum += pixel(s, c, i, j, p, q) * r(w[at]);
              });
              const float y = static_cast<float>(sum + b[o]);
              const double off =
                  static_cast<double>(y) - static_cast<double>(batch.targets[((s * co + o) * kOh + i) * kOw + j]);
              wanted.loss += off * off / count;
              const double dy = static_cast<double>(static_cast<float>(2 * off / count));
              wanted.of[bias][o] += dy;
              each_weight(o, [&](std::size_t at, std::size_t c, std::size_t p, std::size_t q) {
                wanted.of[weight][at] += pixel(s, c, i, j, p, q) * r(dy);
              });
            }
          }
        }
      }
      std::string where;
      EXPECT_LT(distance(one_step(derived, backend(), precision, batch), wanted, &where), 2e-5)
          << name_of(precision) << " " << where << " of " << channels;
      EXPECT_GT(distance(one_step(derived, backend(), Precision::kFloat32, batch), wanted), 5e-5);
    }
  }
}

TEST_P(RoundedOperands, KeepsFloat32StatesAndIndependentLanes) {
  for (const char* name : {"batch_norm_image", "attention_heads_2__dropout_0_3", "conv_grouped"}) {
    const Derived derived = derive(model_named(name), "adam");
    program::Program narrow =
        compile(derived,
                {.lanes = num_lanes_for(3), .max_batch = kBatch, .precision = Precision::kBf16, .backend = &backend()});
    program::Program own = compile(derived, {});
    EXPECT_EQ(narrow.state_format().digest(), own.state_format().digest()) << name;
    EXPECT_NE(narrow.describe().find("bf16 aten"), std::string::npos);
    const program::Program plain =
        compile(derived, {.lanes = num_lanes_for(3), .max_batch = kBatch, .backend = &backend()});
    EXPECT_NE(plain.describe().find("float32 aten"), std::string::npos);
  }
}

TEST(RoundedOperandsElsewhere, IsRejectedOnOtherDevices) {
  const Derived derived = derive(small_mlp());
  const auto block = block_backend("host");
  for (const program::Backend* backend : {&program::cpu_backend(), block.ok() ? *block : &program::cpu_backend()}) {
    for (const Precision precision : {Precision::kTf32, Precision::kBf16}) {
      const auto program =
          program::Program::compile(derived.train, derived.infer, {.precision = precision, .backend = backend});
      ASSERT_FALSE(program.ok());
      EXPECT_EQ(program.error().code, Code::kUnimplemented);
      EXPECT_NE(program.error().message.find(name_of(precision)), std::string::npos) << program.error().message;
      EXPECT_NE(program.error().message.find("run.devices: [cuda:0]"), std::string::npos) << program.error().message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, RoundedOperands, kDevices, device_name);

}  // namespace
}  // namespace lanista::device
