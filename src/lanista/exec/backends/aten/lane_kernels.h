#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/exec/backends/aten/aten.h"
#include "lanista/exec/backends/update_rules.inc.h"

namespace lanista::device {

/// Arguments of the lane kernels.
namespace lane {
#include "lanista/exec/backends/aten/device/args.inc.h"
}  // namespace lane

/// Launcher of the lane kernels of one device. Thread-safe.
///
/// Lane kernels work on values with a lane axis.
class LaneKernels {
 public:
  virtual ~LaneKernels() = default;

  /// Enqueues a kernel with one thread for each of `count` elements or rows on the queue of the calling thread.
  ///
  /// It returns before the kernel has run on a GPU. `type` is the type of values. Throws c10::Error if `count` needs
  /// more than 32 bits or if the device refuses the launch.
  template <class Args>
  void run(const char* kernel, at::ScalarType type, std::int64_t count, const Args& args) const {
    start_checked(kernel, type, count, {(count + kThreads - 1) / kThreads, kThreads}, &args, sizeof args);
  }
  /// Enqueues a kernel for `count` rows of `length` elements, as `run` does. Several threads share a row.
  template <class Args>
  void run_rows(const char* kernel, at::ScalarType type, std::int64_t count, std::int64_t length,
                const Args& args) const {
    const bool is_short = length <= kShortRow;
    const std::int64_t rows = kThreads / (is_short ? 8 : 32);
    std::string name = kernel;
    if (is_short) name += kShort;
    start_checked(name.c_str(), type, count, {(count + rows - 1) / rows, kThreads}, &args, sizeof args);
  }
  /// Enqueues a kernel with one block of `threads` threads for each of `tiles` tiles, as `run` does.
  template <class Args>
  void run_tiles(const char* kernel, at::ScalarType type, std::int64_t tiles, int threads, const Args& args) const {
    start_checked(kernel, type, tiles, {tiles, threads}, &args, sizeof args);
  }

 protected:
  static constexpr int kThreads = 256;                  ///< threads of a block on a GPU
  static constexpr std::int64_t kShortRow = 64;         ///< longest row that 8 threads share; 32 share a longer one
  static constexpr std::string_view kShort = "_short";  ///< suffix of the kernel for short rows
  /// Size of a launch.
  struct Launch {
    std::int64_t blocks;  ///< number of blocks
    int threads;          ///< threads per block
  };
  /// Launches a kernel by name for `count` elements. `args` points to its argument struct of `bytes` bytes, which is
  /// copied.
  virtual void start(const char* kernel, at::ScalarType type, std::int64_t count, Launch launch, const void* args,
                     std::size_t bytes) const = 0;

 private:
  void start_checked(const char* kernel, at::ScalarType type, std::int64_t count, Launch launch, const void* args,
                     std::size_t bytes) const {
    TORCH_CHECK(count >= 0 && count < (std::int64_t{1} << 32), kernel, ": ", count, " numbers in one call");
    if (count > 0) start(kernel, type, count, launch, args, bytes);
  }
};

/// Returns the lane kernels on the host, which run one thread after another. For tests.
const LaneKernels& host_lane_kernels();

/// Returns the source text of all lane kernels, without the definition of the value type.
std::string_view lane_text();

/// Returns the CUDA source text of all lane kernels, for NVRTC. The value type is float for at::kFloat, and double for
/// any other type.
std::string lane_kernel_source(at::ScalarType type);

}  // namespace lanista::device
