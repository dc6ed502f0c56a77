#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/device/aten_machine.h"

namespace lanista::device {

/// A chunk under way. What became of lanes stays on the device until the chunk is waited for.
struct AtenMachine::Pending {
  std::span<nn::LaneEnd> ends;
  std::vector<std::uint8_t> active;
  std::int64_t steps = 0;
  Tensor loss_sum, loss;  ///< [lanes], double
  Tensor bad_step;        ///< [lanes], -1: none
  Tensor square;          ///< [lanes], double, of the last step's gradient; undefined: nobody asks
};

}  // namespace lanista::device
