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

/// The position of one step in the data of its training.
struct DataPosition {
  std::int64_t step = 0;   ///< Number of the step, from 0: batches read before it.
  std::int64_t epoch = 0;  ///< Number of the epoch, from 0.
  std::int64_t pass = 0;   ///< Number of the pass over the rows, from 0.
  bool ends_pass = false;  ///< True: the step reads the last batch of the pass.
};

/// The example selection of a trial that trains on some examples only (study::Recipe::select).
///
/// A step reads a batch as in any trial. Selected rows wait in a queue. When a whole batch waits, the step trains on
/// it, so programs have batches of one size. After `max_wait` steps without an update, other rows of the step's batch
/// fill the queue. The last step of a pass trains on all waiting rows, if at most one batch waits. A value; copies are
/// independent. Empty if the trial trains on all examples.
class Selection {
 public:
  Selection() = default;  ///< All examples are trained on.
  /// Returns the selection of a trial with this recipe, and with this seed and number of rows; empty without
  /// train.select. `selectors`, the allowed ones, must outlive it. Errors: kInvalidArgument (unknown selector or
  /// options).
  static Result<Selection> make(const study::Recipe& recipe, const data::SelectorContext& facts,
                                std::span<const data::SelectorPlugin> selectors = data::builtin_selectors());
  Selection(const Selection& other);
  Selection& operator=(const Selection& other);
  Selection(Selection&&) noexcept = default;
  Selection& operator=(Selection&&) noexcept = default;

  /// True if the trial selects examples, false if this is empty.
  explicit operator bool() const { return selector_ != nullptr; }

  /// Returns the positions in `rows`, the batch of a step, for which add_batch() needs losses. Empty if all rows are
  /// used, or if this step's batch was added.
  std::vector<std::size_t> requested_positions(const DataPosition& position, std::span<const std::int64_t> rows) const;
  /// Adds `rows`, the batch that the step reads, with the losses of the requested positions in their order. A second
  /// call for a step does nothing.
  void add_batch(const DataPosition& position, std::span<const std::int64_t> rows, std::span<const double> losses);
  /// The row numbers on which the step that was added last trains, at most a batch. Empty: no update. Also empty after
  /// step_done().
  std::span<const std::int64_t> batch() const { return std::span(queue_).first(num_ready_rows_); }
  /// Ends the step: removes the rows of batch() from the queue and counts them. Does nothing without rows.
  void step_done();

  /// Number of rows trained on since begin_epoch().
  std::int64_t num_trained_rows() const { return num_trained_rows_; }
  /// Number of batches trained on in total.
  std::int64_t num_trained_batches() const { return num_trained_batches_; }
  /// Sets num_trained_rows() to 0, for a new epoch.
  void begin_epoch() { num_trained_rows_ = 0; }
  /// Number of losses that add_batch() received since this object was made or copied.
  std::int64_t num_losses_computed() const { return num_losses_computed_; }
  /// Number of batches of all rows that renew running statistics before a measurement; 0: none.
  std::int64_t recalibration() const { return recalibration_; }
  /// True: the learning rate follows trained batches instead of steps.
  bool counts_trained() const { return counts_trained_; }

  /// Returns the selection's part of a run's state: tensors with names "select:<what>"; none if it is empty. It has the
  /// queue, the counts and the selector's memory, but not num_losses_computed().
  std::vector<Tensor> save() const;
  /// Replaces the state by the tensors of save(); an empty selection accepts only an empty list. Errors: kDataLoss
  /// (they are missing, malformed, or of a trial with another selection).
  Result<void> restore(std::span<const Tensor> saved);
  /// True if the name of a tensor of a state shows that it comes from save().
  static bool is_selection_tensor(const Tensor& tensor);

 private:
  bool selects_at(const DataPosition& position) const;

  std::shared_ptr<const study::PluginConfig> config_;  // null: no selector; shared by copies
  std::span<const data::SelectorPlugin> selectors_;
  data::SelectorContext context_;
  std::unique_ptr<data::Selector> selector_;
  std::int64_t batch_size_ = 0;  // rows
  std::int64_t first_epoch_ = 0, end_epoch_ = 0;
  std::int64_t full_batch_period_ = 0, max_wait_ = 0, recalibration_ = 0;
  bool counts_trained_ = false;

  std::vector<std::int64_t> queue_;
  std::size_t num_ready_rows_ = 0;         // rows at the front of the queue that this step trains on
  std::int64_t last_added_step_ = -1;      // step of the last add_batch()
  std::int64_t batches_since_update_ = 0;  // batches read since the last update
  std::int64_t num_trained_rows_ = 0, num_trained_batches_ = 0;
  std::int64_t num_losses_computed_ = 0;  // not part of a state; the cost of a branch
};

}  // namespace lanista::train
