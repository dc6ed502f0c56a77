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

/// Where one machine's calls go, in order: a stream of a GPU, or the thread itself.
class AtenQueue {
 public:
  virtual ~AtenQueue() = default;
  const std::optional<c10::Stream>& stream() const { return stream_; }
  /// `step` calls ATen on tensors that stay where they are, reads nothing of them on the host, and changes nothing
  /// while every lane is masked, as it is now. Calling what comes back does the same calls again: on a GPU as one
  /// graph.
  virtual std::function<void()> record(const std::function<void()>& step) = 0;
  /// Until everything is done. Throws c10::Error for what failed on the device.
  virtual void synchronise() = 0;
  /// Memory that nobody uses, but this process keeps, goes back to the device.
  virtual void free_unused() {}
  /// False: the device answers nothing any more, and never will in this process.
  virtual bool is_device_alive() { return true; }

 protected:
  explicit AtenQueue(std::optional<c10::Stream> stream) : stream_(stream) {}

 private:
  std::optional<c10::Stream> stream_;
};

/// As long as what comes back lives, this thread's products are float32's, or, if they are `narrow`, of operands that
/// tf32 holds: the device may then multiply as tf32 does. Empty: products are always float32's.
using MatmulPrecisionScope = std::function<std::shared_ptr<void>(bool narrow)>;

/// A device of LibTorch, and what it has beyond ATen's calls. Immutable and thread-safe.
class AtenDevice {
 public:
  virtual ~AtenDevice() = default;
  virtual at::Device device() const = 0;
  virtual std::string_view name() const = 0;           ///< "torch:cpu"
  virtual std::string_view numeric_class() const = 0;  ///< "aten/1.13.0/cpu"
  virtual std::unique_ptr<AtenQueue> queue() const = 0;
  /// Kernels of our own that stand for many calls; null: there are none, everything is ATen's.
  virtual const LaneKernels* kernels() const { return nullptr; }
  /// Steps that are recorded and fed together, where a launch is dear.
  virtual std::size_t steps_per_launch() const { return 1; }
  /// Waits between host and device are dear: masked lanes at the ends are computed too, so that one recorded step
  /// serves whoever is active.
  virtual bool runs_masked_lanes() const { return false; }
  /// False: it is known that a lane has the same bits wherever it lies. Else programs look when they are made.
  virtual bool lanes_may_differ() const { return true; }
  virtual MatmulPrecisionScope products() const { return {}; }
  /// Of a data set that is brought up once; 0: batches go up as they are read, as where there is no way up.
  virtual std::int64_t max_dataset_bytes() const { return 0; }
  DeviceDatasetCache& dataset_cache() const { return dataset_cache_; }
  Warnings& warnings() const { return warnings_; }

 private:
  mutable Warnings warnings_;
  mutable DeviceDatasetCache dataset_cache_;
};

/// As long as it lives, this thread's calls go to a queue, and no gradients are recorded.
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
