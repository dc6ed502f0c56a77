// Losses of samples and sums of metrics without a step, against formulas written here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "lanista/base/rng.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/loss.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

/// A sample: its prediction and its target.
struct Sample {
  std::vector<double> prediction;
  std::int32_t label = -1;
  std::vector<double> target;
  std::vector<std::int32_t> labels = {};  ///< of every position
};

double cross_entropy_of(const Sample& s, double smoothing) {
  const double most = *std::ranges::max_element(s.prediction);
  long double sum = 0, all = 0;
  for (const double z : s.prediction) {
    sum += std::exp(static_cast<long double>(z) - most);
    all += z;
  }
  const long double own = s.prediction[static_cast<std::size_t>(s.label)];
  const long double mean = all / static_cast<long double>(s.prediction.size());
  return static_cast<double>(most + std::log(sum) - (1 - static_cast<long double>(smoothing)) * own -
                             static_cast<long double>(smoothing) * mean);
}

double focal_of(const Sample& s, double smoothing) {
  long double odds = 0, sum = 0;
  for (const double z : s.prediction) odds += std::exp(static_cast<long double>(z));
  for (std::size_t k = 0; k < s.prediction.size(); ++k) {
    const long double log_p = s.prediction[k] - std::log(odds);
    const long double share = static_cast<long double>(smoothing) / static_cast<long double>(s.prediction.size()) +
                              (k == static_cast<std::size_t>(s.label) ? 1 - static_cast<long double>(smoothing) : 0);
    sum -= share * (1 - std::exp(log_p)) * (1 - std::exp(log_p)) * log_p;
  }
  return static_cast<double>(sum);
}

/// The mean of minus the logarithm of the probability of the true label.
double bce_of(const Sample& s, double) {
  long double sum = 0;
  for (std::size_t i = 0; i < s.target.size(); ++i) {
    const long double x = s.target[i] == 1 ? s.prediction[i] : -s.prediction[i];
    sum += std::log1p(std::exp(-x));
  }
  return static_cast<double>(sum / static_cast<long double>(s.target.size()));
}

using Formula = std::function<double(const Sample&, double smoothing)>;

/// The mean of `error` over the errors of a sample.
Formula mean_of(long double (*error)(long double)) {
  return [error](const Sample& s, double) {
    long double sum = 0;
    for (std::size_t i = 0; i < s.target.size(); ++i) {
      sum += error(static_cast<long double>(s.prediction[i]) - s.target[i]);
    }
    return static_cast<double>(sum / static_cast<long double>(s.target.size()));
  };
}

const std::map<std::string, Formula>& formulas() {
  static const std::map<std::string, Formula> all{
      {"cross_entropy", cross_entropy_of},
      {"focal", focal_of},
      {"mse", mean_of([](long double d) { return d * d; })},
      {"mae", mean_of([](long double d) { return std::abs(d); })},
      {"huber", mean_of([](long double d) { return std::abs(d) <= 1 ? d * d / 2 : std::abs(d) - 0.5L; })},
      {"bce", bce_of}};
  return all;
}

std::vector<Sample> samples_of(Program& program, std::int64_t lane, const OwnedBatch& batch) {
  const auto width = static_cast<std::size_t>(program.prediction_size());
  std::vector<double> all(static_cast<std::size_t>(batch.size) * width);
  program.predict(lane, batch.view(), std::span<double>(all));
  std::vector<Sample> samples(static_cast<std::size_t>(batch.size));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto row = [i, width](const auto& from) {
      return std::vector<double>(from.begin() + static_cast<std::ptrdiff_t>(i * width),
                                 from.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    };
    samples[i].prediction = row(all);
    if (batch.labels.empty()) {
      samples[i].target = row(batch.targets);
    } else {
      const auto each = static_cast<std::ptrdiff_t>(batch.labels.size() / samples.size());
      const auto first = batch.labels.begin() + static_cast<std::ptrdiff_t>(i) * each;
      samples[i].labels.assign(first, first + each);
      samples[i].label = samples[i].labels.front();
    }
  }
  return samples;
}

/// By the formula for one label, of each position's part of the prediction.
double mean_over_positions(const Formula& formula, const Sample& s, double smoothing) {
  if (s.labels.size() < 2) return formula(s, smoothing);
  const std::size_t classes = s.prediction.size() / s.labels.size();
  long double sum = 0;
  for (std::size_t k = 0; k < s.labels.size(); ++k) {
    Sample one;
    one.label = s.labels[k];
    const auto first = s.prediction.begin() + static_cast<std::ptrdiff_t>(k * classes);
    one.prediction.assign(first, first + static_cast<std::ptrdiff_t>(classes));
    sum += formula(one, smoothing);
  }
  return static_cast<double>(sum / static_cast<long double>(s.labels.size()));
}

/// Returns true if the model has neither masks nor batch statistics. Then a step's forward pass is that of a
/// prediction.
bool has_one_mode(const Derived& derived) {
  return std::ranges::none_of(derived.model.nodes(), [](const auto& node) {
    return node->op == "dropout" || node->op == "batch_norm" || node->op == "attention";
  });
}

class SampleLosses : public ::testing::TestWithParam<TestModel> {};

TEST_P(SampleLosses, MatchFormulaAndAverageToTheStepLoss) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Rng rng = Rng(seed).split(GetParam().name);
    const Derived derived = derive(GetParam());
    const Precision precision = rng.bernoulli(0.5) ? Precision::kFloat32 : Precision::kFloat64;
    const std::int64_t n = rng.between(2, 9), lanes = rng.between(1, 3);
    Program program = compile(
        derived,
        {.lanes = lanes, .max_batch = n + rng.between(0, 3), .shards = rng.between(1, 2), .precision = precision});
    const std::int64_t lane = rng.between(0, lanes - 1);
    program.initialise(lane, seed + 1);
    const OwnedBatch batch = random_batch(derived, n, seed);
    const double smoothing = rng.bernoulli(0.5) ? 0 : rng.uniform(0.05, 0.5);
    const std::vector<Tensor> before = program.extract(lane);
    std::vector<double> losses(static_cast<std::size_t>(n));

    program.losses(lane, batch.view(), smoothing, losses);

    const auto& formula = formulas().at(derived.train.options.loss);
    const std::vector<Sample> samples = samples_of(program, lane, batch);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const double wanted = mean_over_positions(formula, samples[i], smoothing);
      double largest = 1;
      for (const double z : samples[i].prediction) largest = std::max(largest, std::abs(z));
      EXPECT_NEAR(losses[i], wanted, 1e-14 * std::max(std::abs(wanted), largest)) << i;
    }
    EXPECT_TRUE(program.extract(lane) == before) << "nothing is changed";

    if (!has_one_mode(derived)) continue;
    const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(n);
    std::vector<std::uint8_t> active(static_cast<std::size_t>(lanes), 0);
    active[static_cast<std::size_t>(lane)] = 1;
    std::vector<LaneHyper> hyper(active.size(), {.label_smoothing = smoothing});
    std::vector<double> losses_of_step(active.size());
    const Batch view = batch.view();
    program.train_step({&view, 1}, hyper, active, losses_of_step);
    const double rounding = precision == Precision::kFloat64 ? 1e-13 : 2e-6;
    EXPECT_NEAR(mean, losses_of_step[static_cast<std::size_t>(lane)], rounding * std::max(1.0, std::abs(mean)));
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, SampleLosses, ::testing::ValuesIn(operator_models()),
                         [](const auto& suite) { return suite.param.name; });

TEST(SampleLosses, CoverEveryLossWithAModel) {
  const std::vector<TestModel> models = operator_models();
  for (const autodiff::Loss& loss : autodiff::losses()) {
    EXPECT_TRUE(formulas().contains(loss.name)) << loss.name;
    EXPECT_TRUE(std::ranges::any_of(models, [&](const TestModel& model) { return model.loss == loss.name; }))
        << loss.name;
  }
}

TEST(SampleLosses, RejectInputsThatAreTooShort) {
  const Derived derived = derive(small_mlp());
  Program program = compile(derived, {.max_batch = 4});
  OwnedBatch batch = random_batch(derived, 4, 1);
  std::vector<double> losses(4);
  batch.labels[2] = 10;
  EXPECT_ANY_THROW(program.losses(0, batch.view(), 0, losses));
  batch.labels.pop_back();
  EXPECT_ANY_THROW(program.losses(0, batch.view(), 0, losses));
  std::vector<double> few(3);
  EXPECT_ANY_THROW(program.losses(0, random_batch(derived, 4, 1).view(), 0, few));
  auto predicts = Program::compile(derived.infer, {.max_batch = 4});
  ASSERT_TRUE(predicts);
  ASSERT_TRUE(predicts->begin(0, 1));
  EXPECT_ANY_THROW(predicts->losses(0, random_batch(derived, 4, 1).view(), 0, losses)) << "it has no loss";
}

// Several lanes over several batches, the last one short. Each lane requests other metrics.
TEST(Evaluate, SumsRequestedMetricsOverAllBatches) {
  for (const std::string name : {"linear", "mse"}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Rng rng = Rng(seed).split(name);
      TestModel model = small_mlp();
      if (name == "mse") model.loss = "mse";
      const Derived derived = derive(model);
      const bool classes = model.loss == "cross_entropy";
      Program program = compile_empty(derived, {.lanes = 4, .max_batch = 7});
      for (const std::int64_t lane : {0, 2, 3}) ASSERT_TRUE(program.begin(lane, rng.next()));
      std::vector<OwnedBatch> batches;
      for (const std::int64_t size : {7, 7, 3}) batches.push_back(random_batch(derived, size, rng.next()));
      const SampleSum absolute_error{SampleSum::Of::kAbsoluteError, 0};
      const auto top = [](double k) { return SampleSum{SampleSum::Of::kTop, k}; };
      const Metrics one{model.loss, {classes ? top(1) : absolute_error}};
      const Metrics three{model.loss, classes ? std::vector{top(3), top(1), top(5)} : std::vector<SampleSum>{}};
      std::vector<LaneMetrics> lanes{{.lane = 3, .requested = &one}, {.lane = 0, .requested = &three}};

      std::size_t next = 0;
      Batch view;
      program.evaluate(
          [&]() -> const Batch* {
            if (next == batches.size()) return nullptr;
            view = batches[next++].view();
            return &view;
          },
          lanes);

      for (const LaneMetrics& each : lanes) {
        EXPECT_EQ(each.sums.samples, 17);
        double loss = 0;
        std::vector<double> of(each.requested->sums.size(), 0.0);
        for (const OwnedBatch& batch : batches) {
          std::vector<double> losses(static_cast<std::size_t>(batch.size));
          program.losses(each.lane, batch.view(), 0, losses);
          for (const double one_loss : losses) loss += one_loss;
          for (const Sample& s : samples_of(program, each.lane, batch)) {
            for (std::size_t m = 0; m < of.size(); ++m) {
              if (classes) {
                auto order = s.prediction;
                std::ranges::sort(order, std::greater());
                const double own = s.prediction[static_cast<std::size_t>(s.label)];
                of[m] += own >= order[static_cast<std::size_t>(each.requested->sums[m].number - 1)] ? 1 : 0;
              } else {
                double absolute = 0;
                for (std::size_t i = 0; i < s.target.size(); ++i) absolute += std::abs(s.prediction[i] - s.target[i]);
                of[m] += absolute / static_cast<double>(s.target.size());
              }
            }
          }
        }
        EXPECT_EQ(each.sums.loss, loss) << "the same sum in the same order";
        for (std::size_t m = 0; m < of.size(); ++m) EXPECT_NEAR(each.sums.of[m], of[m], 1e-12 * of[m]);
      }
    }
  }
}

}  // namespace
}  // namespace lanista::program
