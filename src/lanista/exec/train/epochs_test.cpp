// Epochs of a fixed number of steps, against a plain loop in double and against epochs of one pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numbers>
#include <optional>

#include "lanista/base/rng.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/data/stratified_order.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/tuning/tuner.h"
#include "support/exec/train/recipe.h"
#include "support/exec/train/test_support.h"

namespace lanista::train {
namespace {

const data::Dataset& blobs() {  // 50 rows to train on
  static const data::Dataset set =
      *data::open({.source = "synthetic:blobs?rows=72&classes=3&features=4&seed=1", .augment = {}, .class_weights = {}},
                  ".", real_file_system());
  return set;
}

study::Recipe plain_recipe() {
  study::Recipe recipe = basic_recipe("sgd", "constant", 3, 16, 0.1);
  recipe.precision = "float64";
  recipe.step_every = 1;
  return recipe;
}

TrainerInput linear_trial(study::Recipe recipe, std::uint32_t id = 1) {
  return {.trial = TrialId{id},
          .model = *graph::parse("%0 = input(shape=[4])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n"),
          .recipe = std::move(recipe),
          .metrics = {},
          .trial_seed = 5,
          .data_seed = 6,
          .data = &blobs(),
          .step_ops = &ops()};
}

std::vector<double> values_of(const TrainerState& state, const std::string& name) {
  for (const Tensor& tensor : state.tensors) {
    if (tensor.name != name) continue;
    const auto values = elements_of<double>(tensor);
    return {values.begin(), values.end()};
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

/// A softmax regression by plain gradient descent, row by row. Rows come from a queue that is filled again when empty.
/// In playback an update takes as many batches from the queue as its setting requires, until an epoch or a pass ends.
class PlainLoop {
 public:
  PlainLoop(const TrainerInput& input, std::vector<double> weight, std::vector<double> bias)
      : input_(input),
        augmenter_(*data::Augmenter::make(input.recipe.augment, input.data->spec())),
        weight_(std::move(weight)),
        bias_(std::move(bias)) {}

  void step() {
    const study::Recipe& recipe = input_.recipe;
    if (rows_.empty()) {
      ++pass_;
      const auto order = data::epoch_order(share(pass_), input_.data_seed, pass_);
      rows_.assign(order.begin(), order.end());
    }
    std::vector<std::int64_t> batch;
    const double lr = rate();
    bool over = false;
    for (std::int64_t wanted = batches(), taken = 0; taken < wanted && !over; ++taken) {
      if (rows_.empty() || (taken > 0 && a_setting_begins())) break;
      for (std::int64_t row = 0; row < recipe.batch && !rows_.empty(); ++row) {
        batch.push_back(rows_.front());
        rows_.pop_front();
      }
      ++step_;
      over = recipe.all_rows_at > 1 ? rows_.empty() : ++in_epoch_ == length() || step_ == recipe.steps;
    }
    std::vector<float> features(batch.size() * 4);
    augmenter_.gather(*input_.data, input_.data_seed, pass_, batch, features);
    std::vector<double> of_weight(12, 0), of_bias(3, 0);
    loss_ += descent(batch, features, of_weight, of_bias);
    seen_ += batch.size();
    for (std::size_t i = 0; i < 12; ++i) weight_[i] -= lr * of_weight[i];
    for (std::size_t i = 0; i < 3; ++i) bias_[i] -= lr * of_bias[i];
    if (!over) return;
    train_loss.push_back(loss_ / static_cast<double>(seen_));
    ends.push_back(step_);
    const auto& held_out = input_.data->rows(data::Part::kValidation);
    features.resize(held_out.size() * 4);
    input_.data->gather_features(held_out, features);
    val_loss.push_back(descent(held_out, features, of_weight, of_bias) / static_cast<double>(held_out.size()));
    in_epoch_ = 0;
    loss_ = 0;
    seen_ = 0;
  }

  const std::vector<double>& weight() const { return weight_; }
  const std::vector<double>& bias() const { return bias_; }
  std::int64_t steps() const { return step_; }
  std::vector<double> train_loss, val_loss;
  std::vector<std::int64_t> ends;

 private:
  /// The last value that the settings so far give for this; else `usual`.
  double setting(const char* name, double usual) const {
    const auto settings = input_.recipe.tune.options.find("settings");
    if (settings == input_.recipe.tune.options.end()) return usual;
    for (const auto& each : *settings) {
      if (each.at("step").get<std::int64_t>() <= step_) usual = each.value(name, usual);
    }
    return usual;
  }
  bool a_setting_begins() const {
    const auto settings = input_.recipe.tune.options.find("settings");
    if (settings == input_.recipe.tune.options.end()) return false;
    return std::ranges::any_of(*settings, [&](const auto& each) { return each.at("step") == step_; });
  }
  std::int64_t batches() const {
    const auto first = static_cast<double>(input_.recipe.batch);
    return static_cast<std::int64_t>(setting("batch", first) / first);
  }

  /// Rows of a pass: all, or in a growing training the first so many that make up its share.
  std::vector<std::int64_t> share(std::int64_t pass) const {
    const auto& all = input_.data->rows(data::Part::kTrain);
    const std::int64_t parts = input_.recipe.all_rows_at;
    if (pass + 1 >= parts) return all;
    std::int64_t count = 0;
    while (count * parts < (pass + 1) * std::ssize(all)) ++count;
    std::vector<std::int32_t> labels(static_cast<std::size_t>(input_.data->spec().rows));
    for (std::size_t row = 0; row < labels.size(); ++row) {
      const auto one = static_cast<std::int64_t>(row);
      input_.data->gather_labels({&one, 1}, {&labels[row], 1});
    }
    auto rows = data::stratified_order(all, labels, 3, input_.data_seed);
    rows.resize(static_cast<std::size_t>(count));
    return rows;
  }

  std::int64_t steps_of_pass(std::int64_t pass) const {
    std::int64_t steps = 0;
    for (std::int64_t left = std::ssize(share(pass)); left > 0; left -= input_.recipe.batch) ++steps;
    return steps;
  }

  std::int64_t length() const {
    if (input_.recipe.steps_per_epoch > 0) return input_.recipe.steps_per_epoch;
    std::int64_t steps = 0;
    for (auto left = std::ssize(input_.data->rows(data::Part::kTrain)); left > 0; left -= input_.recipe.batch) ++steps;
    return steps;
  }

  double rate() const {
    const study::Recipe& recipe = input_.recipe;
    const double lr = setting("lr", recipe.lr);
    if (recipe.all_rows_at > 1) return growing_rate();
    const double warm = std::floor(recipe.warmup_epochs * static_cast<double>(length()));
    const auto at = static_cast<double>(step_);
    if (at < warm) return lr * (at + 1) / (warm + 1);
    if (recipe.schedule == "constant") return lr;
    if (recipe.schedule == "step")
      return lr * std::pow(recipe.step_factor, std::floor(at / static_cast<double>(length())));
    const auto all = static_cast<double>(recipe.steps > 0 ? recipe.steps : recipe.epochs * length());
    return lr * 0.5 * (1 + std::cos(std::numbers::pi * (at - warm) / std::max(1.0, all - warm)));
  }

  /// The same by epochs that have as many steps as they happen to have.
  double growing_rate() const {
    const study::Recipe& recipe = input_.recipe;
    const double lr = setting("lr", recipe.lr);
    std::vector<std::int64_t> steps;
    for (std::int64_t e = 0; e < recipe.epochs; ++e) steps.push_back(steps_of_pass(e));
    double warm = 0, all = 0, left = recipe.warmup_epochs;
    for (const std::int64_t each : steps) {
      warm += std::floor(std::clamp(left, 0.0, 1.0) * static_cast<double>(each));
      left -= 1;
      all += static_cast<double>(each);
    }
    const auto at = static_cast<double>(step_);
    if (at < warm) return lr * (at + 1) / (warm + 1);
    if (recipe.schedule == "constant") return lr;
    if (recipe.schedule == "step") return lr * std::pow(recipe.step_factor, static_cast<double>(ends.size()));
    return lr * 0.5 * (1 + std::cos(std::numbers::pi * (at - warm) / std::max(1.0, all - warm)));
  }

  /// The sum of the losses; the gradients of their mean.
  double descent(std::span<const std::int64_t> rows, std::span<const float> features, std::vector<double>& of_weight,
                 std::vector<double>& of_bias) const {
    std::vector<std::int32_t> labels(rows.size());
    input_.data->gather_labels(rows, labels);
    double loss = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::array<double, 3> odds{};
      double sum = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        double logit = bias_[c];
        for (std::size_t f = 0; f < 4; ++f) logit += weight_[4 * c + f] * static_cast<double>(features[4 * r + f]);
        sum += odds[c] = std::exp(logit);
      }
      const auto label = static_cast<std::size_t>(labels[r]);
      loss -= std::log(odds[label] / sum);
      for (std::size_t c = 0; c < 3; ++c) {
        const double slope = (odds[c] / sum - (c == label ? 1 : 0)) / static_cast<double>(rows.size());
        of_bias[c] += slope;
        for (std::size_t f = 0; f < 4; ++f) of_weight[4 * c + f] += slope * static_cast<double>(features[4 * r + f]);
      }
    }
    return loss;
  }

  TrainerInput input_;
  data::Augmenter augmenter_;
  std::vector<double> weight_, bias_;
  std::deque<std::int64_t> rows_;
  std::int64_t pass_ = -1, step_ = 0, in_epoch_ = 0;
  double loss_ = 0;
  std::size_t seen_ = 0;
};

void expect_near(const std::vector<double>& ours, const std::vector<double>& theirs, const char* what) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-11) << what << " " << i;
}

void expect_trained_plainly(const TrainerInput& input, const TrialRun& run, PlainLoop loop) {
  while (loop.steps() < run.progress().step_count()) loop.step();
  EXPECT_EQ(loop.steps(), run.progress().step_count());
  const TrainerState state = run.save();
  expect_near(values_of(state, "n1.weight"), loop.weight(), "weight");
  expect_near(values_of(state, "n1.bias"), loop.bias(), "bias");
  std::vector<double> train_loss, val_loss;
  std::vector<std::int64_t> ends;
  for (const study::Measurement& measurement : run.progress().measurements()) {
    EXPECT_EQ(measurement.epoch, std::ssize(ends) + 1);
    ends.push_back(measurement.step);
    train_loss.push_back(measurement.metrics.at("train_loss"));
    val_loss.push_back(measurement.metrics.at("val_loss"));
  }
  EXPECT_EQ(ends, loop.ends);
  expect_near(train_loss, loop.train_loss, "train_loss");
  expect_near(val_loss, loop.val_loss, "val_loss");
  EXPECT_EQ(run.progress().epochs_done(), input.recipe.epochs);
}

/// Epochs of one step to three passes, in batches of one row to more than all, with whatever schedule.
study::Recipe random_recipe(Rng& rng, std::int64_t batch) {
  study::Recipe recipe = plain_recipe();
  recipe.batch = batch;
  const std::int64_t pass = (50 + batch - 1) / batch;
  if (rng.bernoulli(0.85)) recipe.steps_per_epoch = rng.between(1, 3 * pass);
  recipe.epochs = rng.between(1, 5);
  const std::int64_t length = recipe.steps_per_epoch > 0 ? recipe.steps_per_epoch : pass;
  if (rng.bernoulli(0.5)) recipe.steps = rng.between((recipe.epochs - 1) * length + 1, recipe.epochs * length);
  recipe.schedule = std::array{"constant", "step", "cosine"}[rng.below(3)];
  recipe.step_factor = 0.5;
  if (rng.bernoulli(0.3)) recipe.warmup_epochs = rng.uniform(0.2, 1.5);
  if (rng.bernoulli(0.5)) recipe.augment = {{"noise", {{"std", 0.3}}}};
  return recipe;
}

/// Epochs that read a growing share of the rows.
study::Recipe growing_recipe(Rng& rng, std::int64_t batch) {
  study::Recipe recipe = random_recipe(rng, batch);
  recipe.steps_per_epoch = recipe.steps = 0;
  recipe.epochs = rng.between(2, 7);
  recipe.all_rows_at = rng.between(2, recipe.epochs);
  return recipe;
}

/// A recipe with changing batches and rates at any step; all reach the same largest batch.
study::Recipe played_recipe(Rng& rng, std::int64_t batch) {
  study::Recipe recipe = rng.bernoulli(0.8) ? random_recipe(rng, batch) : growing_recipe(rng, batch);
  std::vector<study::SettingAt> schedule;
  std::int64_t step = rng.between(0, 3);
  for (int i = 0; i < 4; ++i, step += rng.between(1, 12)) {
    schedule.push_back({step, {{"batch", static_cast<double>(batch * rng.between(1, 5))}}});
    if (rng.bernoulli(0.5)) schedule.back().setting["lr"] = rng.uniform(0.01, 0.2);
  }
  schedule.push_back({1'000'000, {{"batch", static_cast<double>(5 * batch)}}});
  recipe.tune = study::replay_schedule(schedule);
  return recipe;
}

// Trials with epochs of their own in the lanes of one group, in chunks of any size, parked and taken back on the way.
void train_as_a_plain_loop(study::Recipe (*make_recipe)(Rng&, std::int64_t), int seeds) {
  ASSERT_EQ(blobs().rows(data::Part::kTrain).size(), 50U);
  int parked = 0, inside_a_pass = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(static_cast<std::uint64_t>(seed));
    const std::int64_t batch = std::array<std::int64_t, 5>{1, 7, 16, 50, 80}[rng.below(5)];
    data::EpochCache cache(blobs(), 1 << 20, nullptr);
    std::vector<TrainerInput> inputs;
    std::vector<TrialRun> runs;
    std::vector<PlainLoop> loops;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      inputs.push_back(linear_trial(make_recipe(rng, batch), id));
      if (rng.bernoulli(0.5)) inputs.back().epochs = &cache;
      if (rng.bernoulli(0.3)) inputs.back().data_seed = rng.next();
      runs.push_back(*TrialRun::create(inputs.back()));
    }
    auto group = *LaneGroup::create(inputs.front(), 3);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      ASSERT_TRUE(group.admit(runs[i]));
      const TrainerState fresh = runs[i].save();
      loops.emplace_back(inputs[i], values_of(fresh, "n1.weight"), values_of(fresh, "n1.bias"));
    }
    while (true) {
      std::vector<TrialRun*> left;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].progress().epochs_done() < inputs[i].recipe.epochs) left.push_back(&runs[i]);
      }
      if (left.empty()) break;
      if (TrialRun& run = *left[rng.below(left.size())]; rng.bernoulli(0.3)) {
        const TrainerState saved = run.save();
        run.release();
        ASSERT_TRUE(run.restore(saved));
        ASSERT_TRUE(group.admit(run));
        ++parked;
        inside_a_pass += run.progress().step_count() % ((50 + batch - 1) / batch) != 0 ? 1 : 0;
      }
      std::vector<StepResult> ends(left.size());
      group.advance(left, rng.between(1, 12), ends);
      for (const StepResult& end : ends) ASSERT_EQ(end.failure, "");
    }
    for (std::size_t i = 0; i < runs.size(); ++i) expect_trained_plainly(inputs[i], runs[i], loops[i]);
  }
  EXPECT_GT(parked, 2 * seeds);
  EXPECT_GT(inside_a_pass, seeds * 4 / 3);
}

TEST(EpochsInSteps, MatchAPlainLoop) { train_as_a_plain_loop(random_recipe, 150); }
TEST(EpochsInSteps, MatchAPlainLoopWhenBatchesGrow) { train_as_a_plain_loop(played_recipe, 100); }
TEST(EpochsThatGrow, MatchAPlainLoop) { train_as_a_plain_loop(growing_recipe, 60); }

/// Of five steps a pass, the last one short.
TrainerInput random_trial(Rng rng) {
  study::Recipe recipe = plain_recipe();
  recipe.optimizer = autodiff::optimizers()[rng.below(autodiff::optimizers().size())].name;
  recipe.precision = rng.bernoulli(0.2) ? "float64" : "float32";
  recipe.schedule = std::array{"constant", "cosine"}[rng.below(2)];
  recipe.epochs = 4;
  recipe.batch = 300;
  recipe.lr = rng.uniform(0.001, 0.05);
  recipe.momentum = 0.9;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.99;
  recipe.eps = 1e-8;
  recipe.shards = rng.between(1, 2);
  recipe.accumulate = rng.between(1, 2);
  if (rng.bernoulli(0.5)) recipe.augment = {{"noise", {{"std", 0.1}}}};
  const std::string middle = std::array{"relu(%2)", "dropout(%2, p=0.3)", "batch_norm(%2)"}[rng.below(3)];
  return {.trial = TrialId{9},
          .model = *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=12)\n%3 = " +
                                 middle + "\n%4 = linear(%3, out=10)\n%5 = output(%4)\n"),
          .recipe = recipe,
          .metrics = {},
          .trial_seed = rng.next(),
          .data_seed = rng.next(),
          .data = &digits(),
          .step_ops = &ops()};
}

// Whatever the model, the optimiser and the parts: three steps of a third of the batch, read at once, are a step of it.
TEST(EpochsInSteps, OfALargerBatchMatchStepsOfThatBatch) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    TrainerInput large = random_trial(Rng(seed));
    large.recipe.schedule = "constant";
    TrainerInput grown = large;
    grown.recipe.batch = large.recipe.batch / 3;
    grown.recipe.tune = study::replay_schedule({{0, {{"batch", static_cast<double>(large.recipe.batch)}}}});
    auto one = *Trainer::create(large), other = *Trainer::create(grown);
    while (one.epochs_done() < large.recipe.epochs) one.step();
    while (other.epochs_done() < grown.recipe.epochs) other.step();

    EXPECT_EQ(other.save().tensors, one.save().tensors);
    for (std::size_t i = 0; i < one.measurements().size(); ++i) {
      EXPECT_EQ(other.measurements()[i].metrics, one.measurements()[i].metrics);
    }
  }
}

TEST(EpochsInSteps, OfOnePassMatchPlainEpochs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const TrainerInput plain = random_trial(Rng(seed));
    TrainerInput explicit_input = plain;
    explicit_input.recipe.steps_per_epoch = 5;
    if (seed % 2 == 0) explicit_input.recipe.steps = 20;
    auto one = *Trainer::create(plain), other = *Trainer::create(explicit_input);
    ASSERT_EQ(one.steps_per_epoch(), 5);
    for (int step = 0; step < 20; ++step) {
      ASSERT_EQ(one.step(), other.step()) << step;
      ASSERT_EQ(one.save().tensors, other.save().tensors) << step;
      ASSERT_EQ(one.save().facts, other.save().facts) << step;
    }
  }
}

// Any division into chunks gives the same steps, and a resumed run continues with the same bits.
TEST(EpochsInSteps, SplitTheSameTrainingAnywhere) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng(seed).split("cuts");
    TrainerInput cut = random_trial(Rng(seed));
    auto whole = *Trainer::create(cut);
    cut.recipe.steps_per_epoch = rng.between(1, 12);
    cut.recipe.steps = 20;
    cut.recipe.epochs = (20 + cut.recipe.steps_per_epoch - 1) / cut.recipe.steps_per_epoch;
    auto straight = *Trainer::create(cut);
    std::optional<Trainer> stumbling(*Trainer::create(cut));
    for (std::int64_t step = 1; step <= 20; ++step) {
      whole.step();
      const bool ended = straight.step();
      ASSERT_EQ(ended, step % cut.recipe.steps_per_epoch == 0 || step == 20) << step;
      ASSERT_EQ(stumbling->step(), ended);
      const TrainerState saved = stumbling->save();
      stumbling.emplace(*Trainer::create(cut));
      ASSERT_TRUE(stumbling->restore(saved)) << step;
      ASSERT_EQ(straight.save().tensors, whole.save().tensors) << step;
      ASSERT_EQ(stumbling->save().facts, straight.save().facts) << step;
    }
    EXPECT_EQ(stumbling->save().tensors, straight.save().tensors);
    EXPECT_EQ(straight.measurements().back().metrics.at("val_loss"),
              whole.measurements().back().metrics.at("val_loss"));
  }
}

TEST(EpochsInSteps, RefuseCheckpointsWithOtherEpochs) {
  TrainerInput input = linear_trial(plain_recipe());
  input.recipe.steps_per_epoch = 3;
  auto trainer = *Trainer::create(input);
  for (int i = 0; i < 6; ++i) trainer.step();
  const TrainerState saved = trainer.save();
  input.recipe.steps_per_epoch = 4;

  const auto restored = Trainer::create(input)->restore(saved);

  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().message, "checkpoint has 2 measurements at step 6 with 4 steps an epoch");
}

}  // namespace
}  // namespace lanista::train
