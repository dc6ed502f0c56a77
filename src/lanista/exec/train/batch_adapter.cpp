#include "lanista/exec/train/batch_adapter.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "lanista/base/real_json.h"
#include "lanista/search/study/profile.h"

namespace lanista::train {
namespace {

double scale_of(std::int64_t batch, std::int64_t from) {
  return static_cast<double>(batch) / static_cast<double>(from);
}

cluster::RateRule rule_of(study::RateFollows follows) {
  switch (follows) {
    case study::RateFollows::kGain:
      return cluster::RateRule::kAdaScale;
    case study::RateFollows::kSquareRoot:
      return cluster::RateRule::kSquareRoot;
    case study::RateFollows::kLinear:
      return cluster::RateRule::kLinear;
    case study::RateFollows::kNone:
      break;
  }
  return cluster::RateRule::kNone;
}

}  // namespace

Result<UpdateCost> update_cost(const graph::Graph& model, const graph::OpTable& ops, const study::Recipe& recipe) {
  LANISTA_ASSIGN(study::StepShape shape, study::step_shape(model, ops, recipe));
  UpdateCost cost{.fixed = shape.nominal_update(), .row = 0};
  shape.batch = 0;
  const double empty = shape.nominal_step();
  shape.batch = 1;
  cost.row = shape.nominal_step() - empty;
  cost.fixed += empty;
  return cost;
}

std::optional<BatchChoice> choose_batch(const cluster::GradientStats& noise, const UpdateCost& cost, std::int64_t from,
                                        std::int64_t most, std::int64_t now) {
  const auto goodput = [&](std::int64_t batch) {
    return static_cast<double>(batch) / cost.seconds(batch) * cluster::efficiency_of(noise, scale_of(batch, from));
  };
  std::int64_t best = now;
  for (std::int64_t batch = from; batch <= most; batch *= 2) {
    if (goodput(batch) > goodput(best)) best = batch;
  }
  const double here = goodput(now);
  if (!cluster::worth_changing(here, goodput(best))) return std::nullopt;
  while (best > kMostChange * now) best /= 2;
  while (best * kMostChange < now) best *= 2;
  return BatchChoice{best, goodput(best) / here};
}

Result<BatchAdapter> BatchAdapter::make(const graph::Graph& model, const graph::OpTable& ops,
                                        const study::Recipe& recipe) {
  BatchAdapter out;
  LANISTA_ASSIGN(out.rules_, study::adapt_rules(recipe));
  LANISTA_ASSIGN(out.cost_, update_cost(model, ops, recipe));
  out.from_ = recipe.batch;
  out.small_ = std::max<std::int64_t>(1, recipe.batch / 8);
  return out;
}

std::int64_t BatchAdapter::updates_at_once(std::int64_t step, std::int64_t stride) {
  const std::int64_t next = (step / kPeriod + 1) * kPeriod;
  return std::max<std::int64_t>(1, (next - 1 - step) / stride);
}

void BatchAdapter::note(double small_square, double square, std::int64_t rows) {
  const double samples = static_cast<double>(rows) / static_cast<double>(small_), scale = scale_of(rows, from_);
  const cluster::GradientNorms norms{.mean_square = small_square, .square_of_mean = square};
  noise_.add({&norms, 1}, samples, scale, std::max(static_cast<double>(kPeriod), scale));
}

std::optional<BatchChoice> BatchAdapter::choose(std::int64_t now, std::int64_t pass_rows) const {
  if (noise_.steps() < kLeast) return std::nullopt;
  return choose_batch(known(), cost_, from_, std::max(from_, std::min(rules_.most, pass_rows)), now);
}

double BatchAdapter::rate_factor(std::int64_t batch) const {
  return cluster::rate_factor(rule_of(rules_.rate), known(), scale_of(batch, from_));
}

cluster::GradientStats BatchAdapter::known() const {
  cluster::GradientStats stats = noise_.total();
  const std::int64_t remembered = std::clamp<std::int64_t>(noise_.steps(), 1, kRemembered);
  stats.sqr = std::max(stats.sqr, stats.var / static_cast<double>(remembered));
  return stats;
}

std::string BatchAdapter::text() const {
  const cluster::NoiseScale::Known known = noise_.known();
  return nlohmann::json{real_json(known.sums.front().sqr), real_json(known.sums.front().var), real_json(known.weight),
                        known.steps}
      .dump();
}

Result<void> BatchAdapter::restore(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto real = [&](std::size_t i) {
    return json.is_array() && json.size() == 4 ? real_of(json[i]) : std::nullopt;
  };
  const auto sqr = real(0), var = real(1), weight = real(2);
  if (!sqr || !var || !weight || !json[3].is_number_integer() || json[3].get<std::int64_t>() < 0) {
    return Error{Code::kDataLoss, "checkpoint's 'noise' is not [number, number, number, count]: " + text, ""};
  }
  noise_.restore({.sums = {{*sqr, *var}}, .weight = *weight, .steps = json[3].get<std::int64_t>(), .biased = false});
  return {};
}

}  // namespace lanista::train
