#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lanista/exec/train/selection.h"
#include "lanista/exec/train/trial_definition.h"
#include "lanista/io/data/epoch_cache.h"

namespace lanista::train {

/// The training rows that a run reads: their order in the current data pass, and the example selection among them.
///
/// Copies share the order of the pass, which never changes.
class TrainingRows {
 public:
  /// Rows in the order of data seed `seed`, before any pass. `selection` is empty if the run trains on all of them.
  TrainingRows(std::uint64_t seed, Selection selection) : seed_(seed), selection_(std::move(selection)) {}

  /// The data seed.
  std::uint64_t seed() const { return seed_; }
  /// The example selection; empty: the run trains on all rows.
  const Selection& selection() const { return selection_; }
  /// The example selection, to change it.
  Selection& selection() { return selection_; }

  /// True if order() is that of pass `pass`, counted from 0.
  bool has_pass(std::int64_t pass) const { return pass_ == pass; }
  /// Makes the order of pass `pass`. Takes prepared samples from the cache of the trial's input, if it has one and the
  /// trial augments, selects no examples and reads all rows in this pass. If it throws, there is no order.
  void begin_pass(const TrialDefinition& definition, std::int64_t pass);
  /// Replaces order and prepared samples by those of a run that reads the same rows.
  void share_pass(const TrainingRows& other);
  /// Frees the prepared samples at the end of a pass; the order stays.
  void end_pass() { prepared_.reset(); }
  /// Forgets the current pass; begin_pass() is necessary before the next step.
  void forget_pass();
  /// The row numbers of the current pass, in order. Requires a pass; valid until the next one.
  std::span<const std::int64_t> order() const { return *order_; }
  /// The prepared samples, `width` numbers each, of `rows`, which must be a part of order(). Empty: no samples are
  /// prepared.
  std::span<const float> prepared_features(std::span<const std::int64_t> rows, std::size_t width) const;

  /// Returns the rows of a copy of the run, before any pass.
  TrainingRows without_pass() const { return {seed_, selection_}; }

 private:
  std::uint64_t seed_;
  Selection selection_;
  std::shared_ptr<const std::vector<std::int64_t>> order_;
  std::shared_ptr<const data::PreparedEpoch> prepared_;  // null: samples are read from the data set
  std::int64_t pass_ = -1;                               // of order_; -1: none
};

}  // namespace lanista::train
