#pragma once

#include <gtest/gtest.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/exec/backends/aten/aten_backend.h"
#include "support/exec/backends/all_cases.h"
#include "support/exec/program/test_models.h"

namespace lanista::device::testing {

using namespace program::testing;

inline constexpr std::int64_t kBatch = 8;

/// Base of tests for all devices of LibTorch: its CPU, the CPU with lane kernels, and a GPU if there is one.
class DeviceTest : public ::testing::TestWithParam<const char*> {
 public:
  void SetUp() override {
    const auto found = aten_backend(GetParam());
    if (!found) GTEST_SKIP() << found.error().message;
    backend_ = *found;
    is_gpu_ = std::string_view(GetParam()).starts_with("cuda");
    has_equal_bits_at_any_size_ = !is_gpu_ && TORCH_VERSION_MAJOR < 2;
  }

 protected:
  const program::Backend& backend() const { return *backend_; }
  /// Lanes of a program if the test does not depend on the number. A GPU gives equal bits only for programs of one
  /// size, and so do the products of later LibTorch versions on the CPU.
  std::int64_t num_lanes_for(std::int64_t lanes) const { return has_equal_bits_at_any_size_ ? lanes : 5; }
  bool has_equal_bits_at_any_size() const { return has_equal_bits_at_any_size_; }
  bool is_gpu() const { return is_gpu_; }

 private:
  const program::Backend* backend_ = nullptr;
  bool is_gpu_ = false, has_equal_bits_at_any_size_ = true;
};

inline const auto kDevices = ::testing::Values("cpu", "host", "cuda:0");
inline std::string device_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ':', '_');
  return name;
}

/// Hyper-parameters of a training, by lane and step.
struct Recipe {
  std::string name, optimizer;
  program::LaneHyper hyper;

  /// Hyper-parameters of a lane in a step. Lanes differ, and the rate falls from step to step.
  program::LaneHyper at(std::int64_t lane, std::int64_t step) const {
    program::LaneHyper h = hyper;
    h.lr *= (1 + 0.1 * static_cast<double>(lane % 3)) *
            (step < 5 ? 1 : 0.5 + 0.5 * std::cos(0.1 * static_cast<double>(step)));
    if (lane % 2 == 1) h.weight_decay += 0.01;
    return h;
  }
};

inline std::vector<Recipe> recipes() {
  return {{"sgd", "sgd", {.lr = 0.1}},
          {"momentum", "sgd", {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01}},
          {"nesterov_clipped", "sgd", {.lr = 0.05, .momentum = 0.8, .clip_norm = 0.3, .nesterov = true}},
          {"adam", "adam", {.lr = 0.01, .beta1 = 0.8, .beta2 = 0.98, .eps = 1e-6}},
          {"adamw_smoothed", "adamw", {.lr = 0.01, .weight_decay = 0.1, .label_smoothing = 0.1}},
          {"rmsprop", "rmsprop", {.lr = 0.003, .beta2 = 0.9, .eps = 1e-6}},
          {"rmsprop_momentum", "rmsprop", {.lr = 0.003, .momentum = 0.8, .beta2 = 0.99, .clip_norm = 1}},
          {"lion", "lion", {.lr = 0.003, .weight_decay = 0.1, .beta2 = 0.99}}};
}

/// max |a - b| / max |b| of a tensor, where max |b| is at least 1e-3. It is infinite if an element is NaN in only one
/// of them.
inline double scaled_error(const lanista::Tensor& a, const lanista::Tensor& b) {
  double worst = 0, size = 1e-3;
  const auto each = [&](const auto* p, const auto* q, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isnan(p[i]) && std::isnan(q[i])) continue;
      const double d = p[i] == q[i] ? 0 : std::fabs(static_cast<double>(p[i]) - static_cast<double>(q[i]));
      worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
      if (std::isfinite(q[i])) size = std::max(size, std::fabs(static_cast<double>(q[i])));
    }
  };
  if (a.type == ElementType::kF64) {
    each(elements_of<double>(a).data(), elements_of<double>(b).data(), elements_of<double>(a).size());
  } else if (a.type == ElementType::kF32) {
    each(elements_of<float>(a).data(), elements_of<float>(b).data(), elements_of<float>(a).size());
  }
  return worst / size;
}

/// Results of a program's steps, by lane.
struct TrainingRun {
  program::Program program;
  std::vector<std::vector<double>> losses;  ///< by step and lane

  double distance(const TrainingRun& other, std::string* where = nullptr) const {
    double worst = 0;
    const auto take = [&](double d, const std::string& what) {
      if (d > worst || std::isnan(d)) {
        worst = d;
        if (where != nullptr) *where = what;
      }
    };
    for (std::size_t s = 0; s < losses.size(); ++s) {
      for (std::size_t l = 0; l < losses[s].size(); ++l) {
        const double a = losses[s][l], b = other.losses[s][l];
        if (std::isnan(a) && std::isnan(b)) continue;
        take(std::fabs(a - b) / std::max(1.0, std::fabs(b)), "loss of step " + std::to_string(s));
      }
    }
    for (std::int64_t lane = 0; lane < program.lanes(); ++lane) {
      const std::vector<lanista::Tensor> a = program.extract(lane), b = other.program.extract(lane);
      for (std::size_t i = 0; i < a.size(); ++i) take(scaled_error(a[i], b[i]), a[i].name);
    }
    return worst;
  }
};

}  // namespace lanista::device::testing
