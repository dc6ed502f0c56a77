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

/// Hyper-parameters of one step as optimiser updates read them: one row per lane, in double.
class UpdateHyperTable {
 public:
  /// Column of the table.
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

  /// Writes the row of one lane. The learning rate is multiplied by `factor`; `steps_done` steps came before.
  static void write(std::span<double> row, const nn::LaneHyper& hyper, double factor, std::int64_t steps_done);

  /// Wraps `table` [lanes, kColumns]; `real` is the element type and device of values.
  UpdateHyperTable(Tensor table, const at::TensorOptions& real) : table_(std::move(table)), real_(real) {}

  /// [lanes, 1] in the element type of values; doubles are rounded once.
  Tensor of(Column column) const { return doubles(column).to(real_); }
  /// [lanes, 1] in double.
  Tensor doubles(Column column) const { return table_.narrow(1, column, 1); }
  /// [lanes, 1] of bool: whether the entry is not zero.
  Tensor is(Column column) const { return doubles(column) != 0; }
  /// Whole table [lanes, kColumns].
  const Tensor& table() const { return table_; }

 private:
  Tensor table_;
  at::TensorOptions real_;
};

/// Splits `ranges` so that in each piece every lane has one learning rate factor.
std::vector<nn::Range> lr_ranges_of(std::span<const nn::Range> ranges, std::span<const nn::LaneHyper> hyper);
/// Learning rate factor of a lane at parameter `element`.
double lr_factor(const nn::LaneHyper& hyper, std::int64_t element);

/// Result of an optimiser update.
struct Updated {
  Tensor parameters;          ///< [lanes, elements]
  std::vector<Tensor> slots;  ///< [lanes, elements] each
};

/// Computes an update from scaled gradients. It writes to none of its arguments.
using AtenUpdate = Updated (*)(const UpdateHyperTable&, const Tensor& gradients, const Tensor& parameters,
                               const std::vector<Tensor>& slots);
/// Updates by the name of the optimiser.
const std::map<std::string, AtenUpdate, std::less<>>& aten_updates();

/// Factor [lanes, 1] for gradient clipping: below 1 if the gradient norm of a lane exceeds its clip_norm, else 1.
///
/// Norms are computed in double over `gradients` [lanes, parameters]; parameters without a gradient count as zero.
Tensor clip_scale(const UpdateHyperTable& hyper, const Tensor& gradients);

}  // namespace lanista::device
