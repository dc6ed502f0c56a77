#include "bench/mltuner_tasks.h"

#include <cmath>
#include <utility>

#include "bench/warm_stream.h"
#include "lanista/base/file_system.h"
#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

constexpr const char* kCell =
    "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=8, kernel=[3,3], padding=[1])\n%2 = batch_norm(%1)\n%3 = relu(%2)\n"
    "%4 = conv2d(%3, out=8, kernel=[3,3], padding=[1])\n%5 = batch_norm(%4)\n%6 = conv2d(%3, out=8, kernel=[1,1])\n"
    "%7 = batch_norm(%6)\n%8 = add(%2, %5, %7)\n%9 = global_avg_pool(%8)\n%10 = linear(%9, out=10)\n%11 = "
    "output(%10)\n";

constexpr const char* kLine = "%0 = input(shape=[12])\n%1 = linear(%0, out=1)\n%2 = output(%1)\n";
constexpr double kTargetDistance = 1.01;  // target of a line over its least loss

/// A split with every fourth row in the validation part.
data::Split quarters(std::int64_t rows) {
  data::Split split;
  for (std::int64_t row = 0; row < rows; ++row) split[row % 4 == 0 ? 1 : 0].push_back(row);
  return split;
}

/// Token sequences of `kinds` classes. Each class has its own Markov chain.
Result<data::Dataset> chains(std::uint64_t seed, std::int64_t kinds, std::int64_t tokens) {
  constexpr std::int64_t kLength = 24, kRows = 1200;
  data::RawData raw;
  raw.spec.name = raw.spec.source = "chains";
  raw.spec.features = {{kLength}};
  raw.spec.vocab = tokens;
  raw.spec.classes = kinds;
  for (std::int64_t kind = 0; kind < kinds; ++kind) raw.spec.labels.emplace_back(1, static_cast<char>('a' + kind));
  Rng rng(seed);
  std::vector<std::vector<std::int64_t>> next(static_cast<std::size_t>(kinds * tokens));
  for (auto& choices : next) {
    for (int i = 0; i < 4; ++i) choices.push_back(rng.between(0, tokens - 1));
  }
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t kind = rng.between(0, kinds - 1);
    std::int64_t token = rng.between(0, tokens - 1);
    for (std::int64_t i = 0; i < kLength; ++i) {
      raw.features.push_back(static_cast<float>(token));
      const auto& choices = next[static_cast<std::size_t>(kind * tokens + token)];
      token = choices[rng.below(choices.size())];
    }
    raw.labels.push_back(static_cast<std::int32_t>(kind));
  }
  data::Split split = quarters(raw.rows());
  return data::Dataset::make(std::move(raw), std::move(split), "auto", "auto");
}

/// Rows with y = w . x + noise. The deviations of the features fall geometrically from 1 to `least`. `floor` is set to
/// the loss of w on the validation part.
Result<data::Dataset> noisy_line(std::uint64_t seed, double least, double& floor) {
  constexpr std::int64_t kFeatures = 12, kRows = 4000;
  data::RawData raw;
  raw.spec.name = raw.spec.source = "line";
  raw.spec.features = {{kFeatures}};
  Rng rng(seed);
  std::vector<double> weights;
  for (std::int64_t i = 0; i < kFeatures; ++i) weights.push_back(rng.bernoulli(0.5) ? 1 : -1);
  floor = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    double y = rng.normal();
    if (row % 4 == 0) floor += y * y * 4 / kRows;
    for (std::int64_t i = 0; i < kFeatures; ++i) {
      const double deviation = std::pow(least, static_cast<double>(i) / (kFeatures - 1));
      const double x = deviation * rng.normal();
      raw.features.push_back(static_cast<float>(x));
      y += weights[static_cast<std::size_t>(i)] / deviation * x;
    }
    raw.targets.push_back(static_cast<float>(y));
  }
  data::Split split = quarters(kRows);
  return data::Dataset::make(std::move(raw), std::move(split), "none", "raw");
}

Result<graph::Graph> base(const char* name, const data::Dataset& data) {
  const data::DataSpec& spec = data.spec();
  LANISTA_ASSIGN(auto model, mutate::builtin_base(name, spec.features, spec.classes, spec.vocab));
  return std::move(model.graph);
}

}  // namespace

Result<std::vector<TuneTask>> tune_tasks() {
  std::vector<TuneTask> tasks;
  const auto add = [&](const std::string& name, Result<data::Dataset> data, Result<graph::Graph> model,
                       double target) -> Result<void> {
    if (!data) return data.error();
    if (!model) return model.error();
    tasks.push_back({name, *std::move(data), *std::move(model)});
    tasks.back().target = target;
    return {};
  };
  const auto add_line = [&](const std::string& name, std::uint64_t seed, double least) -> Result<void> {
    double floor = 0;
    auto data = noisy_line(seed, least, floor);
    LANISTA_TRY(add(name, std::move(data), graph::parse(kLine), kTargetDistance * floor));
    tasks.back().loss = "mse";
    tasks.back().batch = 8;
    tasks.back().steps_per_epoch = 100;
    tasks.back().rate_changes = true;
    return {};
  };
  LANISTA_ASSIGN(auto digits, data::open({}, ".", real_file_system()));
  LANISTA_ASSIGN(auto text, chains(23, 4, 16));
  LANISTA_TRY(add("digits-cnn", digits, base("small-cnn", digits), 0.975));
  LANISTA_TRY(add("nb201-cell", digits, graph::parse(kCell), 0.885));
  LANISTA_TRY(add("transformer-tiny", text, base("small-transformer", text), 0.9));
  LANISTA_TRY(add_line("noisy-line", 31, 0.1));
  for (std::uint64_t other = 1; other <= 8; ++other) {
    LANISTA_TRY(add_line("noisy-line-" + std::to_string(other), 300 + other, 0.1));
  }

  const std::size_t reported = tasks.size();
  LANISTA_ASSIGN(auto glyphs, glyphs_task());
  LANISTA_ASSIGN(auto other_text, chains(57, 6, 12));
  LANISTA_TRY(add("dev-mlp", digits, base("small-mlp", digits), 0.97));
  LANISTA_TRY(add("dev-cnn", glyphs.data, base("small-cnn", glyphs.data), 0.75));
  LANISTA_TRY(add("dev-transformer", other_text, base("small-transformer", other_text), 0.845));
  LANISTA_TRY(add_line("dev-line", 77, 0.1));
  for (std::uint64_t other = 1; other <= 8; ++other) {
    LANISTA_TRY(add_line("dev-line-" + std::to_string(other), 200 + other, 0.1));
  }
  for (std::size_t i = reported; i < tasks.size(); ++i) tasks[i].reported = false;
  return tasks;
}

}  // namespace lanista::bench
