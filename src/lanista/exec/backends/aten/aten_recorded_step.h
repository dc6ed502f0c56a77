#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lanista/exec/backends/aten/aten_executable.h"

namespace lanista::device {

/// A chunk that runs. The lanes' results stay on the device until `wait`.
struct AtenExecutable::PendingChunk {
  std::span<program::LaneResult> ends;  ///< result of each lane; written by `wait`
  std::vector<std::uint8_t> active;     ///< per lane: 1 if it takes part
  bool needs_gradient_norm = false;     ///< true: results include the squared gradient norm
};

/// Recorded steps of one shape: their input buffer and their calls.
struct AtenExecutable::RecordedStep {
  /// Allocates the inputs of `steps` steps. Nothing is recorded yet.
  RecordedStep(StepShape of, const StepInputBuffer::Layouts& layouts, const AtenDevice& device, std::size_t steps)
      : shape(std::move(of)),
        inputs(layouts, device.device(), steps),
        frames(steps),
        fused_updates(steps),
        active_lanes(steps) {}

  StepShape shape;            ///< shape of all its steps
  StepInputBuffer inputs;     ///< inputs of its steps
  std::vector<Frame> frames;  ///< frame of each step

  std::vector<std::map<graph::NodeId, FusedUpdate>> fused_updates;  ///< per step: value of `Frame::fused_updates`
  std::vector<std::vector<std::uint8_t>> active_lanes;              ///< per step and lane: 1 if the lane takes part

  std::size_t filled = 0;     ///< number of steps with inputs that have not run yet
  std::function<void()> one;  ///< runs the first step; empty until it is recorded
  std::function<void()> all;  ///< runs all steps in order
};

/// One step of a `RecordedStep`.
struct AtenExecutable::Step {
  const RecordedStep& of;  ///< recording that contains the step
  std::size_t at = 0;      ///< index of the step in the recording, from 0

  /// Returns the shape of the step.
  const StepShape& shape() const { return of.shape; }
  /// Returns the frame of the step's calls.
  const Frame& frame() const { return of.frames[at]; }
  /// Returns the tensor on the device with one kind of the step's inputs: features, targets, weights, hyper-parameters,
  /// lane attributes, active lanes, mask keys, row numbers or the step number.
  const Tensor& input(StepInputBuffer::Region region) const { return of.inputs.at(region, at); }
};

}  // namespace lanista::device
