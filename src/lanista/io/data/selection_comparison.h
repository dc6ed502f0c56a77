#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/select_branches.h"

namespace lanista::data {

/// The example selector (train.select) that selects only after selection has won a comparison.
inline constexpr std::string_view kSelectionAuto = "auto";

/// At which epochs a trial compares training on selected examples with training on all, and how (train.select: auto).
///
/// A comparison trains two branches of the trial's state at equal computation. The trial continues from the branch with
/// the better result. The unit of computation is a forward pass over one row; a backward pass costs `backward`.
struct SelectionComparison {
  std::int64_t first = 1;  ///< Epoch (from 0) before which the first comparison runs.
  std::int64_t end = 0;    ///< Comparisons run before epochs below this one.
  std::int64_t every = 0;  ///< Epochs between comparisons; 0: there is one comparison.
  std::int64_t steps = 0;  ///< Largest number of steps of the branch that selects.
  double backward = 2;     ///< Cost of a backward pass over a row, in forward passes.
  std::string on;          ///< Metric that decides; empty: val_accuracy, or val_loss if there is none.

  /// True means that a comparison must run before `epoch` (from 0). `last` is the epoch before which the previous one
  /// ran; none: no comparison ran.
  bool is_due(std::int64_t epoch, std::optional<std::int64_t> last) const;
  /// Number of comparisons that run before the epochs from `from` up to, but without, `through`.
  std::int64_t count_checks(std::int64_t from, std::int64_t through) const;
  /// Largest number of steps of the losing branch, which one comparison discards, if an epoch has `epoch_steps` steps.
  std::int64_t max_discarded_steps(std::int64_t epoch_steps) const;
  /// Cost, in forward passes over one row, of scoring `scored` rows and then training on `trained` rows. Scoring is a
  /// forward pass. Training repeats it and adds a backward pass: scored + (1 + backward) trained.
  double cost(std::int64_t scored, std::int64_t trained) const {
    return static_cast<double>(scored) + (1 + backward) * static_cast<double>(trained);
  }
};

/// The comparison that the setting `select` requests for a trial with `epochs` epochs. None if `select` is not auto, or
/// if it has recorded results (with_recorded_selection()). Errors: kInvalidArgument (invalid options).
Result<std::optional<SelectionComparison>> selection_comparison(const study::PluginConfig& select, std::int64_t epochs);

/// Checks resolved options of the selector auto beyond their schema. Errors: kInvalidArgument at the option (from after
/// until, an unknown metric in on, invalid recorded results).
Result<void> check_selection_options(const Options& options);

/// A copy of the setting with the results of the comparisons in a trial's `measurements`. A training with it repeats
/// these decisions and runs no comparison.
study::PluginConfig with_recorded_selection(study::PluginConfig select,
                                            std::span<const study::Measurement> measurements);

}  // namespace lanista::data
