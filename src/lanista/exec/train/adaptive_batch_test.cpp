// A trial that measures its gradient noise: the measurement changes nothing and is right. Its effect is the same for
// all lanes, chunks and resumptions, and in playback.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/tuning/tuner.h"
#include "support/exec/train/recipe.h"
#include "support/exec/train/test_support.h"
#include "support/exec/train/train_to_end.h"

namespace lanista::train {
namespace {

using testing::Trained;

study::PluginConfig adaptive_to(std::int64_t most) { return {std::string(study::kAdaptive), {{"most", most}}}; }

TrainerInput adaptive_trial(std::int64_t from, std::int64_t most, const std::string& middle = "relu") {
  study::Recipe recipe = basic_recipe("sgd", "cosine", 5, from, 0.05);
  recipe.momentum = 0.9;
  recipe.beta2 = 0.99;
  recipe.eps = 1e-3;
  recipe.tune = adaptive_to(most);
  return digits_trial(
      *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=12)\n%3 = " + middle +
                    "(%2)\n%4 = dropout(%3, p=0.1)\n%5 = linear(%4, out=10)\n%6 = output(%5)\n"),
      recipe);
}

const auto kNothing = [](LaneGroup&, TrialRun&) {};

Trained train(const TrainerInput& input, std::int64_t lanes = 1, const std::function<bool(std::int64_t)>& cut = {}) {
  return testing::train_to_end(input, lanes, kNothing, cut);
}

void expect_same(const Trained& a, const Trained& b) {
  EXPECT_EQ(a.state.tensors, b.state.tensors);
  EXPECT_EQ(a.state.facts, b.state.facts);
}

/// The recorded changes of the batch.
std::vector<study::Branch> changes(const Trained& trained) {
  std::vector<study::Branch> out;
  for (const study::Measurement& measurement : trained.measurements) {
    if (const study::Branch* adapted = study::batch_change_before(measurement)) out.push_back(*adapted);
  }
  return out;
}

TEST(Adaptive, MatchesPlainTrialWhenNoChangeIsAllowed) {
  Rng rng(17);
  const char* const optimizers[] = {"sgd", "adam", "adamw", "lion", "rmsprop"};
  const char* const middles[] = {"relu", "batch_norm"};
  for (int i = 0; i < 24; ++i) {
    TrainerInput input = adaptive_trial(rng.between(7, 60), 0, middles[i % 2]);
    input.recipe.epochs = 4;
    input.recipe.optimizer = optimizers[i % 5];
    input.recipe.lr = i % 5 == 0 ? 0.05 : 1e-3;
    input.recipe.shards = rng.between(1, 3);
    input.recipe.accumulate = rng.between(1, 2);
    input.recipe.precision = rng.bernoulli(0.3) ? "float64" : "float32";
    input.recipe.clip_norm = rng.bernoulli(0.5) ? 0.5 : 0;
    input.recipe.label_smoothing = rng.bernoulli(0.5) ? 0.1 : 0;
    if (rng.bernoulli(0.3)) input.recipe.augment = {{"noise", {{"std", 0.1}}}};
    TrainerInput plain = input;
    plain.recipe.tune = {};
    input.recipe.tune = adaptive_to(input.recipe.batch);
    SCOPED_TRACE(input.recipe.optimizer + " " + std::to_string(input.recipe.batch));

    const Trained watched = train(input), unwatched = train(plain);

    EXPECT_EQ(watched.state.tensors, unwatched.state.tensors);
    for (std::size_t e = 0; e < watched.measurements.size(); ++e) {
      EXPECT_EQ(watched.measurements[e].metrics, unwatched.measurements[e].metrics);
      EXPECT_TRUE(watched.measurements[e].branches.empty());
    }
    TrialRun run = *TrialRun::create(input);
    ASSERT_TRUE(run.restore(watched.state));
    const std::int64_t steps = watched.measurements.back().step;
    const std::int64_t measured = run.settings().adapter()->noise().steps(),
                       most = steps / BatchAdapter::kStepsPerMeasurement;
    EXPECT_LE(measured, most);
    EXPECT_GE(measured, most - 1) << "and it did measure, but for an update of too few rows";
  }
}

constexpr std::size_t kIn = 64, kOut = 10, kNumbers = kOut * (kIn + 1);

/// Gradients of a softmax regression, a row each, in double: d (x, 1) with d what is predicted less what is.
std::vector<std::vector<double>> gradients_of_rows(const std::vector<Tensor>& state) {
  const auto named = [&](const std::string& name) {
    return elements_of<float>(*std::ranges::find(state, name, &Tensor::name));
  };
  const auto weight = named("n2.weight"), bias = named("n2.bias");
  std::vector<std::vector<double>> out;
  BatchBuffers buffers(1, digits().spec());
  for (const std::int64_t row : digits().rows(data::Part::kTrain)) {
    const program::Batch one = buffers.fill(digits(), std::span(&row, 1));
    std::vector<double> x(one.features.begin(), one.features.end()), y(kOut);
    x.push_back(1);
    double sum = 0;
    for (std::size_t k = 0; k < kOut; ++k) {
      double logit = static_cast<double>(bias[k]);
      for (std::size_t i = 0; i < kIn; ++i) logit += static_cast<double>(weight[k * kIn + i]) * x[i];
      sum += y[k] = std::exp(logit);
    }
    std::vector<double>& gradient = out.emplace_back();
    for (std::size_t k = 0; k < kOut; ++k) {
      const double d = y[k] / sum - (one.labels[0] == static_cast<std::int32_t>(k) ? 1 : 0);
      for (const double each : x) gradient.push_back(d * each);
    }
  }
  return out;
}

double square_of(const std::vector<double>& all) {
  double sum = 0;
  for (const double each : all) sum += each * each;
  return sum;
}

// Weights are constant, so every measurement samples the same distribution. Rows are sampled without replacement: the
// estimate of |g|^2 is that of the population, the trace below is that over the rows around their own mean.
TEST(Adaptive, MeasuresGradientNoiseAndGoodput) {
  for (const std::int64_t from : {16, 64}) {
    TrainerInput input = adaptive_trial(from, from);
    input.model =
        *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=10)\n%3 = output(%2)\n");
    input.recipe.lr = 0;
    input.recipe.epochs = 60;
    input.recipe.steps_per_epoch = 3000;  // 75 measurements, of which the average remembers some twenty-five
    auto group = LaneGroup::create(input, 1);
    TrialRun run = *TrialRun::create(input);
    ASSERT_TRUE(group->admit(run));
    const auto rows = gradients_of_rows(run.save().tensors);
    std::vector<double> sqr, var;
    TrialRun* one = &run;
    while (run.progress().epochs_done() < input.recipe.epochs) {
      StepResult end;
      while (!end.epoch_ended) group->advance({&one, 1}, 1000, {&end, 1});
      sqr.push_back(run.settings().adapter()->noise().total().sqr);
      var.push_back(run.settings().adapter()->noise().total().var);
    }
    const auto count = static_cast<double>(rows.size());
    std::vector<double> mean(kNumbers);
    double squares = 0;
    for (const auto& row : rows) {
      squares += square_of(row) / count;
      for (std::size_t i = 0; i < kNumbers; ++i) mean[i] += row[i] / count;
    }
    const double trace = (squares - square_of(mean)) * count / (count - 1);
    const auto mean_of = [](const std::vector<double>& seen) {
      double sum = 0;
      for (const double x : seen) sum += x / static_cast<double>(seen.size());
      return sum;
    };
    const auto expect_near = [&](const std::vector<double>& seen, double wanted) {
      double spread = 0;
      for (const double x : seen) spread += (x - mean_of(seen)) * (x - mean_of(seen));
      const double error = std::sqrt(spread / static_cast<double>((seen.size() - 1) * seen.size()));
      EXPECT_LT(std::abs(mean_of(seen) - wanted), 4 * error) << mean_of(seen) << " for " << wanted;
      EXPECT_LT(error, 0.02 * wanted) << "the test sees something";
    };
    expect_near(sqr, square_of(mean) - trace / count);
    expect_near(var, trace / static_cast<double>(from));

    // The gain of a batch is |g|^2 of first batches / |g|^2 of its own, here from sampled batches.
    Rng rng(31);
    const auto mean_square = [&](std::int64_t batch) {
      double sum = 0;
      constexpr int kSamples = 400;
      for (int sample = 0; sample < kSamples; ++sample) {
        std::vector<double> g(kNumbers);
        for (std::int64_t i = 0; i < batch; ++i) {
          const auto& row = rows[static_cast<std::size_t>(rng.between(0, std::ssize(rows) - 1))];
          for (std::size_t k = 0; k < kNumbers; ++k) g[k] += row[k] / static_cast<double>(batch);
        }
        sum += square_of(g) / kSamples;
      }
      return sum;
    };
    const double first = mean_square(from);
    double least = 1;
    for (const std::int64_t scale : {2, 4, 8, 16, 32}) {
      const double s = static_cast<double>(scale), seen = first / mean_square(scale * from) / s;
      const double predicted = goodput::efficiency_of({mean_of(sqr), mean_of(var)}, s);
      EXPECT_NEAR(predicted, seen, 0.1 * seen) << scale * from;
      least = std::min(least, seen);
    }
    EXPECT_LT(least, 0.5) << "larger batches gain less, by a known factor";
  }
}

TrainerInput changing_trial(const std::string& optimizer = "sgd") {
  TrainerInput input = adaptive_trial(4, 64);
  input.recipe.optimizer = optimizer;
  input.recipe.lr = optimizer == "sgd" ? 0.02 : 2e-3;
  input.recipe.steps_per_epoch = 37;  // neither updates nor what is measured end with epochs
  input.recipe.epochs = 19;
  return input;
}

TEST(Adaptive, GivesSameBitsInAnyLaneFromAnyStepAndOnReplay) {
  for (const std::string optimizer : {"sgd", "adam"}) {
    SCOPED_TRACE(optimizer);
    const TrainerInput input = changing_trial(optimizer);
    const Trained alone = train(input);
    ASSERT_GE(changes(alone).size(), 1U);
    EXPECT_EQ(alone.measurements.back().step, 19 * 37) << "steps are those of the first batch";

    expect_same(alone, train(input, 3));
    expect_same(alone, train(input, 1, [](std::int64_t) { return true; }));
    Rng rng(5);
    expect_same(alone, train(input, 2, [&](std::int64_t) { return rng.bernoulli(0.2); }));
    TrainerInput again = input;
    again.recipe.tune = study::replay_schedule(study::schedule_of(alone.measurements));
    const Trained played = train(again);
    EXPECT_EQ(played.state.tensors, alone.state.tensors);
    for (std::size_t i = 0; i < played.measurements.size(); ++i) {
      EXPECT_EQ(played.measurements[i].metrics, alone.measurements[i].metrics);
    }
  }
}

TEST(Adaptive, RecordsItsChangesAndContinuesWithThem) {
  const TrainerInput input = changing_trial();
  const Trained alone = train(input);
  std::int64_t before = input.recipe.batch;
  for (const study::Branch& change : changes(alone)) {
    EXPECT_TRUE(change.kept);
    EXPECT_EQ(change.steps, 0);
    EXPECT_GE(change.step, BatchAdapter::kMinMeasurements * BatchAdapter::kStepsPerMeasurement);
    EXPECT_EQ(change.step % 37, 0) << "where an epoch begins";
    EXPECT_GT(change.speed, 1);
    const auto batch = std::get<std::int64_t>(change.setting.at("batch"));
    EXPECT_NE(batch, before);
    EXPECT_LE(batch, 64);
    const double factor = std::get<double>(change.setting.at("lr")) / input.recipe.lr;
    EXPECT_GE(factor, 1);  // AdaScale's gain
    EXPECT_LE(factor, static_cast<double>(batch / input.recipe.batch));
    before = batch;
  }
  TrialRun run = *TrialRun::create(input);
  ASSERT_TRUE(run.restore(alone.state));
  EXPECT_EQ(run.recipe().batch, before);
}

// Runs at different steps are measured in different updates of one group, in chunks of random sizes.
TEST(Adaptive, DoesNotDependOnOtherLanesOrChunks) {
  std::vector<TrainerInput> inputs;
  for (std::uint32_t i = 0; i < 4; ++i) {
    inputs.push_back(changing_trial());
    inputs.back().trial = TrialId{i + 1};
    inputs.back().trial_seed = i;
    inputs.back().data_seed = 20 + i / 2;
    inputs.back().recipe.lr = 0.01 * (i + 1);
  }
  std::vector<Trained> alone;
  for (const TrainerInput& input : inputs) alone.push_back(train(input));

  Rng rng(2);
  auto group = LaneGroup::create(inputs[0], 3);
  std::vector<TrialRun> runs;
  for (const TrainerInput& input : inputs) {
    runs.push_back(*TrialRun::create(input));
    ASSERT_TRUE(group->admit(runs.back()));
  }
  while (true) {
    std::vector<TrialRun*> left, now;
    for (TrialRun& run : runs) {
      if (run.progress().epochs_done() < run.recipe().epochs) left.push_back(&run);
    }
    if (left.empty()) break;
    for (TrialRun* run : left) {
      if (now.size() < 3 && (now.empty() || rng.bernoulli(0.6))) now.push_back(run);
    }
    std::vector<StepResult> ends(now.size());
    group->advance(now, rng.between(1, 40), ends);
    for (const StepResult& end : ends) EXPECT_EQ(end.failure, "");
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].save().tensors, alone[i].state.tensors) << i;
    EXPECT_EQ(runs[i].save().facts, alone[i].state.facts) << i;
  }
}

TEST(Adaptive, RefusesStatesItCannotResumeFrom) {
  TrainerInput input = changing_trial();
  TrialRun run = *TrialRun::create(input);
  auto group = LaneGroup::create(input, 1);
  ASSERT_TRUE(group->admit(run));
  TrainerState broken = run.save();
  broken.facts["noise"] = "no list";
  EXPECT_EQ(run.restore(broken).error().code, Code::kDataLoss);
  broken.facts.erase("noise");
  EXPECT_EQ(run.restore(broken).error().code, Code::kDataLoss);
  input.recipe.tune = adaptive_to(48);
  EXPECT_EQ(TrialRun::create(input).error().where, "data.batch");
  input.recipe.tune = adaptive_to(64);
  input.recipe.select = {"selective", {{"beta", 1}}};
  EXPECT_EQ(TrialRun::create(input).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace lanista::train
