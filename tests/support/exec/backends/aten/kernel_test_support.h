#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/backends/aten/aten_devices.h"
#include "lanista/exec/backends/aten/lane_calls.h"

// Support for tests that compare lane kernels with sums in double.
namespace lanista::device::testing {

/// Runs each test on the host, and on a GPU if there is one.
class LaneKernelTest : public ::testing::TestWithParam<const char*> {
 public:
  void SetUp() override {
    if (std::string(GetParam()) == "host") {
      device_ = &aten_host();
      return;
    }
    const auto found = aten_cuda(0);
    if (!found) GTEST_SKIP() << found.error().message;
    device_ = *found;
  }

 protected:
  const AtenDevice& device() const { return *device_; }
  at::TensorOptions options(bool doubles) const {
    return at::TensorOptions(doubles ? at::kDouble : at::kFloat).device(device().device());
  }

 private:
  const AtenDevice* device_ = nullptr;
};

inline const auto kKernelDevices = ::testing::Values("host", "cuda:0");
inline std::string kernel_device_name(const ::testing::TestParamInfo<const char*>& of) {
  std::string name = of.param;
  std::ranges::replace(name, ':', '_');
  return name;
}

/// Elements in the order of the dimensions, whatever the strides are.
inline std::vector<double> numbers(const at::Tensor& x) {
  const at::Tensor flat = x.to(at::kCPU).to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

inline double distance(const at::Tensor& seen, const std::vector<double>& wanted) {
  const auto all = numbers(seen);
  if (all.size() != wanted.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double d = std::fabs(all[i] - wanted[i]);
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
  }
  return worst;
}

/// Random values without gaps, in memory that may begin at any offset.
inline at::Tensor random_dense(Rng& rng, const std::vector<std::int64_t>& sizes, at::TensorOptions like) {
  const std::int64_t offset = rng.between(0, 3) == 0 ? rng.between(1, 3) : 0;
  std::int64_t count = 1;
  for (const std::int64_t each : sizes) count *= each;
  at::Tensor x = at::empty({offset + count}, at::TensorOptions(at::kDouble));
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<double>()[i] = rng.normal();
  return x.to(like.device()).to(c10::typeMetaToScalarType(like.dtype())).narrow(0, offset, count).view(sizes);
}

/// Random values with gaps between the lanes, as in states. The gaps contain NaN.
inline at::Tensor random_strided_lanes(Rng& rng, const std::vector<std::int64_t>& sizes, at::TensorOptions like) {
  const std::int64_t each = random_dense(rng, sizes, like).numel() / sizes[0],
                     gap = rng.between(0, 1) == 0 ? 4 * rng.between(0, 2) : rng.between(0, 5);
  const at::Tensor memory = at::full({sizes[0], each + gap}, NAN, like);
  at::Tensor x = memory.narrow(1, 0, each);
  x.copy_(random_dense(rng, {sizes[0], each}, like));
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i > 1; --i) strides[i - 1] = strides[i] * sizes[i];
  strides[0] = each + gap;
  return x.as_strided(sizes, strides);
}

}  // namespace lanista::device::testing
