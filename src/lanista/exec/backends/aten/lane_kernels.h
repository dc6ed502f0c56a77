#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/exec/backends/aten/aten.h"

namespace lanista::device {

/// What kernels are told.
namespace lane {
#include "lanista/exec/backends/aten/device/args.inc.h"
}  // namespace lane

/// Kernels of our own for values with a lane axis (lane_text.h), on one device. Thread-safe.
class LaneKernels {
 public:
  virtual ~LaneKernels() = default;

  /// A kernel for `count` numbers, or rows, behind what this thread's queue has to do. Throws c10::Error: a count that
  /// 32 bits do not hold, or a device that refuses.
  template <class Args>
  void run(const char* kernel, at::ScalarType type, std::int64_t count, const Args& args) const {
    start_checked(kernel, type, count, {(count + kThreads - 1) / kThreads, kThreads}, &args, sizeof args);
  }
  /// The same of a kernel whose threads share rows of `length` numbers.
  template <class Args>
  void run_rows(const char* kernel, at::ScalarType type, std::int64_t count, std::int64_t length,
                const Args& args) const {
    const bool is_short = length <= kShortRow;
    const std::int64_t rows = kThreads / (is_short ? 8 : 32);
    std::string name = kernel;
    if (is_short) name += kShort;
    start_checked(name.c_str(), type, count, {(count + rows - 1) / rows, kThreads}, &args, sizeof args);
  }
  /// The same of a kernel whose blocks of so many threads make a tile each.
  template <class Args>
  void run_tiles(const char* kernel, at::ScalarType type, std::int64_t tiles, int threads, const Args& args) const {
    start_checked(kernel, type, tiles, {tiles, threads}, &args, sizeof args);
  }

 protected:
  static constexpr int kThreads = 256;                  // of a block, on a GPU
  static constexpr std::int64_t kShortRow = 64;         // that eight threads share; of longer ones, 32
  static constexpr std::string_view kShort = "_short";  // of the kernel's name then
  struct Launch {
    std::int64_t blocks;
    int threads;  // of each
  };
  virtual void start(const char* kernel, at::ScalarType type, std::int64_t count, Launch launch, const void* args,
                     std::size_t bytes) const = 0;

 private:
  void start_checked(const char* kernel, at::ScalarType type, std::int64_t count, Launch launch, const void* args,
                     std::size_t bytes) const {
    TORCH_CHECK(count >= 0 && count < (std::int64_t{1} << 32), kernel, ": ", count, " numbers in one call");
    if (count > 0) start(kernel, type, count, launch, args, bytes);
  }
};

/// On the host, a thread after the other: for proofs.
const LaneKernels& host_lane_kernels();

/// The text of all of them, but for the type of values.
std::string_view lane_text();
/// The same as a GPU's compiler takes it, for float or double.
std::string lane_kernel_source(at::ScalarType type);

}  // namespace lanista::device
