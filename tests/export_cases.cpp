#include "export_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "oracle/cases.h"
#include "random_models.h"
#include "support/engine/local/onnx_cases.h"

namespace lanista::testing {
namespace {

constexpr double kTolerance = 1e-5;
constexpr double kMargin = 8;
constexpr double kHalfUnit = 0x1p-24;

template <class T>
T must(Result<T> result) {
  LANISTA_CHECK(result.ok(), result ? "" : result.error().text());
  return *std::move(result);
}

/// A compiled model at one precision.
class Computed {
 public:
  Computed(const graph::Graph& graph, Precision precision) : precision_(precision) {
    const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
    const auto train = must(autodiff::derive_training_step(graph, {.loss = "mse"}, ops));
    const auto infer = must(autodiff::derive_inference_step(graph, ops));
    program_.push_back(must(program::Program::compile(train, infer, {.max_batch = 8, .precision = precision})));
    must_hold(program_[0].begin(0, 1));
  }

  /// Returns predictions. With `noise`, weights and features change by up to half a unit in the last place.
  std::vector<double> predict(const std::vector<Tensor>& weights, const Tensor& x, Rng* noise = nullptr) {
    const auto moved = [&](float value) {
      const double by = noise == nullptr ? 0 : kHalfUnit * noise->uniform(-1, 1);
      return static_cast<double>(value) * (1 + by);
    };
    std::vector<Tensor> state = program_[0].extract(0);
    for (const Tensor& weight : weights) {
      const auto found = std::ranges::find(state, weight.name, &Tensor::name);
      LANISTA_CHECK(found != state.end(), "no state " + weight.name);
      const auto from = elements_of<float>(weight);
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (precision_ == Precision::kFloat64) {
          elements_of<double>(*found)[i] = moved(from[i]);
        } else {
          elements_of<float>(*found)[i] = from[i];
        }
      }
    }
    must_hold(program_[0].insert(0, state));
    const std::int64_t n = x.shape.front();
    const std::vector<std::int64_t> rows(static_cast<std::size_t>(n), 0);
    const program::Batch batch{
        .size = n, .features = elements_of<float>(x), .labels = {}, .targets = {}, .sample_index = rows};
    std::vector<double> y(static_cast<std::size_t>(n * program_[0].prediction_size()));
    if (precision_ == Precision::kFloat64) {
      program_[0].predict(0, batch, std::span(y));
    } else {
      std::vector<float> single(y.size());
      program_[0].predict(0, batch, std::span(single));
      std::ranges::copy(single, y.begin());
    }
    return y;
  }

 private:
  static void must_hold(const Result<void>& result) { LANISTA_CHECK(result.ok(), result ? "" : result.error().text()); }

  Precision precision_;
  std::vector<program::Program> program_;
};

/// Returns the export case of an oracle case, with its result and tolerance.
ExportCase completed(oracle::Case oracle_case) {
  auto made = runtime::testing::make_case(std::move(oracle_case.origin), std::move(oracle_case.model));
  ExportCase one{.name = std::move(made.name),
                 .graph = std::move(made.graph),
                 .weights = std::move(made.weights),
                 .x = std::move(made.x),
                 .shape = {},
                 .y = {}};
  const graph::OpTable ops = graph::builtin_ops();
  Rng features = Rng(13).split(one.name);
  const auto x = random_features(features, one.graph, ops, one.x.shape.front());
  std::ranges::copy(x, elements_of<float>(one.x).begin());
  const auto types = must(graph::infer_shapes(one.graph, ops));
  one.shape = types.at({one.graph.nodes_of("output").front(), 0}).shape.dims;
  one.shape.front() = one.x.shape.front();

  Computed exact(one.graph, Precision::kFloat64);
  one.y = exact.predict(one.weights, one.x);
  double moved = distance(computed(one.graph, one.weights, one.x, Precision::kFloat32), one.y);
  Rng noise = Rng(17).split(one.name);
  for (int i = 0; i < 3; ++i) moved = std::max(moved, distance(exact.predict(one.weights, one.x, &noise), one.y));
  one.tolerance = std::max(kTolerance, kMargin * moved);
  one.is_ill_conditioned = one.tolerance > kTolerance;
  return one;
}

std::vector<ExportCase> completed(std::vector<oracle::Case> cases) {
  std::vector<ExportCase> all;
  for (oracle::Case& one : cases) all.push_back(completed(std::move(one)));
  return all;
}

}  // namespace

ExportCase random_case(std::uint64_t i) { return completed(oracle::random_case(i)); }

std::vector<ExportCase> mutated_cases(std::uint64_t count) { return completed(oracle::mutated_cases(count, 0)); }

std::vector<ExportCase> published_cases(std::uint64_t each) { return completed(oracle::published_cases(each, 0)); }

std::vector<double> computed(const graph::Graph& graph, const std::vector<Tensor>& weights, const Tensor& x,
                             Precision precision) {
  return Computed(graph, precision).predict(weights, x);
}

double distance(const std::vector<double>& seen, const std::vector<double>& y) {
  LANISTA_CHECK(seen.size() == y.size(), "results of two sizes");
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (seen[i] == y[i] || (std::isnan(seen[i]) && std::isnan(y[i]))) continue;
    const bool finite = std::isfinite(seen[i]) && std::isfinite(y[i]);
    worst = std::max(
        worst, finite ? std::abs(seen[i] - y[i]) / (1 + std::abs(y[i])) : std::numeric_limits<double>::infinity());
  }
  return worst;
}

}  // namespace lanista::testing
