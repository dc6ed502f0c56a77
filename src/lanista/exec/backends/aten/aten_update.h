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
  /// Column of the table. "Correction" is the bias correction of Adam.
  enum Column {
    kNegativeLr,              ///< Learning rate times -1.
    kNegativeAdamLr,          ///< Learning rate times -1, divided by the correction of the first moment.
    kMomentum,                ///< Momentum.
    kWeightDecay,             ///< Weight decay.
    kDecayFactor,             ///< One minus learning rate x weight decay.
    kBeta1,                   ///< Decay of the first moment.
    kOneMinusBeta1,           ///< One minus beta1.
    kBeta2,                   ///< Decay of the second moment.
    kOneMinusBeta2,           ///< One minus beta2.
    kSqrtBiasCorrection,      ///< Square root of the correction of the second moment.
    kEps,                     ///< Eps of the optimiser.
    kNesterov,                ///< 1: Nesterov momentum.
    kIsFirstStep,             ///< 1: no earlier step.
    kClipNorm,                ///< Largest gradient norm; 0: no clipping.
    kLabelSmoothing,          ///< Label smoothing.
    kDividesBySecondMoment,   ///< 1: gradient norms are of gradients over the root of their second moment.
    kSecondMomentCorrection,  ///< Correction of the second moment for these norms.
    kColumns                  ///< Number of columns.
  };

  /// Fills the row of one lane, which has kColumns elements. The learning rate is multiplied by `factor`, such as a
  /// factor of a part of the model. `steps_done` is the number of earlier steps.
  static void write(std::span<double> row, const program::LaneHyper& hyper, double factor, std::int64_t steps_done);

  /// Wraps a filled table [lanes, kColumns] of double; `real` is the element type and device of values.
  UpdateHyperTable(Tensor table, const at::TensorOptions& real) : table_(std::move(table)), real_(real) {}

  /// Returns a column as [lanes, 1] in the element type of values; doubles are rounded once.
  Tensor of(Column column) const { return doubles(column).to(real_); }
  /// Returns a column as [lanes, 1] in double.
  Tensor doubles(Column column) const { return table_.narrow(1, column, 1); }
  /// Returns a column as [lanes, 1] of bool: true if the entry is not zero.
  Tensor is(Column column) const { return doubles(column) != 0; }
  /// Returns the whole table [lanes, kColumns].
  const Tensor& table() const { return table_; }

 private:
  Tensor table_;
  at::TensorOptions real_;
};

/// Returns the pieces of `ranges` in which every lane has one learning rate factor, in the order of `ranges`.
std::vector<program::Range> lr_ranges_of(std::span<const program::Range> ranges,
                                         std::span<const program::LaneHyper> hyper);
/// Returns the learning rate factor of a lane at parameter number `element`; 1 outside its ranges.
double lr_factor(const program::LaneHyper& hyper, std::int64_t element);

/// Result of an optimiser update.
struct Updated {
  Tensor parameters;          ///< [lanes, elements]
  std::vector<Tensor> slots;  ///< [lanes, elements] each
};

/// Computes an update from gradients that are scaled already. It writes to none of its arguments.
using AtenUpdate = Updated (*)(const UpdateHyperTable&, const Tensor& gradients, const Tensor& parameters,
                               const std::vector<Tensor>& slots);
/// Returns the updates by the name of the optimiser.
const std::map<std::string, AtenUpdate, std::less<>>& aten_updates();

/// Returns the factor [lanes, 1] for gradient clipping: below 1 if the gradient norm of a lane exceeds its clip_norm,
/// else 1; NaN if the norm is NaN. It is 1 for a lane without clipping.
///
/// Norms are computed in double over `gradients` [lanes, parameters]; parameters without a gradient count as zero.
Tensor clip_scale(const UpdateHyperTable& hyper, const Tensor& gradients);

}  // namespace lanista::device
