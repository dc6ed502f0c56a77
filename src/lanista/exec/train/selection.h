#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/selector.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/select_branches.h"

namespace lanista::train {

/// Where a step is in its training.
struct DataPosition {
  std::int64_t step = 0;       ///< batches that were read before
  std::int64_t epoch = 0;      ///< from 0
  std::int64_t pass = 0;       ///< over the rows
  bool ends_pass = false;      ///< it reads the last batch of the pass
};

/// The examples of a trial that trains on some of them only (study::Recipe::select). A step reads a batch as in any
/// trial; the chosen rows queue, and once as many wait as a batch has, they are trained on, so programs see batches of
/// one size. At the end of a pass what waits is trained on, if it is no more than a batch. Values; copies are
/// independent. Without a selector it holds nothing, and nobody need ask it.
class Selection {
 public:
  Selection() = default;  ///< all examples are trained on
  /// Of a trial with this seed on these data, which outlive it. Errors: kInvalidArgument.
  static Result<Selection> make(const study::Recipe& recipe, std::uint64_t seed, const data::Dataset& data);
  static Result<Selection> make(const study::Recipe& recipe, const data::SelectorContext& facts);
  Selection(const Selection& other);
  Selection& operator=(const Selection& other);
  Selection(Selection&&) noexcept = default;
  Selection& operator=(Selection&&) noexcept = default;

  explicit operator bool() const { return selector_ != nullptr; }

  /// Of one that is guarded (data::SelectionComparison): whether it selects from this step on. Until it is told, it does not.
  void set_selecting(std::int64_t step, bool selects) { changes_.push_back({step, selects}); }
  /// What it was told, in place of all before.
  void set_changes(std::vector<study::SelectionChange> found) { changes_ = std::move(found); }
  const std::vector<study::SelectionChange>& changes() const { return changes_; }
  bool is_guarded() const { return is_guarded_; }

  /// Places of the batch whose losses must be told to offer(); none where this step has been offered its batch.
  std::vector<std::size_t> requested_positions(const DataPosition& position, std::span<const std::int64_t> rows) const;
  /// The batch that the step reads, and losses of the places that were asked for. A second offer of a step changes
  /// nothing.
  void add_batch(const DataPosition& position, std::span<const std::int64_t> rows, std::span<const double> losses);
  /// The rows to train on in the step that was offered last, at most a batch; empty: it trains on nothing.
  std::span<const std::int64_t> batch() const { return std::span(queue_).first(num_ready_rows_); }
  /// The step is over: its batch has been trained on, if there was one.
  void step_done();

  /// Examples trained on in the epoch in progress, and batches in all.
  std::int64_t num_trained_rows() const { return num_trained_rows_; }
  std::int64_t num_trained_batches() const { return num_trained_batches_; }
  void begin_epoch() { num_trained_rows_ = 0; }
  /// Losses that were told since this value was made.
  std::int64_t num_losses_computed() const { return num_losses_computed_; }
  std::int64_t recalibration() const { return recalibration_; }  ///< batches of all rows, before an epoch is measured
  bool counts_trained() const { return counts_trained_; }  ///< the learning rate's clock counts batches trained on

  /// Tensors called "select:<what>", part of a run's state.
  std::vector<Tensor> save() const;
  /// The inverse. Errors: kDataLoss.
  Result<void> restore(std::span<const Tensor> saved);
  /// Whether a tensor of a state is one of these.
  static bool is_selection_tensor(const Tensor& tensor);

 private:
  bool selects_at(const DataPosition& position) const;
  bool is_enabled_at(std::int64_t step) const;

  std::shared_ptr<const study::PluginConfig> config_;  // none: no selector; copies share it
  data::SelectorContext context_;
  std::unique_ptr<data::Selector> selector_;
  std::int64_t batch_size_ = 0;  // of a batch
  std::int64_t first_epoch_ = 0, end_epoch_ = 0;
  std::int64_t full_batch_period_ = 0, max_wait_ = 0, recalibration_ = 0;
  bool counts_trained_ = false;
  bool is_guarded_ = false;
  std::vector<study::SelectionChange> changes_;  // of one that is guarded, by step

  std::vector<std::int64_t> queue_;
  std::size_t num_ready_rows_ = 0;          // rows at the front of the queue that this step trains on
  std::int64_t last_added_step_ = -1;      // the step whose batch was offered last
  std::int64_t batches_since_update_ = 0;        // batches read since one was trained on
  std::int64_t num_trained_rows_ = 0, num_trained_batches_ = 0;
  std::int64_t num_losses_computed_ = 0;  // of no state: what a branch is told by
};

}  // namespace lanista::train
