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

/// The kind of train.select that trains on chosen examples only where that has won.
inline constexpr std::string_view kSelectionAuto = "auto";

/// When a trial checks whether chosen examples are worth more than all, and how (train.select: auto): two branches of
/// its state train at equal computation, and it goes on from the one that measures better. A pass forward over a row
/// costs 1, a pass backward `backward`.
struct SelectionComparison {
  std::int64_t first = 1;  ///< epoch, from 0, before which it asks first
  std::int64_t end = 0;    ///< epochs that select end with this one, exclusive
  std::int64_t every = 0;  ///< and once more so many epochs later; 0: never
  std::int64_t steps = 0;  ///< of the branch that selects, at most
  double backward = 2;
  std::string on;  ///< metric that decides; empty: val_accuracy, or else val_loss

  /// Whether it asks before an epoch (from 0), having asked last before `last`; none: never yet.
  bool is_due(std::int64_t epoch, std::optional<std::int64_t> last) const;
  /// Checks before epochs from `from` to `through`, exclusive.
  std::int64_t count_checks(std::int64_t from, std::int64_t through) const;
  /// Steps of the branch that is given up, at most, in epochs of so many.
  std::int64_t max_discarded_steps(std::int64_t epoch_steps) const;
  /// What passes over rows cost: forward to look at them, forward and backward to train on them.
  double cost(std::int64_t scored, std::int64_t trained) const {
    return static_cast<double>(scored) + (1 + backward) * static_cast<double>(trained);
  }
};

/// Of a trial with so many epochs; none: it never asks (another kind, or what was found stands in it). Errors:
/// kInvalidArgument.
Result<std::optional<SelectionComparison>> selection_comparison(const study::PluginConfig& select, std::int64_t epochs);

/// What one kind's options must be beyond their schema. Errors: kInvalidArgument.
Result<void> check_selection_options(const Options& options);

/// The same kind with what a trial found, in place of asking.
study::PluginConfig with_recorded_selection(study::PluginConfig select, std::span<const study::Measurement> measurements);

}  // namespace lanista::data
