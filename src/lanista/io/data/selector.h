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

/// A batch from which a selector selects examples, before training on it.
struct CandidateBatch {
  std::int64_t pass = 0;                    ///< number of the data pass, from 0
  std::span<const std::int64_t> rows = {};  ///< row number of each example in the batch
};

/// Selects the examples for which a training computes backward passes. Random decisions are a function of the seed, the
/// pass and the row, so that a selection does not depend on batches, lanes or interruptions. For one thread at a time.
class Selector {
 public:
  virtual ~Selector() = default;
  /// The positions in the batch (from 0) for which choose() needs losses, ascending: all, some, or none.
  virtual std::vector<std::size_t> requested_positions(const CandidateBatch& candidates) const = 0;
  /// The positions in the batch to train on, ascending; may be empty. `losses` has the loss of each requested position,
  /// in that order, and may have NaN or infinity. The selector may record them for later batches.
  virtual std::vector<std::size_t> choose(const CandidateBatch& candidates, std::span<const double> losses) = 0;
  /// The state of the selector for a checkpoint, such as recorded losses; empty if it has none.
  virtual std::vector<Tensor> saved_state() const { return {}; }
  /// Restores what saved_state() returned. Errors: kDataLoss (a tensor is missing or has the wrong type or size).
  virtual Result<void> restore_state(std::span<const Tensor> saved_state);
};

/// The inputs of a selector from the training.
struct SelectorContext {
  std::uint64_t seed = 0;  ///< seed of random decisions
  std::int64_t rows = 0;   ///< number of rows of the data set; row numbers are below it
};

/// One kind of example selector: name, options and factory.
struct SelectorPlugin {
  std::string name;                 ///< Its name in train.select.
  std::string help;                 ///< One sentence for the user.
  std::vector<OptionSpec> options;  ///< Its options.
  /// Makes the selector from resolved options; never null.
  std::function<std::unique_ptr<Selector>(const Options&, const SelectorContext&)> make;
};

/// The built-in selectors: `selective`, which selects each example with probability rank^beta, by the rank of its loss
/// among the last ones. A loss may be reused for some passes (Jiang et al., "Accelerating Deep Learning by Focusing on
/// the Biggest Losers", 2019). The reference is to a constant.
const std::vector<SelectorPlugin>& builtin_selectors();

/// The options that every selector has: warmup_epochs, from, until, interrupt, max_wait, recalibrate, clock.
const std::vector<OptionSpec>& selection_options();
/// The options `own` of a selector, followed by selection_options().
std::vector<OptionSpec> with_selection_options(std::vector<OptionSpec> own);

/// Checks resolved options of a selector beyond their schema. Errors: kInvalidArgument at the option (from after
/// until).
Result<void> check_selection_options(const Options& options);
/// All options of the selector `select`, one of `selectors`, with defaults for those that the study omits. Errors:
/// kInvalidArgument (an unknown name, with the nearest; invalid options); `where` is the key below train.select.
Result<Options> resolve_selection_options(const study::PluginConfig& select,
                                          std::span<const SelectorPlugin> selectors = builtin_selectors());
/// Makes the selector of the setting train.select, one of `selectors`. Errors: kInvalidArgument (an unknown name or
/// invalid options).
Result<std::unique_ptr<Selector>> make_selector(const study::PluginConfig& select, const SelectorContext& context,
                                                std::span<const SelectorPlugin> selectors = builtin_selectors());

}  // namespace lanista::data
