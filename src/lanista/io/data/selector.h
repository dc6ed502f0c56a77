#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/search/study/config.h"

namespace lanista::data {

/// A batch that was read and not trained on yet.
struct CandidateBatch {
  std::int64_t pass = 0;                    ///< number of the data pass
  std::span<const std::int64_t> rows = {};  ///< row numbers of the data set
};

/// Selects the examples for which a training computes backward passes. Random decisions are a function of the seed, the
/// pass and the row, so that a selection does not depend on batches, lanes or interruptions. For one thread at a time.
class Selector {
 public:
  virtual ~Selector() = default;
  /// The positions in the batch for which choose() needs losses, ascending: all, some, or none.
  virtual std::vector<std::size_t> requested_positions(const CandidateBatch& candidates) const = 0;
  /// The positions to train on, ascending. `losses` belong to requested_positions() and may not be finite.
  virtual std::vector<std::size_t> choose(const CandidateBatch& candidates, std::span<const double> losses) = 0;
  /// The stored losses, from which training resumes; empty if there are none.
  virtual std::vector<Tensor> saved_state() const { return {}; }
  /// Restores what saved_state() returned. Errors: kDataLoss with what is missing or does not fit.
  virtual Result<void> restore_state(std::span<const Tensor> saved_state);
};

/// What a selector may use of the training.
struct SelectorContext {
  std::uint64_t seed = 0;  ///< of random decisions
  std::int64_t rows = 0;   ///< rows of the data set; every row number is below
  /// Loss of each row under a model that has not trained on it. It must outlive the selector.
  std::span<const float> holdout_loss = {};
};

/// One kind of selector.
struct SelectorPlugin {
  std::string name;                 ///< In train.select.
  std::string help;                 ///< One sentence for the user.
  std::vector<OptionSpec> options;  ///< Its options.
  /// Makes the selector from resolved options.
  std::function<std::unique_ptr<Selector>(const Options&, const SelectorContext&)> make;
};

/// The built-in selectors, each with the options of selection_options() and its own.
///
/// - selective: Jiang et al., "Accelerating Deep Learning by Focusing on the Biggest Losers", 2019, with stale losses.
/// - batch: the rule of MosaicML's Composer.
/// - reducible: RHO-LOSS, Mindermann et al., 2022.
/// - random: the control that a selector must beat.
/// - auto: selective, where it has won a comparison (selection_comparison.h).
std::vector<SelectorPlugin> builtin_selectors();

/// The options of all selectors: warmup_epochs, from, until, interrupt, max_wait, recalibrate, clock.
const std::vector<OptionSpec>& selection_options();

inline constexpr std::string_view kSelectionReducible = "reducible";  ///< the selector that needs hold-out losses
/// Checks that the data have the hold-out losses that the selector needs. Errors: kInvalidArgument.
Result<void> check_holdout(const study::PluginConfig& select, bool has_holdout);

/// All options of a selector, with defaults for those that the study omits. Errors: kInvalidArgument (unknown name with
/// the nearest, options); `where` is the key below train.select.
Result<Options> resolve_selection_options(const study::PluginConfig& select);
/// Makes a selector. Errors: those of resolve_selection_options().
Result<std::unique_ptr<Selector>> make_selector(const study::PluginConfig& select, const SelectorContext& context);

}  // namespace lanista::data
