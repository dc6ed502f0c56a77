#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lanista/exec/backends/aten/aten.h"
#include "lanista/exec/backends/aten/device_dataset.h"
#include "lanista/model/graph/shape.h"

namespace lanista::device {

using at::Tensor;

/// Key of a recorded step. One recording serves all steps of its shape.
struct StepShape {
  std::int64_t begin = 0, lanes = 0;  ///< first lane, and number of consecutive lanes
  std::int64_t size = 0;              ///< samples of each lane's batch
  bool shared = false;                ///< true: all lanes have one batch
  bool weighted = false;              ///< true: samples have weights
  bool needs_gradient_norm = false;   ///< true: the squared gradient norm is computed
  bool clipped = false;               ///< true: gradients are clipped

  const DeviceDataset* table = nullptr;  ///< data set of which batches are rows; null if batches hold samples

  /// Begin and count of each parameter range in which every lane has one learning rate, one after another.
  std::vector<std::int64_t> lr_ranges = {};

  /// Returns the number of hyper-parameter tables. A table has the hyper-parameters of all lanes for one range of
  /// parameters with its own learning rate. There is at least one, because losses read it too.
  std::int64_t num_hyper_tables() const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(lr_ranges.size()) / 2);
  }
  auto operator<=>(const StepShape&) const = default;
};

/// Buffer of everything that differs from step to step, for one or more consecutive steps: features, targets, sample
/// weights, hyper-parameters, attributes of lanes, active lanes, keys of masks and row numbers (`Region`).
///
/// The regions of all its steps lie in one buffer, so that one copy uploads them. On a GPU there are several host
/// buffers, so that the host prepares steps while the device runs earlier ones. Use: prepare(), fill host(), send();
/// then the device reads at().
class StepInputBuffer {
 public:
  /// Region of a step's inputs.
  enum Region {
    kFeatures,  ///< real, or tokens as int64; [lanes, batch, …], one lane if batches are shared
    kTargets,   ///< real, or labels as int64; [lanes, batch, …], one lane if batches are shared
    kWeights,   ///< real [lanes, batch]

    kHyper,      ///< double [learning rate ranges, lanes, UpdateHyperTable::kColumns]
    kLaneAttrs,  ///< double [lanes, attributes]
    kActive,     ///< int64 [lanes]

    kKeys,     ///< int64 [lanes, 2]: seed and step of the masks
    kSamples,  ///< int64 [lanes, batch] row numbers, one lane if batches are shared
    kStep,     ///< int64 [1]: number of the step in its chunk

    kRegions  ///< number of regions
  };
  /// Element type and sizes of a region.
  struct Layout {
    at::ScalarType type = at::kLong;  ///< element type
    std::vector<std::int64_t> sizes;  ///< sizes; an absent region has a size of 0
  };
  /// Layout of every region.
  using Layouts = std::array<Layout, kRegions>;

  /// Allocates the buffer for `steps` consecutive steps on `device` and on the host.
  StepInputBuffer(const Layouts& layouts, at::Device device, std::size_t steps = 1);
  ~StepInputBuffer();
  StepInputBuffer(const StepInputBuffer&) = delete;
  StepInputBuffer& operator=(const StepInputBuffer&) = delete;

  /// Returns the tensor sizes of a value with this shape: its dimensions, with `samples` in place of the batch
  /// dimension, if it has one.
  static std::vector<std::int64_t> sizes_of(const graph::Shape& shape, std::int64_t samples);

  /// Returns the number of steps.
  std::size_t steps() const { return views_.size(); }
  /// Returns the bytes that are uploaded per step.
  std::int64_t step_bytes() const { return static_cast<std::int64_t>(step_bytes_); }
  /// Selects the host buffer of the next steps. It waits until the device has read that buffer.
  void prepare();
  /// Returns a region of the current host buffer, to be filled for step number `step` (from 0).
  template <class T>
  std::span<T> host(Region region, std::size_t step = 0) {
    const auto [begin, bytes] = region_ranges_[region];
    return {
        reinterpret_cast<T*>(static_cast<char*>(host_buffers_[current_host_].data_ptr()) + step * step_bytes_ + begin),
        bytes / sizeof(T)};
  }
  /// Enqueues the upload of all steps. Does nothing on the CPU, which reads the host buffer.
  void send();
  /// Enqueues the upload of one step to the region of the first step.
  void send_as_first(std::size_t step);
  /// Returns the tensor through which the device reads a region of step number `step`.
  const Tensor& at(Region region, std::size_t step = 0) const { return views_[step][region]; }

 private:
  struct RegionRange {
    std::size_t begin = 0, bytes = 0;
  };

  void record_upload();

  std::array<RegionRange, kRegions> region_ranges_;
  std::size_t step_bytes_ = 0;
  Tensor device_;
  std::vector<Tensor> host_buffers_;
  std::vector<std::optional<c10::Event>>
      upload_events_;  // of each of these; none on the CPU, which reads them where they are
  std::size_t current_host_ = 0;
  std::vector<std::array<Tensor, kRegions>> views_;  // of each step
};

}  // namespace lanista::device
