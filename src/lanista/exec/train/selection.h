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

/// The position of a step in its training.
struct DataPosition {
  std::int64_t step = 0;   ///< batches read before
  std::int64_t epoch = 0;  ///< from 0
  std::int64_t pass = 0;   ///< pass over the rows, from 0
  bool ends_pass = false;  ///< whether it reads the last batch of the pass
};

/// The example selection of a trial that trains on some examples only (study::Recipe::select).
///
/// A step reads a batch as in any trial. Selected rows wait in a queue. When a whole batch waits, the step trains on
/// it, so programs have batches of one size. At the end of a pass all waiting rows are trained on, if at most one batch
/// waits. A value; copies are independent. Empty if the trial trains on all examples.
class Selection {
 public:
  Selection() = default;  ///< all examples are trained on
  /// Returns the selection of a trial with this seed. `data` must outlive it. Errors: kInvalidArgument.
  static Result<Selection> make(const study::Recipe& recipe, std::uint64_t seed, const data::Dataset& data);
  /// Returns the selection of a trial with these facts about seed and data. Errors: kInvalidArgument.
  static Result<Selection> make(const study::Recipe& recipe, const data::SelectorContext& facts);
  Selection(const Selection& other);
  Selection& operator=(const Selection& other);
  Selection(Selection&&) noexcept = default;
  Selection& operator=(Selection&&) noexcept = default;

  explicit operator bool() const { return selector_ != nullptr; }

  /// With a selection comparison: sets whether it selects from `step` on. At first it does not.
  void set_selecting(std::int64_t step, bool selects) { changes_.push_back({step, selects}); }
  /// With a selection comparison: replaces all changes of set_selecting.
  void set_changes(std::vector<study::SelectionChange> found) { changes_ = std::move(found); }
  const std::vector<study::SelectionChange>& changes() const { return changes_; }

  /// Returns the positions in the batch with losses that add_batch() needs. None if this step's batch was added.
  std::vector<std::size_t> requested_positions(const DataPosition& position, std::span<const std::int64_t> rows) const;
  /// Adds the batch that the step reads, with the losses of the requested positions. A second call for a step does
  /// nothing.
  void add_batch(const DataPosition& position, std::span<const std::int64_t> rows, std::span<const double> losses);
  /// The rows to train on in the step that was added last, at most a batch. Empty: no update.
  std::span<const std::int64_t> batch() const { return std::span(queue_).first(num_ready_rows_); }
  /// Ends the step: removes the rows of batch() from the queue.
  void step_done();

  /// Examples trained on in the current epoch.
  std::int64_t num_trained_rows() const { return num_trained_rows_; }
  /// Batches trained on in total.
  std::int64_t num_trained_batches() const { return num_trained_batches_; }
  /// Starts the count of num_trained_rows() for a new epoch.
  void begin_epoch() { num_trained_rows_ = 0; }
  /// Losses that add_batch() received since this value was made.
  std::int64_t num_losses_computed() const { return num_losses_computed_; }
  std::int64_t recalibration() const { return recalibration_; }  ///< Batches of all rows before a measurement.
  bool counts_trained() const { return counts_trained_; }        ///< Whether the learning rate follows trained batches.

  /// Returns its part of a run's state: tensors with names "select:<what>".
  std::vector<Tensor> save() const;
  /// Restores it from the tensors of save(). Errors: kDataLoss.
  Result<void> restore(std::span<const Tensor> saved);
  /// Whether a tensor of a state comes from save().
  static bool is_selection_tensor(const Tensor& tensor);

 private:
  bool selects_at(const DataPosition& position) const;
  bool is_enabled_at(std::int64_t step) const;

  std::shared_ptr<const study::PluginConfig> config_;  // null: no selector; shared by copies
  data::SelectorContext context_;
  std::unique_ptr<data::Selector> selector_;
  std::int64_t batch_size_ = 0;  // rows
  std::int64_t first_epoch_ = 0, end_epoch_ = 0;
  std::int64_t full_batch_period_ = 0, max_wait_ = 0, recalibration_ = 0;
  bool counts_trained_ = false;
  bool is_guarded_ = false;
  std::vector<study::SelectionChange> changes_;  // by step, with a selection comparison

  std::vector<std::int64_t> queue_;
  std::size_t num_ready_rows_ = 0;         // rows at the front of the queue that this step trains on
  std::int64_t last_added_step_ = -1;      // step of the last add_batch()
  std::int64_t batches_since_update_ = 0;  // batches read since the last update
  std::int64_t num_trained_rows_ = 0, num_trained_batches_ = 0;
  std::int64_t num_losses_computed_ = 0;  // not part of a state; the cost of a branch
};

}  // namespace lanista::train
