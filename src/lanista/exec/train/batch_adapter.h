#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/base/result.h"
#include "lanista/plan/goodput/goodput.h"
#include "lanista/plan/goodput/noise_scale.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/tuning/adapt_rules.h"
#include "lanista/search/study/config.h"

namespace lanista::train {

/// Seconds of an update on a machine that nobody has, so that no clock has a say in what a trial does: a + b rows.
struct UpdateCost {
  double fixed = 0, row = 0;
  double seconds(std::int64_t rows) const { return fixed + row * static_cast<double>(rows); }
};
/// Of a recipe's model, by study::StepShape. Errors: those of shape inference.
Result<UpdateCost> update_cost(const graph::Graph& model, const graph::OpTable& ops, const study::Recipe& recipe);

/// The batch with the best goodput: throughput times statistical efficiency (Pollux, section 4). Candidates are `from`
/// times powers of two up to `most`. Nothing unless it is more than 5 % better than that at hand; then at most
/// kMostChange times the batch at hand, or that share of it, since few measurements may be far off.
struct BatchChoice {
  std::int64_t batch = 0;
  double gain = 1;  ///< its goodput by that of the batch at hand
};
inline constexpr std::int64_t kMostChange = 4;
std::optional<BatchChoice> choose_batch(const cluster::GradientStats& noise, const UpdateCost& cost, std::int64_t from,
                                        std::int64_t most, std::int64_t now);

/// What a trial with an adaptive batch knows of its gradient noise, and what follows from it. A value; all that it does
/// is a function of what it is told.
class BatchAdapter {
 public:
  /// Steps of the first batch from one measured update to the next; the last one of them is in it.
  static constexpr std::int64_t kPeriod = 40;
  /// Measurements before the first change.
  static constexpr std::int64_t kLeast = 6;
  /// Measurements that the average remembers: a thousand steps of them.
  static constexpr std::int64_t kRemembered = 1000 / kPeriod;

  /// Of a recipe whose train.tune is study::kAdaptive. Errors: those of study::adapt_rules and update_cost.
  static Result<BatchAdapter> make(const graph::Graph& model, const graph::OpTable& ops, const study::Recipe& recipe);

  /// Rows of the small gradient, the first of the update's.
  std::int64_t small_rows() const { return small_; }
  /// Whether the update from `step` on, of so many steps and rows, is measured.
  bool measures(std::int64_t step, std::int64_t steps, std::int64_t rows) const {
    return step / kPeriod != (step + steps) / kPeriod && rows >= 2 * small_;
  }
  /// Updates of `stride` steps that may be done at once from `step` on: those before a measured one, or that alone.
  static std::int64_t updates_at_once(std::int64_t step, std::int64_t stride);
  /// An update's gradient over `rows` rows, and over the first small_rows() of them, as squares of their norms.
  void note(double small_square, double square, std::int64_t rows);

  /// The batch to go on with where `now` is at hand and a pass has so many rows; nothing: as it is.
  std::optional<BatchChoice> choose(std::int64_t now, std::int64_t pass_rows) const;
  /// What the first batch's learning rate is multiplied by at this batch.
  double rate_factor(std::int64_t batch) const;

  const cluster::NoiseScale& noise() const { return noise_; }
  /// What it goes by: the averages, but |g|^2 no smaller than the noise of the first batch by the number of
  /// measurements that the average remembers. Below that it cannot be told from nothing, and nothing would mean that no
  /// batch is too large and no rate too high.
  cluster::GradientStats known() const;
  /// All it was told, and the inverse. Errors: kDataLoss.
  std::string text() const;
  Result<void> restore(const std::string& text);

 private:
  std::int64_t from_ = 1, small_ = 1;
  study::AdaptRules rules_;
  UpdateCost cost_;
  cluster::NoiseScale noise_;
};

}  // namespace lanista::train
