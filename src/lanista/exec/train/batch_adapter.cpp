#include "lanista/exec/train/batch_adapter.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "lanista/base/real_json.h"
#include "lanista/search/study/step_profile.h"

namespace lanista::train {
namespace {

double batch_scale(std::int64_t batch, std::int64_t from) {
  return static_cast<double>(batch) / static_cast<double>(from);
}

goodput::RateRule rate_rule_of(study::RateScaling follows) {
  switch (follows) {
    case study::RateScaling::kAdaScaleGain:
      return goodput::RateRule::kAdaScale;
    case study::RateScaling::kSquareRoot:
      return goodput::RateRule::kSquareRoot;
    case study::RateScaling::kLinear:
      return goodput::RateRule::kLinear;
    case study::RateScaling::kNone:
      break;
  }
  return goodput::RateRule::kNone;
}

}  // namespace

Result<UpdateCost> update_cost(const graph::Graph& model, const graph::OpTable& ops, const study::Recipe& recipe) {
  LANISTA_ASSIGN(study::StepShape shape, study::step_shape(model, ops, recipe));
  UpdateCost cost{.fixed_seconds = shape.nominal_update(), .seconds_per_row = 0};
  shape.batch = 0;
  const double empty = shape.nominal_step();
  shape.batch = 1;
  cost.seconds_per_row = shape.nominal_step() - empty;
  cost.fixed_seconds += empty;
  return cost;
}

std::optional<BatchChoice> choose_batch(const goodput::GradientStats& noise, const UpdateCost& cost, std::int64_t from,
                                        std::int64_t most, std::int64_t now) {
  const auto goodput = [&](std::int64_t batch) {
    return static_cast<double>(batch) / cost.seconds(batch) * goodput::efficiency_of(noise, batch_scale(batch, from));
  };
  std::int64_t best = now;
  for (std::int64_t batch = from; batch <= most; batch *= 2) {
    if (goodput(batch) > goodput(best)) best = batch;
  }
  const double here = goodput(now);
  if (!goodput::worth_changing(here, goodput(best))) return std::nullopt;
  while (best > kMaxBatchChange * now) best /= 2;
  while (best * kMaxBatchChange < now) best *= 2;
  return BatchChoice{best, goodput(best) / here};
}

Result<BatchAdapter> BatchAdapter::make(const graph::Graph& model, const graph::OpTable& ops,
                                        const study::Recipe& recipe) {
  BatchAdapter out;
  LANISTA_ASSIGN(out.rules_, study::adaptive_batch_rules(recipe));
  LANISTA_ASSIGN(out.cost_, update_cost(model, ops, recipe));
  out.first_batch_ = recipe.batch;
  out.small_rows_ = std::max<std::int64_t>(1, recipe.batch / 8);
  return out;
}

std::int64_t BatchAdapter::max_updates_in_chunk(std::int64_t step, std::int64_t stride) {
  const std::int64_t next = (step / kStepsPerMeasurement + 1) * kStepsPerMeasurement;
  return std::max<std::int64_t>(1, (next - 1 - step) / stride);
}

void BatchAdapter::note(double small_square, double square, std::int64_t rows) {
  const double samples = static_cast<double>(rows) / static_cast<double>(small_rows_),
               scale = batch_scale(rows, first_batch_);
  const goodput::GradientSquares norms{.mean_square = small_square, .square_of_mean = square};
  noise_.add({&norms, 1}, samples, scale, std::max(static_cast<double>(kStepsPerMeasurement), scale));
}

std::optional<BatchChoice> BatchAdapter::choose(std::int64_t now, std::int64_t pass_rows) const {
  if (noise_.steps() < kMinMeasurements) return std::nullopt;
  return choose_batch(gradient_stats(), cost_, first_batch_, std::max(first_batch_, std::min(rules_.most, pass_rows)),
                      now);
}

double BatchAdapter::lr_factor(std::int64_t batch) const {
  return goodput::lr_factor(rate_rule_of(rules_.rate), gradient_stats(), batch_scale(batch, first_batch_));
}

goodput::GradientStats BatchAdapter::gradient_stats() const {
  goodput::GradientStats stats = noise_.total();
  const std::int64_t remembered = std::clamp<std::int64_t>(noise_.steps(), 1, kAveragedMeasurements);
  stats.sqr = std::max(stats.sqr, stats.var / static_cast<double>(remembered));
  return stats;
}

std::string BatchAdapter::text() const {
  const goodput::NoiseScale::State known = noise_.state();
  return nlohmann::json{real_json(known.sums.front().sqr), real_json(known.sums.front().var), real_json(known.weight),
                        known.steps}
      .dump();
}

Result<void> BatchAdapter::restore(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto real = [&](std::size_t i) {
    return json.is_array() && json.size() == 4 ? parse_real_json(json[i]) : std::nullopt;
  };
  const auto sqr = real(0), var = real(1), weight = real(2);
  if (!sqr || !var || !weight || !json[3].is_number_integer() || json[3].get<std::int64_t>() < 0) {
    return Error{Code::kDataLoss, "checkpoint's 'noise' is not [number, number, number, count]: " + text, ""};
  }
  noise_.restore({.sums = {{*sqr, *var}}, .weight = *weight, .steps = json[3].get<std::int64_t>()});
  return {};
}

}  // namespace lanista::train
