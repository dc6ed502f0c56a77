#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "lanista/exec/backends/aten/aten.h"
#include "lanista/exec/backends/aten/device_dataset.h"
#include "lanista/exec/backends/warnings.h"

namespace lanista::device {

class LaneKernels;

/// Ordered queue of one executable's calls: a GPU stream, or the calling thread itself.
class AtenQueue {
 public:
  virtual ~AtenQueue() = default;
  /// Returns the stream of the queue; empty on the CPU.
  const std::optional<c10::Stream>& stream() const { return stream_; }
  /// Records `step` and returns a function that repeats its calls, on a GPU as one CUDA graph.
  ///
  /// `step` calls ATen on tensors with fixed addresses and reads none of them on the host. A GPU runs it several times
  /// during the call, so every lane must be masked then. On the CPU it does not run here.
  virtual std::function<void()> record(const std::function<void()>& step) = 0;
  /// Waits until all calls of the queue are done. Throws c10::Error for a failure on the device.
  virtual void synchronise() = 0;
  /// Returns unused cached memory of this process to the device. Does nothing on the CPU.
  virtual void free_unused() {}
  /// Returns true if this process can still use the device.
  virtual bool is_device_alive() { return true; }

 protected:
  explicit AtenQueue(std::optional<c10::Stream> stream) : stream_(stream) {}

 private:
  std::optional<c10::Stream> stream_;
};

/// Function that sets the precision of this thread's matrix products as long as its result exists.
///
/// With `narrow`, operands have tf32 precision and the device may multiply in tf32; else products are float32. An empty
/// function means that products are always float32.
using MatmulPrecisionScope = std::function<std::shared_ptr<void>(bool narrow)>;

/// A LibTorch device and its features beyond ATen's calls. Immutable and thread-safe.
class AtenDevice {
 public:
  virtual ~AtenDevice() = default;
  /// Returns the LibTorch device of its tensors.
  virtual at::Device device() const = 0;
  /// Returns its name in messages and program keys: "torch:cpu".
  virtual std::string_view name() const = 0;
  /// Returns the numeric class of its results: "aten/1.13.0/cpu".
  virtual std::string_view numeric_class() const = 0;
  /// Returns a new queue for one executable.
  virtual std::unique_ptr<AtenQueue> queue() const = 0;
  /// Returns its lane kernels, each of which replaces many ATen calls; null if the device uses ATen only. They live as
  /// long as the device.
  virtual const LaneKernels* kernels() const { return nullptr; }
  /// Returns the number of steps that are recorded together and launched at once.
  virtual std::size_t steps_per_launch() const { return 1; }
  /// Returns true if masked lanes at the ends are computed too, so that one recorded step serves every set of active
  /// lanes.
  ///
  /// It avoids waits between host and device.
  virtual bool runs_masked_lanes() const { return false; }
  /// Returns true if the bits of a lane may depend on its position. Then each program tests it when it is compiled.
  virtual bool lanes_may_differ() const { return true; }
  /// Returns the precision scope of the products.
  virtual MatmulPrecisionScope products() const { return {}; }
  /// Returns the largest size in bytes of a data set that is uploaded once; 0 means that each batch is copied when it
  /// is read.
  virtual std::int64_t max_dataset_bytes() const { return 0; }
  /// Returns the data sets on this device.
  DeviceDatasetCache& dataset_cache() const { return dataset_cache_; }
  /// Returns the warnings of the device's programs.
  Warnings& warnings() const { return warnings_; }

 private:
  mutable Warnings warnings_;
  mutable DeviceDatasetCache dataset_cache_;
};

/// Scope in which this thread's ATen calls go to a queue and ATen records no gradients.
class AtenScope {
 public:
  explicit AtenScope(const AtenQueue& queue) {
    if (queue.stream()) guard_.emplace(*queue.stream());
  }

 private:
  c10::InferenceMode mode_;
  std::optional<c10::StreamGuard> guard_;
};

}  // namespace lanista::device
