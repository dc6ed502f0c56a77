// Training on some of the examples: against a loop written here, and against equivalent runs.
#include "lanista/exec/train/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "lanista/base/rng.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/learning_rate.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/data/random_selector.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"
#include "support/exec/train/test_support.h"

namespace lanista::train {
namespace {

TrainerInput trial(std::uint32_t id, study::PluginConfig select) {
  // Thirteen steps a pass, the last one short.
  study::Recipe recipe = basic_recipe("sgd", "cosine", 4, 100, 0.1);
  recipe.momentum = 0.9;
  recipe.select = std::move(select);
  return {.trial = TrialId{id},
          .model =
              *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=24)\n%3 = relu(%2)\n"
                            "%4 = batch_norm(%3)\n%5 = dropout(%4, p=0.2)\n%6 = linear(%5, out=10)\n%7 = output(%6)\n"),
          .recipe = recipe,
          .metrics = {},
          .trial_seed = 100 + id,
          .data_seed = 12,
          .data = &digits(),
          .step_ops = &ops(),
          .selectors = data::selectors_with_random()};
}

const std::vector<study::PluginConfig>& selectors() {
  static const std::vector<study::PluginConfig> all{
      {"selective", {{"beta", 1}, {"warmup_epochs", 0}, {"history", 300}}},
      {"selective", {{"beta", 3}, {"stale", 2}, {"floor", 0}}},
      {"selective", {{"beta", 2}, {"from", 0.2}, {"until", 0.5}}},
      {"random", {{"keep", 0.05}, {"max_wait", 3}, {"clock", "trained"}}},
      {"random", {{"keep", 0.5}, {"interrupt", 3}}}};
  return all;
}

TEST(Selection, MatchesTrainingOnAllRowsWithoutExponent) {
  Trainer plain = *Trainer::create(trial(1, {}));
  Trainer same = *Trainer::create(trial(1, {"selective", {{"beta", 0}, {"warmup_epochs", 0}}}));
  for (std::int64_t i = 0; i < 3 * plain.steps_per_epoch(); ++i) {
    ASSERT_EQ(plain.step(), same.step());
    auto state = same.save().tensors;
    std::erase_if(state, Selection::is_selection_tensor);
    ASSERT_TRUE(plain.save().tensors == state) << i;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    auto metrics = same.measurements()[i].metrics;
    EXPECT_EQ(metrics.at("trained_rows"), static_cast<double>(digits().rows(data::Part::kTrain).size()));
    metrics.erase("trained_rows");
    EXPECT_EQ(plain.measurements()[i].metrics, metrics);
  }
}

// The queue's rules in another form: the rows of each update.
TEST(Selection, QueuesChosenRowsIntoBatchesOfOneSize) {
  Rng rng(9);
  for (int round = 0; round < 300; ++round) {
    study::Recipe recipe;
    recipe.batch = rng.between(1, 9);
    recipe.epochs = 6;
    const double keep = rng.uniform(0.02, 1);
    const std::int64_t warmup = rng.between(0, 2), interrupt = rng.between(0, 4), wait = rng.between(1, 5);
    recipe.select = {"random",
                     {{"keep", keep}, {"warmup_epochs", warmup}, {"interrupt", interrupt}, {"max_wait", wait}}};
    const std::uint64_t seed = rng.next();
    Selection selection = *Selection::make(recipe, {.seed = seed, .rows = 50}, data::selectors_with_random());
    const auto oracle = std::make_unique<data::RandomSelector>(keep, seed);
    std::deque<std::int64_t> waiting;
    std::int64_t since = 0, step = 0, total = 0;
    for (std::int64_t epoch = 0; epoch < 6; ++epoch) {
      selection.begin_epoch();
      std::int64_t in_epoch = 0;
      const auto order = rng.permutation(50);
      for (std::int64_t first = 0; first < 50; first += recipe.batch, ++step) {
        std::vector<std::int64_t> rows;
        for (std::int64_t i = first; i < std::min<std::int64_t>(50, first + recipe.batch); ++i) {
          rows.push_back(order[static_cast<std::size_t>(i)]);
        }
        const bool last = first + recipe.batch >= 50;
        const DataPosition place{.step = step, .epoch = epoch, .pass = epoch, .ends_pass = last};
        ASSERT_TRUE(selection.requested_positions(place, rows).empty());
        selection.add_batch(place, rows, {});
        selection.add_batch(place, rows, {});  // a step that is done once more
        const bool all = epoch < warmup || (interrupt > 0 && (step + 1) % interrupt == 0);
        std::vector<std::int64_t> left;
        for (const std::int64_t row : rows) {
          const std::int64_t one[] = {row};
          const bool chosen = all || !oracle->choose({epoch, one}, {}).empty();
          (chosen ? waiting : *std::make_unique<std::deque<std::int64_t>>()).push_back(row);
          if (!chosen) left.push_back(row);
        }
        ++since;
        while (since >= wait && std::ssize(waiting) < recipe.batch && !left.empty()) {
          waiting.push_back(left.front());
          left.erase(left.begin());
        }
        std::vector<std::int64_t> wanted;
        const bool trains = std::ssize(waiting) >= recipe.batch || (last && !waiting.empty());
        while (trains && std::ssize(wanted) < recipe.batch && !waiting.empty()) {
          wanted.push_back(waiting.front());
          waiting.pop_front();
        }
        const auto batch = selection.batch();
        ASSERT_EQ(std::vector<std::int64_t>(batch.begin(), batch.end()), wanted) << round << " " << step;
        if (trains) {
          since = 0;
          ++total;
          in_epoch += std::ssize(wanted);
        }
        selection.step_done();
      }
      ASSERT_EQ(selection.num_trained_rows(), in_epoch);
    }
    ASSERT_EQ(selection.num_trained_batches(), total);
  }
}

// The whole algorithm as a loop over a program, with a selector's answers and a queue of its own.
TEST(Selection, MatchesTheReferenceAlgorithm) {
  for (const study::PluginConfig& select : selectors()) {
    SCOPED_TRACE(select.name + select.options.dump());
    const TrainerInput input = trial(1, select);
    Trainer trainer = *Trainer::create(input);
    const auto settings = *data::resolve_selection_options(select, data::selectors_with_random());
    const auto chooser = *data::make_selector(select, {.seed = input.trial_seed, .rows = digits().spec().rows},
                                              data::selectors_with_random());
    const auto train = *autodiff::derive_training_step(input.model, {input.recipe.loss, input.recipe.optimizer}, ops());
    const auto infer = *autodiff::derive_inference_step(input.model, ops());
    program::Program program = *program::Program::compile(train, infer, {.max_batch = input.recipe.batch});
    ASSERT_TRUE(program.begin(0, input.trial_seed));
    BatchBuffers buffers(input.recipe.batch, digits().spec());
    std::deque<std::int64_t> queue;
    std::int64_t step = 0, since = 0, updates = 0;
    double losses_of_epoch = 0, rows_of_epoch = 0;
    for (std::int64_t epoch = 0; epoch < input.recipe.epochs; ++epoch) {
      const auto order = data::epoch_order(digits().rows(data::Part::kTrain), input.data_seed, epoch);
      const std::int64_t steps = trainer.steps_per_epoch();
      for (std::int64_t i = 0; i < steps; ++i, ++step) {
        const auto first = static_cast<std::size_t>(i * input.recipe.batch);
        const auto rows = std::span(order).subspan(first, std::min<std::size_t>(100, order.size() - first));
        const double share = static_cast<double>(epoch) / static_cast<double>(input.recipe.epochs);
        const auto interrupt = settings.at("interrupt").get<std::int64_t>();
        const bool selects = epoch >= settings.at("warmup_epochs").get<std::int64_t>() &&
                             share >= settings.at("from").get<double>() && share < settings.at("until").get<double>() &&
                             (interrupt == 0 || (step + 1) % interrupt != 0);
        std::vector<std::int64_t> others(rows.begin(), rows.end());
        std::vector<std::int64_t> chosen = others;
        if (selects) {
          std::vector<std::int64_t> asked;
          for (const std::size_t place : chooser->requested_positions({epoch, rows})) asked.push_back(rows[place]);
          std::vector<double> losses(asked.size());
          if (!asked.empty()) program.losses(0, buffers.fill(digits(), asked), 0, losses);
          chosen.clear();
          for (const std::size_t place : chooser->choose({epoch, rows}, losses)) chosen.push_back(rows[place]);
        }
        for (const std::int64_t row : chosen) {
          queue.push_back(row);
          std::erase(others, row);
        }
        if (++since >= settings.at("max_wait").get<std::int64_t>()) {
          for (const std::int64_t row : others) {
            if (queue.size() < 100) queue.push_back(row);
          }
        }
        if (queue.size() >= 100 || (i + 1 == steps && !queue.empty())) {
          const std::size_t count = std::min<std::size_t>(queue.size(), 100);
          const std::vector<std::int64_t> batch(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
          queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
          program::LaneHyper hyper;
          hyper.lr = learning_rate(input.recipe, settings.at("clock") == "trained" ? updates : step, steps);
          hyper.momentum = input.recipe.momentum;
          const program::Batch read = buffers.fill(digits(), batch);
          const std::uint8_t active = 1;
          double loss = 0;
          program.train_step({&read, 1}, {&hyper, 1}, {&active, 1}, {&loss, 1});
          ++updates;
          since = 0;
          losses_of_epoch += loss * static_cast<double>(count);
          rows_of_epoch += static_cast<double>(count);
        }
        trainer.step();
      }
      auto state = trainer.save().tensors;
      std::erase_if(state, Selection::is_selection_tensor);
      ASSERT_TRUE(state == program.extract(0)) << "epoch " << epoch;
      const auto& metrics = trainer.measurements().back().metrics;
      EXPECT_EQ(metrics.at("trained_rows"), rows_of_epoch);
      EXPECT_EQ(metrics.at("train_loss"), losses_of_epoch / rows_of_epoch);
      losses_of_epoch = rows_of_epoch = 0;
    }
    EXPECT_LT(updates, step) << "it trains on less than all";
    EXPECT_GT(updates, step / 20);
  }
}

// Running statistics after b batches of all rows are a mean of theirs that forgets what was there before.
TEST(Selection, RecalibratesRunningStatisticsOnAllRows) {
  const study::PluginConfig hard{"selective", {{"beta", 8}, {"warmup_epochs", 0}, {"floor", 0}, {"recalibrate", 12}}};
  study::PluginConfig without = hard;
  without.options["recalibrate"] = 0;
  Trainer with = *Trainer::create(trial(3, hard)), plain = *Trainer::create(trial(3, without));
  TrainerInput again = trial(3, hard);
  const auto train = *autodiff::derive_training_step(again.model, {again.recipe.loss, again.recipe.optimizer}, ops());
  const auto infer = *autodiff::derive_inference_step(again.model, ops());
  program::Program program = *program::Program::compile(train, infer, {.max_batch = again.recipe.batch});
  ASSERT_TRUE(program.begin(0, again.trial_seed));
  for (std::int64_t i = 1; i < with.steps_per_epoch(); ++i) {
    with.step();
    plain.step();
  }
  ASSERT_TRUE(with.save().tensors == plain.save().tensors) << "nothing is renewed within an epoch";
  with.step();
  plain.step();
  auto expected = plain.save().tensors;
  std::erase_if(expected, Selection::is_selection_tensor);
  ASSERT_TRUE(program.insert(0, expected));
  // What a training step at rate zero leaves of the statistics, batch after batch.
  const auto order = data::epoch_order(digits().rows(data::Part::kTrain), again.data_seed, 0);
  BatchBuffers buffers(again.recipe.batch, digits().spec());
  for (std::size_t b = 0; b < 12; ++b) {
    const program::Batch batch = buffers.fill(digits(), std::span(order).subspan(b * 100, 100));
    const std::uint8_t active = 1;
    double loss = 0;
    const program::LaneHyper still;            // lr 0
    ASSERT_TRUE(program.insert(0, expected));  // masks are those of the step
    program.train_step({&batch, 1}, {&still, 1}, {&active, 1}, {&loss, 1});
    const auto after = program.extract(0);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].name.find("running") != std::string::npos) expected[i] = after[i];
    }
  }
  auto state = with.save().tensors;
  std::erase_if(state, Selection::is_selection_tensor);
  EXPECT_TRUE(state == expected);
  auto before = plain.save().tensors;
  std::erase_if(before, Selection::is_selection_tensor);
  EXPECT_FALSE(state == before);
}

TEST(Selection, ResumesFromAnyStep) {
  for (const study::PluginConfig& select : selectors()) {
    SCOPED_TRACE(select.name + select.options.dump());
    const TrainerInput input = trial(2, select);
    Trainer undisturbed = *Trainer::create(input);
    Trainer resumed = *Trainer::create(input);
    for (std::int64_t i = 0; i < 3 * undisturbed.steps_per_epoch() + 5; ++i) {
      Trainer next = *Trainer::create(input);
      ASSERT_TRUE(next.restore(resumed.save()));
      ASSERT_TRUE(next.save().tensors == resumed.save().tensors);
      resumed = std::move(next);
      undisturbed.step();
      resumed.step();
      ASSERT_TRUE(undisturbed.save().tensors == resumed.save().tensors) << i;
      ASSERT_EQ(undisturbed.save().facts, resumed.save().facts);
    }
  }
}

TEST(Selection, IsIndependentInEachLane) {
  std::vector<TrainerInput> inputs{trial(1, {})};
  for (const study::PluginConfig& select : selectors()) {
    inputs.push_back(trial(static_cast<std::uint32_t>(inputs.size() + 1), select));
  }
  LaneGroup group = *LaneGroup::create(inputs[0], std::ssize(inputs));
  std::vector<TrialRun> runs;
  for (const TrainerInput& input : inputs) runs.push_back(*TrialRun::create(input));
  std::vector<TrialRun*> all;
  for (TrialRun& run : runs) {
    ASSERT_TRUE(group.admit(run));
    all.push_back(&run);
  }
  const std::int64_t steps = 2 * runs[0].definition().epochs.length + 3;
  std::vector<StepResult> ends(all.size());
  for (std::int64_t done = 0; done < steps;) done += group.advance(all, steps - done, ends);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Trainer alone = *Trainer::create(inputs[i]);
    for (std::int64_t k = 0; k < steps; ++k) alone.step();
    EXPECT_TRUE(alone.save().tensors == runs[i].save().tensors) << i;
    ASSERT_EQ(alone.measurements().size(), runs[i].progress().measurements().size());
    EXPECT_EQ(alone.measurements().back().metrics, runs[i].progress().measurements().back().metrics);
  }
}

TEST(Selection, RefusesCheckpointsOfOtherTrainings) {
  const TrainerInput input = trial(2, selectors()[1]);
  Trainer trainer = *Trainer::create(input);
  for (int i = 0; i < 20; ++i) trainer.step();
  const TrainerState good = trainer.save();
  const auto refused = [&](const char* name, auto change) {
    TrainerState bad = good;
    for (std::size_t i = 0; i < bad.tensors.size(); ++i) {
      if (bad.tensors[i].name == name) change(bad, i);
    }
    const auto restored = trainer.restore(bad);
    EXPECT_FALSE(restored.ok()) << name;
    return restored ? "" : restored.error().message;
  };
  const auto without = [](TrainerState& state, std::size_t i) {
    state.tensors.erase(state.tensors.begin() + static_cast<std::ptrdiff_t>(i));
  };
  EXPECT_EQ(refused("select:counts", without), "checkpoint lacks 'select:counts'");
  EXPECT_EQ(refused("select:queue", without), "checkpoint lacks 'select:queue'");
  EXPECT_EQ(refused("select:known", without), "what the selector remembered has no 'known'");
  const auto negative = [](TrainerState& state, std::size_t i) { elements_of<std::int64_t>(state.tensors[i])[1] = -1; };
  EXPECT_EQ(refused("select:counts", negative), "checkpoint's 'select:counts' or 'select:queue' do not fit these data");
  Trainer plain = *Trainer::create(trial(2, {}));
  EXPECT_NE(plain.restore(good).error().message.find("is of a trial that selects examples"), std::string::npos);
  EXPECT_TRUE(trainer.save().tensors == good.tensors) << "what was refused changed nothing";
}

}  // namespace
}  // namespace lanista::train
