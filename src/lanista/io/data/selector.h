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

/// A batch that was read, before any of it is trained on.
struct CandidateBatch {
  std::int64_t pass = 0;                    ///< over the rows, that it is of
  std::span<const std::int64_t> rows = {};  ///< of the data set
};

/// Chooses the examples that a training spends its backward passes on. What it draws is a function of its seed, the
/// pass and the row, so a choice does not depend on batches, lanes or interruptions. One thread at a time.
class Selector {
 public:
  virtual ~Selector() = default;
  /// Places in the batch whose losses choose() is to be told, ascending: all, some, or none.
  virtual std::vector<std::size_t> requested_positions(const CandidateBatch& candidates) const = 0;
  /// Places to train on, ascending. `losses` are of the places that it asked for, finite or not.
  virtual std::vector<std::size_t> choose(const CandidateBatch& candidates, std::span<const double> losses) = 0;
  /// What it remembers of losses, to go on from; none if it remembers nothing.
  virtual std::vector<Tensor> saved_state() const { return {}; }
  /// The inverse. Errors: kDataLoss naming what is missing or does not fit.
  virtual Result<void> restore_state(std::span<const Tensor> saved_state);
};

/// What a selector may know of the training.
struct SelectorContext {
  std::uint64_t seed = 0;  ///< of what it draws
  std::int64_t rows = 0;   ///< of the data set: every row's number is below
  std::span<const float> holdout_loss =
      {};  ///< of each row its loss under a model that has not seen it; outlives the selector
};

struct SelectorPlugin {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Selector>(const Options&, const SelectorContext&)> make;
};

/// selective (Jiang et al., "Accelerating Deep Learning by Focusing on the Biggest Losers", 2019, with stale losses),
/// batch (the rule of MosaicML's Composer), reducible (RHO-LOSS: Mindermann et al., 2022), random (the control that a
/// selector must beat), auto (selective, where it has won: selection_comparison.h). Each has the options of selection_options()
/// beside its own.
std::vector<SelectorPlugin> builtin_selectors();

/// When a selector is asked, whatever its kind: warmup_epochs, from, until, interrupt, max_wait, recalibrate, clock.
const std::vector<OptionSpec>& selection_options();

inline constexpr std::string_view kSelectionReducible = "reducible";
/// Errors: kInvalidArgument (the selector wants hold-out losses, and the data have none).
Result<void> check_holdout(const study::PluginConfig& select, bool has_holdout);

/// All options of a selector, with what the study does not say. Errors: kInvalidArgument (unknown name with the nearest,
/// options); `where` is the place below train.select.
Result<Options> resolve_selection_options(const study::PluginConfig& select);
/// Errors: the same.
Result<std::unique_ptr<Selector>> make_selector(const study::PluginConfig& select, const SelectorContext& context);

}  // namespace lanista::data
