#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lanista/exec/backends/aten/aten_machine.h"

namespace lanista::device {

/// A chunk under way. What became of lanes stays on the device until the chunk is waited for.
struct AtenMachine::Pending {
  std::span<nn::LaneEnd> ends;
  std::vector<std::uint8_t> active;
  bool watched = false;
};

/// Steps of one shape: what they read, and their calls.
struct AtenMachine::Recorded {
  Recorded(StepShape of, const StepInputs::Layouts& layouts, const AtenDevice& device, std::size_t steps)
      : shape(std::move(of)), inputs(layouts, device.device(), steps), frames(steps), descents(steps), actives(steps) {}

  StepShape shape;
  StepInputs inputs;
  std::vector<Frame> frames;                                   ///< of each step that is fed together with others
  std::vector<std::map<graph::NodeId, LaneDescent>> descents;  ///< of each, Frame::descents
  std::vector<std::vector<std::uint8_t>> actives;              ///< lanes that take part in each
  std::size_t filled = 0;                                      ///< so many of them wait to be done
  std::function<void()> one;                                   ///< does the first; empty: not recorded yet
  std::function<void()> all;                                   ///< does them one after the other
};

/// One of them.
struct AtenMachine::Step {
  const Recorded& of;
  std::size_t at = 0;

  const StepShape& shape() const { return of.shape; }
  const Frame& frame() const { return of.frames[at]; }
  const Tensor& input(StepInputs::Region region) const { return of.inputs.at(region, at); }
};

}  // namespace lanista::device
