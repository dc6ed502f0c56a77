#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/device/aten_table.h"
#include "lanista/nn/state_layout.h"
#include "lanista/nn/work.h"

namespace lanista::device {

/// Numbers of lanes for one step as updates want them: a row a lane of what follows from LaneHyper, in double.
class UpdateHyper {
 public:
  enum Column {
    kRate,
    kAdamRate,
    kMomentum,
    kDecay,
    kShrink,
    kBeta1,
    kTake1,
    kBeta2,
    kTake2,
    kRoot,
    kEps,
    kNesterov,
    kFirst,
    kClip,
    kSmoothing,
    kColumns
  };

  /// `steps_done` is of each lane, before this step.
  UpdateHyper(std::span<const nn::LaneHyper> hyper, std::span<const std::int64_t> steps_done,
              const at::TensorOptions& real);

  /// [lanes, 1] in the element type of values; doubles are rounded once.
  Tensor of(Column column) const { return doubles(column).to(real_); }
  Tensor doubles(Column column) const { return table_.narrow(1, column, 1); }
  Tensor is(Column column) const { return doubles(column) != 0; }

  /// The ranges in pieces in which every lane has one factor of its rate (LaneHyper::rates).
  std::vector<nn::Range> pieces(std::span<const nn::Range> ranges) const;
  /// The same numbers at the rates that lanes have for the parameter at `element`.
  UpdateHyper at(std::int64_t element) const;

 private:
  UpdateHyper(std::vector<nn::LaneHyper> hyper, std::vector<std::int64_t> steps_done, const at::TensorOptions& real,
              std::optional<std::int64_t> element);

  std::vector<nn::LaneHyper> hyper_;
  std::vector<std::int64_t> steps_done_;
  Tensor table_;
  at::TensorOptions real_;
};

/// What an update makes of parameters and slots, all [lanes, elements].
struct Updated {
  Tensor parameters;
  std::vector<Tensor> slots;
};

/// From gradients that are scaled already. Nothing is written.
using AtenUpdate = Updated (*)(const UpdateHyper&, const Tensor& gradients, const Tensor& parameters,
                               const std::vector<Tensor>& slots);
/// By the name of the optimiser.
const std::map<std::string, AtenUpdate, std::less<>>& aten_updates();

/// [lanes, 1]: what gradients are multiplied with, 1 or less where their norm exceeds clip_norm. Norms are taken in
/// double over `gradients` [lanes, parameters], with zeros where none arrives.
Tensor clip_scale(const UpdateHyper& hyper, const Tensor& gradients);

}  // namespace lanista::device
