#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/goodput/goodput.h"
#include "lanista/plan/goodput/noise_scale.h"
#include "lanista/search/study/config.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"

namespace lanista::train {

/// Modelled seconds of one update, independent of any clock: fixed seconds plus seconds a row.
struct UpdateCost {
  /// Seconds of an update without rows, and seconds that each row adds.
  double fixed_seconds = 0, seconds_per_row = 0;
  /// Modelled seconds of an update with `rows` rows.
  double seconds(std::int64_t rows) const { return fixed_seconds + seconds_per_row * static_cast<double>(rows); }
};
/// Returns the modelled cost of updates of a recipe's model, by study::step_shape. Errors: those of graph::infer_shapes
/// (kNotFound, kInvalidArgument).
Result<UpdateCost> update_cost(const graph::Graph& model, const graph::OpTable& ops, const study::Recipe& recipe);

/// A new batch size and its gain.
struct BatchChoice {
  std::int64_t batch = 0;   ///< Samples of an update.
  double goodput_gain = 1;  ///< (goodput with this batch) / (goodput with the current batch).
};
/// Largest factor by which one change may multiply or divide the batch, because few measurements may be far from the
/// truth.
inline constexpr std::int64_t kMaxBatchChange = 4;
/// Returns the batch size with the best goodput: throughput times statistical efficiency (Pollux, section 4).
///
/// Candidates are `from` times powers of two, up to `most` samples, and `now`, the current batch. Nothing if the best
/// gains at most 5 %. Otherwise the result is halved or doubled until it differs from `now` by a factor of at most
/// kMaxBatchChange.
std::optional<BatchChoice> choose_batch(const goodput::GradientStats& noise, const UpdateCost& cost, std::int64_t from,
                                        std::int64_t most, std::int64_t now);

/// The gradient noise of a trial with an adaptive batch, and the batch and learning rate that follow from it. A value;
/// its results depend only on its measurements.
class BatchAdapter {
 public:
  /// Steps of the first batch size between two measured updates.
  static constexpr std::int64_t kStepsPerMeasurement = 40;
  /// Number of measurements before the first change of the batch.
  static constexpr std::int64_t kMinMeasurements = 6;
  /// Number of measurements over which the average runs: those of 1000 steps.
  static constexpr std::int64_t kAveragedMeasurements = 1000 / kStepsPerMeasurement;

  /// Returns the adapter of a recipe with data.batch: adaptive, without measurements. Errors: those of
  /// study::adaptive_batch_rules and update_cost.
  static Result<BatchAdapter> make(const graph::Graph& model, const graph::OpTable& ops, const study::Recipe& recipe);

  /// Rows of the small gradient: the first rows of an update, an eighth of the first batch, at least 1.
  std::int64_t small_rows() const { return small_rows_; }
  /// True if the gradient noise is measured in the update that begins at step `step` and has `steps` steps with `rows`
  /// rows. It is measured if the update has the last of kStepsPerMeasurement steps and at least 2 * small_rows() rows.
  bool is_measured(std::int64_t step, std::int64_t steps, std::int64_t rows) const {
    return step / kStepsPerMeasurement != (step + steps) / kStepsPerMeasurement && rows >= 2 * small_rows_;
  }
  /// Returns the number of updates, of `stride` steps each, for one chunk that begins at step `step`. It ends before
  /// the next measured update; a measured update is a chunk of its own.
  static std::int64_t max_updates_in_chunk(std::int64_t step, std::int64_t stride);
  /// Adds a measurement: `small_square` is the squared norm of the gradient over the first small_rows() rows, `square`
  /// that over all `rows` rows of the update.
  void note(double small_square, double square, std::int64_t rows);

  /// Returns the batch that should replace batch `now`, with its gain in goodput. It is at most `pass_rows`, the rows
  /// of one pass over the training data, unless the first batch is larger. Nothing: keep it, or too few measurements.
  std::optional<BatchChoice> choose(std::int64_t now, std::int64_t pass_rows) const;
  /// The factor by which the learning rate of the first batch is multiplied for a batch of `batch` samples, by the rule
  /// of the recipe: AdaScale's gain, the square root, linear, or none (1).
  double lr_factor(std::int64_t batch) const;

  /// The averages of all measurements.
  const goodput::NoiseScale& noise() const { return noise_; }
  /// The averaged variance and squared norm of the gradient that decide batch and rate.
  ///
  /// The squared norm is at least (variance) / (number of averaged measurements). A smaller value cannot be
  /// distinguished from zero, and zero would mean that no batch and no rate is too large.
  goodput::GradientStats gradient_stats() const;
  /// The averages as a JSON text for TrainerState::facts: [squared norm, variance, weight, number of measurements].
  std::string text() const;
  /// Replaces the averages by those of text(). Errors: kDataLoss (a malformed text).
  Result<void> restore(const std::string& text);

 private:
  std::int64_t first_batch_ = 1, small_rows_ = 1;
  study::AdaptiveBatchRules rules_;
  UpdateCost cost_;
  goodput::NoiseScale noise_;
};

}  // namespace lanista::train
