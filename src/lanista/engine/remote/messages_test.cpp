#include "lanista/engine/remote/messages.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"

namespace lanista::engine {
namespace {

/// Samples values that a message may hold, extremes included.
class RandomValues {
 public:
  explicit RandomValues(Rng rng) : rng_(rng) {}

  std::uint64_t any() { return rng_.below(4) == 0 ? std::numeric_limits<std::uint64_t>::max() : rng_.next(); }
  std::int64_t integer() { return static_cast<std::int64_t>(rng_.below(3) == 0 ? any() : rng_.below(1000)); }
  TrialId trial() { return TrialId{static_cast<std::uint32_t>(1 + rng_.below(4'000'000'000))}; }
  bool flag() { return rng_.bernoulli(0.5); }
  double finite() {
    const double bits = std::bit_cast<double>(rng_.next());
    return std::isfinite(bits) ? bits : rng_.uniform();
  }
  double real() {
    switch (rng_.below(6)) {
      case 0:
        return std::numeric_limits<double>::infinity();
      case 1:
        return -0.0;
      default:
        return finite();
    }
  }
  std::string text() {
    std::string text;
    for (std::uint64_t i = rng_.below(20); i > 0; --i) text += static_cast<char>(rng_.below(128));
    return text + (flag() ? "é\n\"%" : "");
  }
  Digest digest() { return hash_text(text()); }
  study::Recipe recipe() {
    study::Recipe recipe;
    for (auto* field : {&recipe.loss, &recipe.optimizer, &recipe.schedule, &recipe.precision}) *field = text();
    for (auto* field : {&recipe.epochs, &recipe.batch, &recipe.step_every}) *field = integer();
    for (auto* field :
         {&recipe.step_factor, &recipe.warmup_epochs, &recipe.clip_norm, &recipe.label_smoothing, &recipe.lr,
          &recipe.momentum, &recipe.weight_decay, &recipe.beta1, &recipe.beta2, &recipe.eps}) {
      *field = finite();
    }
    recipe.nesterov = flag();
    if (flag()) recipe.shards = integer();
    if (flag()) recipe.accumulate = integer();
    if (flag()) recipe.steps_per_epoch = integer();
    if (flag()) recipe.steps = integer();
    if (flag()) recipe.all_rows_at = integer();
    if (flag()) recipe.rates = {{graph::NodeId{1}, finite()}, {graph::NodeId{7}, 0.5}, {graph::NodeId{9}, 0.5}};
    if (flag()) recipe.augment = {{"noise", {{"std", 0.5}}}, {text(), Options::object()}};
    return recipe;
  }
  Job job() {
    static const char* const kModels[] = {"%0 = input(shape=[4])\n%1 = linear(%0, out=3) \"hidden\"\n%2 = output(%1)\n",
                                          "next_id 90\n%0 = input(shape=[1,8,8])\n%7 = conv2d(%0, out=2, "
                                          "kernel=[3,3])\n%8 = add(%7, %7)\n%9 = output(%8)\n"};
    Job job{trial(), *graph::parse(kModels[rng_.below(2)]), recipe(), any(), any(), {}, real(), real(), real(), flag(),
            text()};
    if (flag()) job.start = start();
    if (flag()) job.fork = ForkedRun{trial(), {{job.trial, 1, 2, {{"val_loss", real()}}}, {job.trial, 2, 4, {}}}};
    if (flag()) job.transfer = transfer();
    if (flag()) job.fold = integer();
    job.frozen = {{graph::NodeId{0}, graph::NodeId{7}}, text(), integer()};
    if (flag()) job.keep.goals = {{flag(), text()}, {flag(), "val_loss"}};
    if (flag()) job.keep.constraints = {*study::Constraint::parse("val_loss * lr <= params")};
    if (flag()) job.sample = {{"lr", finite()}, {"batch", integer()}, {"nesterov", flag()}, {text(), text()}};
    if (flag()) job.device = text();
    return job;
  }
  study::Start start() {
    study::Start start{trial(), rng_.between(1, 1'000'000), text(), text()};
    if (flag()) start.is_chosen_by_engine = true, start.coverage = rng_.uniform(), start.inexact_reason = text();
    return start;
  }
  zoo::TransferPlan transfer() {
    zoo::TransferPlan plan;
    plan.exact = flag(), plan.inexact_reason = text();
    plan.tensors = {{.name = text(),
                     .kind = zoo::TensorPlan::Kind::kMap,
                     .from = text(),
                     .shape = {2, 1},
                     .axes = {{{0, zoo::kZero}, {rng_.uniform(), 1}}, {}}},
                    {.name = text(), .shape = {integer()}}};
    return plan;
  }
  std::shared_ptr<const pipeline::TimedStep> timed() {
    const auto tick = [&] { return static_cast<double>(rng_.below(1000)) / 1e7; };
    pipeline::TimedStep step{.batch = 4, .stages = {{"a", 1, 2, 4, {1}}, {"\"b\"", 2, 4, 4, {}}}, .ranks = {{}, {}}};
    for (std::uint32_t s = 0; s < 2; ++s) {
      const double begin = tick(), was = tick();
      step.ranks[s].push_back({pipeline::ActionKind::kWeightGrad, s, 0, begin, begin + tick(), was, was + tick()});
    }
    return std::make_shared<const pipeline::TimedStep>(*pipeline::read_timed_step(pipeline::timed_step_json(step)));
  }
  study::SpanCosts costs() {
    const auto seconds = [this] { return rng_.uniform(0, 1000); };
    return {rng_.between(0, 1'000'000), seconds(), seconds(), seconds(), seconds(), seconds(),
            rng_.between(0, 1 << 30)};
  }
  Allow allow() { return {trial(), integer()}; }
  plan::Regrouping changes() {
    plan::Regrouping changes;
    std::uint32_t id = 0;
    for (std::int64_t group = 0; rng_.below(4) > 0; group += rng_.between(1, 1'000'000)) {
      changes.parts.push_back({group, {}});
      for (std::uint64_t lane = 1 + rng_.below(4); lane > 0; --lane) {
        changes.parts.back().trials.push_back(TrialId{++id});
      }
    }
    return changes;
  }
  ExecutorRequest order() {
    switch (rng_.below(8)) {
      case 0:
        return job();
      case 1:
        return Command(allow());
      case 2:
        return Command(Finish{trial(), flag(), flag()});
      case 3:
        return Command(PauseTrial{trial()});
      case 4:
        return Command(PauseAll{});
      case 5:
        return Command(AcceptHelpers{trial(), text()});
      case 6:
        return Command(flag() ? HelpTrial{job(), "/" + text()} : HelpTrial{});
      default:
        return Command(UpdateGroups{changes(), {allow(), allow()}});
    }
  }
  Report report() {
    switch (rng_.below(9)) {
      case 0:
        return EpochReport{{trial(), integer(), integer(), {{"train_loss", real()}, {text(), real()}}}};
      case 1:
        return FailureReport{trial(), integer(), text()};
      case 2:
        return CheckpointReport{trial(), integer(), integer(), text()};
      case 3:
        return FinishedReport{trial(), digest(), text()};
      case 4:
        return TrialPausedReport{trial(), integer(), integer(), digest(), text()};
      case 5:
        return AllPausedReport{};
      case 6:
        return SpanReport{trial(),
                          integer(),
                          integer(),
                          real(),
                          real(),
                          integer(),
                          integer(),
                          costs(),
                          flag() ? text() : "",
                          flag() ? timed() : nullptr};
      case 7:
        return WorkerReport{integer(),          integer(), flag(), text(),
                            {trial(), trial()}, real(),    text(), {{trial(), real()}}};
      default:
        return ExecutorErrorReport{Error{static_cast<Code>(rng_.below(13)), text(), text()}};
    }
  }

 private:
  Rng rng_;
};

TEST(Messages, RoundTripRandomMessages) {
  const Rng root(7);
  for (std::uint64_t number = 0; number < 2000; ++number) {
    RandomValues values(root.split(number));
    const ExecutorRequest order = values.order();
    const std::string encoded = encode(order);
    const auto decoded = decode_executor_request(encoded);
    ASSERT_TRUE(decoded) << encoded << "\n" << decoded.error().text();
    ASSERT_EQ(decoded->index(), order.index());
    ASSERT_EQ(encode(*decoded), encoded);
    ASSERT_EQ(encoded.find('\n'), std::string::npos) << "a message is one line";

    const Report report = values.report();
    const std::string text = encode(report);
    const auto taken = decode_report(text);
    ASSERT_TRUE(taken) << text << "\n" << taken.error().text();
    ASSERT_EQ(taken->index(), report.index());
    ASSERT_EQ(encode(*taken), text);
  }
}

TEST(Messages, KeepEveryFieldOfAJob) {
  RandomValues values(Rng(3));
  Job job = values.job();
  job.start = values.start();
  job.fork.reset();
  job.fold = 7;
  job.keep = {{{true, "val_accuracy"}, {false, "val_loss"}}, {*study::Constraint::parse("val_loss * lr <= params")}};
  job.sample = {{"lr", values.finite()}, {"batch", values.integer()}};
  job.device = "cuda:0";

  const auto decoded = decode_executor_request(encode(ExecutorRequest(job)));

  ASSERT_TRUE(decoded) << decoded.error().text();
  const Job& back = std::get<Job>(*decoded);
  EXPECT_EQ(back.trial, job.trial);
  EXPECT_EQ(back.model, job.model);
  EXPECT_EQ(study::recipe_json(back.recipe), study::recipe_json(job.recipe));
  EXPECT_EQ(back.trial_seed, job.trial_seed);
  EXPECT_EQ(back.data_seed, job.data_seed);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(back.logical_start), std::bit_cast<std::uint64_t>(job.logical_start));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(back.logical_epoch), std::bit_cast<std::uint64_t>(job.logical_epoch));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(back.priority), std::bit_cast<std::uint64_t>(job.priority));
  EXPECT_EQ(back.checkpoint, job.checkpoint);
  EXPECT_EQ(back.frozen.nodes, job.frozen.nodes);
  EXPECT_EQ(back.frozen.weights, job.frozen.weights);
  EXPECT_EQ(back.frozen.epochs, job.frozen.epochs);
  EXPECT_EQ(back.start, job.start);
  EXPECT_EQ(study::selection_rule_json(back.keep), study::selection_rule_json(job.keep));
  EXPECT_EQ(back.sample, job.sample);
  EXPECT_EQ(back.device, job.device);
  EXPECT_EQ(back.fold, job.fold);
  EXPECT_FALSE(back.fork);
  job.fork = ForkedRun{TrialId{8}, {{TrialId{5}, 1, 2, {{"val_loss", 0.1}}}}};
  const auto forked = decode_executor_request(encode(ExecutorRequest(job)));
  ASSERT_TRUE(std::get<Job>(*forked).fork);
  EXPECT_EQ(std::get<Job>(*forked).fork->from, TrialId{8});
  EXPECT_EQ(std::get<Job>(*forked).fork->measurements.at(0).metrics.at("val_loss"), 0.1);
  job.fork.reset();
  job.start.reset();
  job.fold.reset();
  const auto plain = decode_executor_request(encode(ExecutorRequest(job)));
  EXPECT_EQ(std::get<Job>(*plain).start, std::nullopt);
  EXPECT_EQ(std::get<Job>(*plain).fold, std::nullopt);
}

TEST(Messages, ReplacesInvalidUtf8) {
  const auto decoded = decode_report(encode(Report(FailureReport{TrialId{1}, 2, "odd \xff"})));

  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<FailureReport>(*decoded).reason, "odd \xEF\xBF\xBD");
}

TEST(Messages, RefusesMissingOrMistypedFields) {
  const Rng root(11);
  for (std::uint64_t number = 0; number < 200; ++number) {
    RandomValues values(root.split(number));
    const auto whole = nlohmann::json::parse(encode(values.order()));
    for (const auto& [field, value] : whole.items()) {
      nlohmann::json without = whole;
      without.erase(field);
      ASSERT_FALSE(decode_executor_request(without.dump())) << field << " of " << whole;
      nlohmann::json other = whole;
      other[field] = nlohmann::json{{"no", "such"}};
      ASSERT_FALSE(decode_executor_request(other.dump())) << field << " of " << whole;
    }
    const auto report = nlohmann::json::parse(encode(values.report()));
    for (const auto& [field, value] : report.items()) {
      nlohmann::json without = report;
      without.erase(field);
      ASSERT_FALSE(decode_report(without.dump())) << field << " of " << report;
    }
  }
  for (const char* text : {"", "{", "[]", "3", "{\"kind\": \"dance\"}", "{\"kind\": 3}"}) {
    EXPECT_FALSE(decode_executor_request(text)) << text;
    EXPECT_FALSE(decode_report(text)) << text;
  }
}

}  // namespace
}  // namespace lanista::engine
