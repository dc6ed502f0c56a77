#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lanista/device/aten_machine.h"

namespace lanista::device {

/// A chunk under way. What became of lanes stays on the device until the chunk is waited for.
struct AtenMachine::Pending {
  std::span<nn::LaneEnd> ends;
  std::vector<std::uint8_t> active;
  bool watched = false;
};

/// Steps of one shape: what they read, and their calls.
struct AtenMachine::Recorded {
  Recorded(StepShape of, const StepInputs::Layouts& layouts, at::Device device)
      : shape(std::move(of)), inputs(layouts, device) {}

  StepShape shape;
  StepInputs inputs;
  Frame frame;
  std::function<void()> again;  ///< empty: not recorded yet
};

}  // namespace lanista::device
