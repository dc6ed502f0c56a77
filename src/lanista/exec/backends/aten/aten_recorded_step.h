#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lanista/exec/backends/aten/aten_executable.h"

namespace lanista::device {

/// A chunk that runs. The lanes' results stay on the device until `wait`.
struct AtenExecutable::PendingChunk {
  std::span<nn::LaneResult> ends;    ///< result of each lane; written by `wait`
  std::vector<std::uint8_t> active;  ///< per lane: 1 if it takes part
  bool wants_gradient_norm = false;  ///< whether results include the squared gradient norm
};

/// Recorded steps of one shape: their input buffer and their calls.
struct AtenExecutable::RecordedStep {
  RecordedStep(StepShape of, const StepInputBuffer::Layouts& layouts, const AtenDevice& device, std::size_t steps)
      : shape(std::move(of)),
        inputs(layouts, device.device(), steps),
        frames(steps),
        fused_updates(steps),
        active_lanes(steps) {}

  StepShape shape;                                                  ///< shape of all its steps
  StepInputBuffer inputs;                                           ///< inputs of its steps
  std::vector<Frame> frames;                                        ///< of each step that is fed together with others
  std::vector<std::map<graph::NodeId, FusedUpdate>> fused_updates;  ///< of each, Frame::descents
  std::vector<std::vector<std::uint8_t>> active_lanes;              ///< lanes that take part in each
  std::size_t filled = 0;                                           ///< so many of them wait to be done
  std::function<void()> one;                                        ///< does the first; empty: not recorded yet
  std::function<void()> all;                                        ///< does them one after the other
};

/// One step of a `RecordedStep`.
struct AtenExecutable::Step {
  const RecordedStep& of;  ///< recording that contains the step
  std::size_t at = 0;      ///< index in the recording

  /// Shape of the step.
  const StepShape& shape() const { return of.shape; }
  /// Frame of the step's calls.
  const Frame& frame() const { return of.frames[at]; }
  /// Input region on the device.
  const Tensor& input(StepInputBuffer::Region region) const { return of.inputs.at(region, at); }
};

}  // namespace lanista::device
