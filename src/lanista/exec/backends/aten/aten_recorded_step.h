#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lanista/exec/backends/aten/aten_executable.h"

namespace lanista::device {

/// A chunk under way. What became of lanes stays on the device until the chunk is waited for.
struct AtenExecutable::PendingChunk {
  std::span<nn::LaneResult> ends;
  std::vector<std::uint8_t> active;
  bool wants_gradient_norm = false;
};

/// Steps of one shape: what they read, and their calls.
struct AtenExecutable::RecordedStep {
  RecordedStep(StepShape of, const StepInputBuffer::Layouts& layouts, const AtenDevice& device, std::size_t steps)
      : shape(std::move(of)),
        inputs(layouts, device.device(), steps),
        frames(steps),
        fused_updates(steps),
        active_lanes(steps) {}

  StepShape shape;
  StepInputBuffer inputs;
  std::vector<Frame> frames;                                        ///< of each step that is fed together with others
  std::vector<std::map<graph::NodeId, FusedUpdate>> fused_updates;  ///< of each, Frame::descents
  std::vector<std::vector<std::uint8_t>> active_lanes;              ///< lanes that take part in each
  std::size_t filled = 0;                                           ///< so many of them wait to be done
  std::function<void()> one;                                        ///< does the first; empty: not recorded yet
  std::function<void()> all;                                        ///< does them one after the other
};

/// One of them.
struct AtenExecutable::Step {
  const RecordedStep& of;
  std::size_t at = 0;

  const StepShape& shape() const { return of.shape; }
  const Frame& frame() const { return of.frames[at]; }
  const Tensor& input(StepInputBuffer::Region region) const { return of.inputs.at(region, at); }
};

}  // namespace lanista::device
