#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/base/result.h"
#include "lanista/plan/goodput/goodput.h"
#include "lanista/plan/goodput/noise_scale.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"
#include "lanista/search/study/config.h"

namespace lanista::train {

/// Seconds of an update on a machine that nobody has, so that no clock has a say in what a trial does: a + b rows.
struct UpdateCost {
  double fixed_seconds = 0, seconds_per_row = 0;
  double seconds(std::int64_t rows) const { return fixed_seconds + seconds_per_row * static_cast<double>(rows); }
};
/// Of a recipe's model, by study::StepShape. Errors: those of shape inference.
Result<UpdateCost> update_cost(const graph::Graph& model, const graph::OpTable& ops, const study::Recipe& recipe);

/// The batch with the best goodput: throughput times statistical efficiency (Pollux, section 4). Candidates are `from`
/// times powers of two up to `most`. Nothing unless it is more than 5 % better than that at hand; then at most
/// kMaxBatchChange times the batch at hand, or that share of it, since few measurements may be far off.
struct BatchChoice {
  std::int64_t batch = 0;
  double goodput_gain = 1;  ///< its goodput by that of the batch at hand
};
inline constexpr std::int64_t kMaxBatchChange = 4;
std::optional<BatchChoice> choose_batch(const cluster::GradientStats& noise, const UpdateCost& cost, std::int64_t from,
                                        std::int64_t most, std::int64_t now);

/// What a trial with an adaptive batch knows of its gradient noise, and what follows from it. A value; all that it does
/// is a function of what it is told.
class BatchAdapter {
 public:
  /// Steps of the first batch from one measured update to the next; the last one of them is in it.
  static constexpr std::int64_t kStepsPerMeasurement = 40;
  /// Measurements before the first change.
  static constexpr std::int64_t kMinMeasurements = 6;
  /// Measurements that the average remembers: a thousand steps of them.
  static constexpr std::int64_t kAveragedMeasurements = 1000 / kStepsPerMeasurement;

  /// Of a recipe whose train.tune is study::kAdaptive. Errors: those of study::adaptive_batch_rules and update_cost.
  static Result<BatchAdapter> make(const graph::Graph& model, const graph::OpTable& ops, const study::Recipe& recipe);

  /// Rows of the small gradient, the first of the update's.
  std::int64_t small_rows() const { return small_rows_; }
  /// Whether the update from `step` on, of so many steps and rows, is measured.
  bool is_measured(std::int64_t step, std::int64_t steps, std::int64_t rows) const {
    return step / kStepsPerMeasurement != (step + steps) / kStepsPerMeasurement && rows >= 2 * small_rows_;
  }
  /// Updates of `stride` steps that may be done at once from `step` on: those before a measured one, or that alone.
  static std::int64_t max_updates_in_chunk(std::int64_t step, std::int64_t stride);
  /// An update's gradient over `rows` rows, and over the first small_rows() of them, as squares of their norms.
  void note(double small_square, double square, std::int64_t rows);

  /// The batch to go on with where `now` is at hand and a pass has so many rows; nothing: as it is.
  std::optional<BatchChoice> choose(std::int64_t now, std::int64_t pass_rows) const;
  /// What the first batch's learning rate is multiplied by at this batch.
  double lr_factor(std::int64_t batch) const;

  const cluster::NoiseScale& noise() const { return noise_; }
  /// What it goes by: the averages, but |g|^2 no smaller than the noise of the first batch by the number of
  /// measurements that the average remembers. Below that it cannot be told from nothing, and nothing would mean that no
  /// batch is too large and no rate too high.
  cluster::GradientStats gradient_stats() const;
  /// All it was told, and the inverse. Errors: kDataLoss.
  std::string text() const;
  Result<void> restore(const std::string& text);

 private:
  std::int64_t first_batch_ = 1, small_rows_ = 1;
  study::AdaptiveBatchRules rules_;
  UpdateCost cost_;
  cluster::NoiseScale noise_;
};

}  // namespace lanista::train
