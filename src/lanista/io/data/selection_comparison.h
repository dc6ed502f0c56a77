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

/// The kind of train.select that uses selection only after it has won a comparison.
inline constexpr std::string_view kSelectionAuto = "auto";

/// When a trial compares training on selected examples with training on all, and how (train.select: auto).
///
/// Two branches of its state train at equal computation. The trial continues from the branch with the better result. A
/// forward pass over a row costs 1, a backward pass `backward`.
struct SelectionComparison {
  std::int64_t first = 1;  ///< Epoch, from 0, before which the first comparison runs.
  std::int64_t end = 0;    ///< Epoch with which comparisons end, exclusive.
  std::int64_t every = 0;  ///< Epochs until the next comparison; 0: there is one comparison.
  std::int64_t steps = 0;  ///< Most steps of the branch that selects.
  double backward = 2;     ///< Cost of a backward pass over a row.
  std::string on;          ///< Metric that decides; empty: val_accuracy, or else val_loss.

  /// Whether a comparison is due before `epoch` (from 0). `last` is the epoch of the previous one, if any.
  bool is_due(std::int64_t epoch, std::optional<std::int64_t> last) const;
  /// Comparisons before epochs from `from` to `through`, exclusive.
  std::int64_t count_checks(std::int64_t from, std::int64_t through) const;
  /// Most steps of the branch that is discarded, in epochs of `epoch_steps`.
  std::int64_t max_discarded_steps(std::int64_t epoch_steps) const;
  /// Cost of passes over rows: forward for those that are scored, forward and backward for those that are trained on.
  double cost(std::int64_t scored, std::int64_t trained) const {
    return static_cast<double>(scored) + (1 + backward) * static_cast<double>(trained);
  }
};

/// The comparison of a trial with `epochs` epochs. None for another kind, or if the setting contains a result already.
/// Errors: kInvalidArgument.
Result<std::optional<SelectionComparison>> selection_comparison(const study::PluginConfig& select, std::int64_t epochs);

/// Checks options of kind auto beyond their schema. Errors: kInvalidArgument.
Result<void> check_selection_options(const Options& options);

/// The setting with the recorded results of a trial, so that no comparison runs.
study::PluginConfig with_recorded_selection(study::PluginConfig select,
                                            std::span<const study::Measurement> measurements);

}  // namespace lanista::data
