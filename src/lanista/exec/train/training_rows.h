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

/// The training rows that a run reads: their order in the current data pass, and the selection among them.
///
/// Copies share the order of the pass.
class TrainingRows {
 public:
  /// Rows in the order of `seed`. `selection` is empty if the run trains on all of them.
  TrainingRows(std::uint64_t seed, Selection selection) : seed_(seed), selection_(std::move(selection)) {}

  /// The data seed.
  std::uint64_t seed() const { return seed_; }
  /// The example selection; empty: none.
  const Selection& selection() const { return selection_; }
  /// The example selection, to change it.
  Selection& selection() { return selection_; }

  /// Whether the order of this pass is known.
  bool has_pass(std::int64_t pass) const { return pass_ == pass; }
  /// Makes the order of a pass, and takes prepared samples from the cache of the trial's epochs if it has one. If it
  /// throws, the order stays unknown.
  void begin_pass(const TrialDefinition& definition, std::int64_t pass);
  /// Takes over the order and the prepared samples of a run that reads the same rows.
  void share_pass(const TrainingRows& other);
  /// Frees the prepared samples at the end of a pass.
  void end_pass() { prepared_.reset(); }
  /// Forgets the current pass. It begins again before the next step.
  void forget_pass();
  /// The rows of the current pass, in order.
  std::span<const std::int64_t> order() const { return *order_; }
  /// The prepared samples of rows of order(), `width` numbers each; empty: the samples are not prepared.
  std::span<const float> prepared_features(std::span<const std::int64_t> rows, std::size_t width) const;

  /// Returns the rows of a copy of the run with another data seed, at no pass.
  TrainingRows without_pass(std::uint64_t seed) const { return {seed, selection_}; }

 private:
  std::uint64_t seed_;
  Selection selection_;
  std::shared_ptr<const std::vector<std::int64_t>> order_;
  std::shared_ptr<const data::PreparedEpoch> prepared_;  // null: samples are read from the data set
  std::int64_t pass_ = -1;                               // of order_; -1: none
};

}  // namespace lanista::train
