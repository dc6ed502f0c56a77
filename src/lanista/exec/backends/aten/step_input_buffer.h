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

/// What recorded steps differ by: one of them serves all steps of its shape.
struct StepShape {
  std::int64_t begin = 0, lanes = 0;  ///< neighbouring lanes
  std::int64_t size = 0;              ///< samples of each one's batch
  bool shared = false;                ///< one batch for all lanes
  bool weighted = false, wants_gradient_norm = false, clipped = false;
  const DeviceDataset* table = nullptr;      ///< that batches are rows of; null: they bring their samples
  std::vector<std::int64_t> lr_ranges = {};  ///< begins and counts of runs of parameters with one rate in every lane
  /// Of the lanes' numbers: one a piece, and one where nothing is trained, for losses read them too.
  std::int64_t num_hyper_tables() const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(lr_ranges.size()) / 2);
  }
  auto operator<=>(const StepShape&) const = default;
};

/// What steps read that is another in every step: regions of one buffer, so that all of it goes up in one copy, of
/// several steps in a row too, each of which has its place. On a GPU there are several buffers of the host, so that
/// steps can be prepared while others are still to be done.
class StepInputBuffer {
 public:
  enum Region {
    kFeatures,   ///< real, or tokens as int64; [lanes, batch, …], one lane where batches are shared
    kTargets,    ///< the same
    kWeights,    ///< real [lanes, batch]
    kHyper,      ///< double [pieces, lanes, columns]
    kLaneAttrs,  ///< double [lanes, numbers]
    kActive,     ///< int64 [lanes]
    kKeys,       ///< int64 [lanes, 2]: seed, step
    kSamples,    ///< int64 [lanes, batch] rows, one lane where batches are shared
    kStep,       ///< int64 [1]: the step's number in its chunk
    kRegions
  };
  struct Layout {
    at::ScalarType type = at::kLong;
    std::vector<std::int64_t> sizes;
  };
  using Layouts = std::array<Layout, kRegions>;

  StepInputBuffer(const Layouts& layouts, at::Device device, std::size_t steps = 1);
  ~StepInputBuffer();
  StepInputBuffer(const StepInputBuffer&) = delete;
  StepInputBuffer& operator=(const StepInputBuffer&) = delete;

  /// Of a value of so many samples.
  static std::vector<std::int64_t> sizes_of(const graph::Shape& shape, std::int64_t samples);

  std::size_t steps() const { return views_.size(); }
  /// That go up for a step.
  std::int64_t step_bytes() const { return static_cast<std::int64_t>(step_bytes_); }
  /// Room for the next steps; waits until the device has read what stood there.
  void prepare();
  template <class T>
  std::span<T> host(Region region, std::size_t step = 0) {
    const auto [begin, bytes] = region_ranges_[region];
    return {
        reinterpret_cast<T*>(static_cast<char*>(host_buffers_[current_host_].data_ptr()) + step * step_bytes_ + begin),
        bytes / sizeof(T)};
  }
  /// What was prepared goes to the device, behind what is there to do: of all steps,
  void send();
  /// or of one, to where the first is read.
  void send_as_first(std::size_t step);
  /// Where the device reads it.
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
