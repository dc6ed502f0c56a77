#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/backends/aten/aten_table.h"
#include "lanista/exec/program/chunk.h"
#include "lanista/exec/program/state_layout.h"

namespace lanista::device {

/// Numbers of lanes for one step as updates want them: a row a lane of what follows from LaneHyper, in double.
class UpdateHyperTable {
 public:
  enum Column {
    kNegativeLr,
    kNegativeAdamLr,
    kMomentum,
    kWeightDecay,
    kDecayFactor,
    kBeta1,
    kOneMinusBeta1,
    kBeta2,
    kOneMinusBeta2,
    kSqrtBiasCorrection,
    kEps,
    kNesterov,
    kIsFirstStep,
    kClipNorm,
    kLabelSmoothing,
    kDividesBySecondMoment,   // gradients by the root of their second moment, where their size is asked for
    kSecondMomentCorrection,  // of that moment
    kColumns
  };

  /// A lane's row: its rate times `factor`, `steps_done` before this step.
  static void write(std::span<double> row, const nn::LaneHyper& hyper, double factor, std::int64_t steps_done);

  /// `table` is [lanes, kColumns].
  UpdateHyperTable(Tensor table, const at::TensorOptions& real) : table_(std::move(table)), real_(real) {}

  /// [lanes, 1] in the element type of values; doubles are rounded once.
  Tensor of(Column column) const { return doubles(column).to(real_); }
  Tensor doubles(Column column) const { return table_.narrow(1, column, 1); }
  Tensor is(Column column) const { return doubles(column) != 0; }
  const Tensor& table() const { return table_; }

 private:
  Tensor table_;
  at::TensorOptions real_;
};

/// The ranges in pieces in which every lane has one factor of its rate (LaneHyper::rates).
std::vector<nn::Range> lr_ranges_of(std::span<const nn::Range> ranges, std::span<const nn::LaneHyper> hyper);
/// A lane's factor at an element of its parameters.
double lr_factor(const nn::LaneHyper& hyper, std::int64_t element);

/// What an update makes of parameters and slots, all [lanes, elements].
struct Updated {
  Tensor parameters;
  std::vector<Tensor> slots;
};

/// From gradients that are scaled already. Nothing is written.
using AtenUpdate = Updated (*)(const UpdateHyperTable&, const Tensor& gradients, const Tensor& parameters,
                               const std::vector<Tensor>& slots);
/// By the name of the optimiser.
const std::map<std::string, AtenUpdate, std::less<>>& aten_updates();

/// [lanes, 1]: what gradients are multiplied with, 1 or less where their norm exceeds clip_norm. Norms are taken in
/// double over `gradients` [lanes, parameters], with zeros where none arrives.
Tensor clip_scale(const UpdateHyperTable& hyper, const Tensor& gradients);

}  // namespace lanista::device
