#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/device/aten.h"

namespace lanista::device {

/// What kernels are told.
namespace lane {
#include "lanista/device/lane/args.inc.h"
}  // namespace lane

/// Kernels of our own for values with a lane axis (lane_text.h), on one device. Thread-safe.
class LaneKernels {
 public:
  virtual ~LaneKernels() = default;

  /// A kernel for `count` numbers, or rows, behind what this thread's queue has to do. Throws c10::Error: a count that
  /// 32 bits do not hold, or a device that refuses.
  template <class Args>
  void run(const char* kernel, at::ScalarType type, std::int64_t count, const Args& args) const {
    TORCH_CHECK(count >= 0 && count < (std::int64_t{1} << 32), kernel, ": ", count, " numbers in one call");
    if (count > 0) start(kernel, type, count, 1, &args, sizeof args);
  }
  /// The same of a kernel whose threads share rows.
  template <class Args>
  void run_rows(const char* kernel, at::ScalarType type, std::int64_t count, const Args& args) const {
    TORCH_CHECK(count >= 0 && count < (std::int64_t{1} << 32), kernel, ": ", count, " rows in one call");
    if (count > 0) start(kernel, type, count, kRowThreads, &args, sizeof args);
  }

 protected:
  static constexpr int kRowThreads = 32;  // of a GPU, that share a row
  virtual void start(const char* kernel, at::ScalarType type, std::int64_t count, int threads_each, const void* args,
                     std::size_t bytes) const = 0;
};

/// On the host, a thread after the other: for proofs.
const LaneKernels& host_lane_kernels();

/// The text of all of them, but for the type of values.
std::string_view lane_text();
/// The same as a GPU's compiler takes it, for float or double.
std::string lane_kernel_source(at::ScalarType type);

}  // namespace lanista::device
