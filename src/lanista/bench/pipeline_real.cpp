#include "lanista/bench/pipeline_real.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/bench/arms.h"
#include "lanista/bench/random_cuts.h"
#include "lanista/graph/text.h"
#include "lanista/nn/program.h"
#include "lanista/pipeline/schedule.h"
#include "lanista/pipeline/simulate.h"
#include "lanista/runtime/pipeline_stages.h"
#include "lanista/step/training_step.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kPlaces = 2, kBatch = 256, kMicro = 32, kClasses = 10;
constexpr double kHandOver = 20e-6;
const nn::LaneHyper kHyper{.lr = 0.001, .momentum = 0.9};

// `branches` of so many linear layers with relu over one input, whose ends meet side by side (or in a sum) before a
// last layer.
std::string branchy(std::int64_t inputs, int branches, int layers, std::int64_t width, bool is_sum) {
  std::string text = "%0 = input(shape=[" + std::to_string(inputs) + "])\n", ends;
  int id = 0;
  const auto add = [&](const std::string& what) {
    text += "%" + std::to_string(++id) + " = " + what + "\n";
    return "%" + std::to_string(id);
  };
  for (int b = 0; b < branches; ++b) {
    std::string x = "%0";
    for (int l = 0; l < layers; ++l) {
      x = add("linear(" + x + ", out=" + std::to_string(width) + ")");
      x = add("relu(" + x + ")");
    }
    if (is_sum) x = add("linear(" + x + ", out=" + std::to_string(kClasses) + ")");
    ends += (b > 0 ? ", " : "") + x;
  }
  std::string end = ends;
  if (branches > 1) end = add((is_sum ? "add(" : "concat(") + ends + ")");
  if (!is_sum) end = add("linear(" + end + ", out=" + std::to_string(kClasses) + ")");
  add("output(" + end + ")");
  return text;
}

struct Samples {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> index;

  Samples(std::int64_t count, std::int64_t width) {
    Rng rng(3);
    for (std::int64_t i = 0; i < count * width; ++i) features.push_back(static_cast<float>(rng.normal()));
    for (std::int64_t i = 0; i < count; ++i) {
      labels.push_back(static_cast<std::int32_t>(rng.below(kClasses)));
      index.push_back(i);
    }
  }
  nn::Batch view() const {
    return {.size = static_cast<std::int64_t>(labels.size()),
            .features = features,
            .labels = labels,
            .targets = {},
            .sample_index = index};
  }
};

// A model with its steps.
struct Subject {
  graph::OpTable ops = step::training_ops(graph::builtin_ops());
  step::TrainingStep train;
  step::InferenceStep infer;
  std::int64_t batch = 0;

  static Result<Subject> make(const std::string& text, std::int64_t batch) {
    Subject subject;
    subject.batch = batch;
    LANISTA_ASSIGN(const graph::Graph model, graph::parse(text));
    LANISTA_ASSIGN(subject.train, step::derive_training_step(model, {}, subject.ops));
    LANISTA_ASSIGN(subject.infer, step::derive_inference_step(model, subject.ops));
    return subject;
  }
  Result<nn::Program> compile(std::int64_t parts, const nn::Stages* stages, std::int64_t lanes = 1,
                              int threads = 1) const {
    nn::ProgramOptions options{.lanes = lanes, .max_batch = batch, .accumulate = parts, .stages = stages};
    options.threads = threads;
    LANISTA_ASSIGN(nn::Program program, nn::Program::compile(train, infer, options));
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      LANISTA_TRY(program.begin(lane, static_cast<std::uint64_t>(lane) + 1));
    }
    return program;
  }
};

void step_of(nn::Program& program, const nn::Batch& batch) {
  const auto lanes = static_cast<std::size_t>(program.lanes());
  const std::vector<nn::LaneHyper> hyper(lanes, kHyper);
  const std::vector<std::uint8_t> active(lanes, 1);
  std::vector<double> loss(lanes);
  program.train_step({&batch, 1}, hyper, active, loss);
}

// Seconds of every pass of a step whose stages are single operators, all at one place.
class Stopwatch final : public nn::StageObserver {
 public:
  void begins(std::size_t, const nn::StagePass&) override { begin_ = now_seconds(); }
  void ends(std::size_t, const nn::StagePass& pass) override {
    times[{pass.stage, pass.kind}].push_back(now_seconds() - begin_);
  }
  void sent(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void holds(std::uint32_t, std::int64_t) override {}

  std::map<std::pair<std::uint32_t, nn::StagePass::Kind>, std::vector<double>> times;

 private:
  double begin_ = 0;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// Puts in the model what its operators take, each measured alone, for micro-batches of one size.
Result<void> profile(const Subject& subject, runtime::PlannedModel& planned, const Samples& samples, int repeats) {
  pipeline::Problem problem{planned.model, runtime::single_devices(1, 0)};
  pipeline::Plan plan{planned.model.hash, subject.batch, {}};
  for (std::uint32_t i = 0; i < planned.nodes.size(); ++i) plan.stages.push_back({{i}, kMicro, 1, {0}, kMicro, {}});
  LANISTA_ASSIGN(plan, pipeline::arranged(std::move(plan), planned.model));
  plan = pipeline::with_whole_batch_in_flight(plan);
  LANISTA_ASSIGN(const auto schedule, pipeline::greedy(plan, problem, {.split = true}));
  LANISTA_ASSIGN(nn::Stages stages, runtime::stages_of(plan, schedule, problem, planned.nodes));
  Stopwatch watch;
  stages.observer = &watch;
  LANISTA_ASSIGN(nn::Program program, subject.compile(subject.batch / kMicro, &stages));
  for (int i = 0; i < repeats; ++i) step_of(program, samples.view());
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    pipeline::Operator& op = planned.model.operators[plan.stages[s].operators.front()];
    const auto put = [&](pipeline::Curve& curve, nn::StagePass::Kind kind) {
      const double each = median(watch.times[{s, kind}]) / static_cast<double>(kMicro);
      for (std::size_t k = 0; k < curve.size(); ++k) curve[k] = each * static_cast<double>(std::int64_t{1} << k);
    };
    put(op.forward, nn::StagePass::Kind::kForward);
    put(op.input_grad, nn::StagePass::Kind::kInputGrad);
    put(op.weight_grad, nn::StagePass::Kind::kWeightGrad);
  }
  return {};
}

// A model, measured; and one thread that does all of it.
struct Bench {
  Subject subject;
  Samples samples;
  runtime::PlannedModel planned;
  pipeline::Problem problem;
  nn::Program alone;

  static Result<Bench> make(const std::string& text, std::int64_t inputs, int repeats) {
    LANISTA_ASSIGN(Subject subject, Subject::make(text, kBatch));
    Samples samples(kBatch, inputs);
    LANISTA_ASSIGN(auto planned, runtime::planned_step(subject.train, subject.ops, kBatch, 4));
    LANISTA_TRY(profile(subject, planned, samples, repeats));
    LANISTA_ASSIGN(nn::Program alone, subject.compile(kBatch / kMicro, nullptr));
    pipeline::Problem problem{planned.model, runtime::single_devices(kPlaces, kHandOver)};
    return Bench{std::move(subject), std::move(samples), std::move(planned), std::move(problem), std::move(alone)};
  }
  Result<nn::Program> program(const pipeline::Plan& plan, const pipeline::Schedule& schedule) const {
    LANISTA_ASSIGN(const nn::Stages stages, runtime::stages_of(plan, schedule, problem, planned.nodes));
    return subject.compile(kBatch / kMicro, &stages);
  }
  // Microseconds of a step.
  Arm arm(std::string name, nn::Program& of) const {
    return timed(std::move(name), {{[&of, this] { step_of(of, samples.view()); }, 1}});
  }
};

Error other_bits(const std::string& name) {
  return {Code::kInternal, name + ": a pipeline and one thread came to different weights", ""};
}

// Both do as many steps, so they must have come to the same bits.
Result<bool> same_bits(const Bench& bench, nn::Program& ours) {
  LANISTA_ASSIGN(nn::Program alone, bench.subject.compile(kBatch / kMicro, nullptr));
  ours.initialise(0, 1);
  for (int i = 0; i < 2; ++i) {
    step_of(alone, bench.samples.view());
    step_of(ours, bench.samples.view());
  }
  return alone.extract(0) == ours.extract(0);
}

Result<void> two_branches(int repeats, bool json, std::ostream& out) {
  const std::string name = "two-branches/2";
  LANISTA_ASSIGN(Bench bench, Bench::make(branchy(1024, 2, 3, 1024, false), 1024, 3));
  LANISTA_ASSIGN(const auto chosen, runtime::chosen_plan(bench.problem, kMicro));
  LANISTA_ASSIGN(nn::Program ours, bench.program(chosen.plan, chosen.schedule));
  LANISTA_ASSIGN(const bool same, same_bits(bench, ours));
  if (!same) return other_bits(name);
  const std::vector<Arm> arms{bench.arm("alone", bench.alone), bench.arm("ours", ours)};
  const auto seen = rounds(arms, repeats);
  for (std::size_t a = 0; a < arms.size(); ++a)
    print(summary("pipeline-real", name, arms[a].name, "us", seen[a]), json, out);
  std::vector<double> gain, of_bound;
  for (std::size_t r = 0; r < seen[0].size(); ++r) {
    gain.push_back(seen[0][r] / seen[1][r]);
    of_bound.push_back(gain.back() / static_cast<double>(kPlaces));
  }
  print({"pipeline-real", name, "simulated", "us", 1e6 * chosen.seconds, 0, 1}, json, out);
  print(summary("pipeline-real", name, "gain", "", gain), json, out);
  print(summary("pipeline-real", name, "gain-of-bound", "", of_bound), json, out);
  double shortest = 1e9;
  const auto times = pipeline::times_of(chosen.plan, bench.problem);
  for (const auto& stage : times) shortest = std::min(shortest, stage.forward + stage.backward());
  print({"pipeline-real", name, "shortest-stage", "us", 1e6 * shortest, 0, 1}, json, out);
  return {};
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<double>(i);
  return rank;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double both = 0, own = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    own += (x[i] - mean) * (x[i] - mean);
  }
  return both / own;
}

// Random plans and the planner's own: what the simulator says of each, and what it takes.
Result<void> thirty_plans(int repeats, bool json, std::ostream& out) {
  const std::string name = "plans-30/2";
  LANISTA_ASSIGN(Bench bench, Bench::make(branchy(512, 3, 3, 640, false), 512, 3));
  Rng rng(5);
  std::vector<nn::Program> programs;
  std::vector<double> predicted;
  for (int i = 0; i <= 30; ++i) {
    runtime::ChosenPlan one;
    if (i == 0) {
      LANISTA_ASSIGN(one, runtime::chosen_plan(bench.problem, kMicro));
    } else {
      one.plan = random_cut(rng, bench.problem, 2 + rng.below(4), {kMicro}, kPlaces);
      one.schedule =
          i % 3 == 0 ? pipeline::split_backward(one.plan, bench.problem) : pipeline::kfkb(one.plan, bench.problem);
      LANISTA_ASSIGN(const auto course, pipeline::simulate(one.schedule, one.plan, bench.problem, false));
      one.seconds = course.seconds;
    }
    LANISTA_ASSIGN(nn::Program program, bench.program(one.plan, one.schedule));
    programs.push_back(std::move(program));
    predicted.push_back(1e6 * one.seconds);
  }
  std::vector<Arm> arms;
  for (std::size_t i = 0; i < programs.size(); ++i) arms.push_back(bench.arm(std::to_string(i), programs[i]));
  const auto seen = rounds(arms, repeats);
  std::vector<double> measured, off;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    measured.push_back(median(seen[i]));
    off.push_back(std::abs(predicted[i] / measured[i] - 1));
  }
  print({"pipeline-real", name, "spearman", "", spearman(predicted, measured), 0, repeats}, json, out);
  print(summary("pipeline-real", name, "error", "", off), json, out);
  print({"pipeline-real", name, "error-at-most", "", *std::ranges::max_element(off), 0, repeats}, json, out);
  print({"pipeline-real", name, "chosen-over-best", "", measured[0] / *std::ranges::min_element(measured), 0, repeats},
        json, out);
  return {};
}

// Half of the branches at each of two places, and what joins them at the second, after its own.
Result<runtime::ChosenPlan> halves(const pipeline::Problem& problem, std::size_t branches) {
  const auto n = static_cast<std::uint32_t>(problem.model.operators.size());
  const auto each = static_cast<std::uint32_t>((n - 1) / branches);
  pipeline::Plan plan{problem.model.hash, problem.model.batch, {}};
  plan.stages.assign(3, {.operators = {}, .micro_batch = problem.model.batch, .devices = {1}, .successors = {}});
  plan.stages[0].devices = {0};
  for (std::uint32_t i = 0; i < n; ++i)
    plan.stages[i + 1 == n ? 2 : i < each * branches / 2 ? 0 : 1].operators.push_back(i);
  runtime::ChosenPlan one;
  LANISTA_ASSIGN(one.plan, pipeline::arranged(std::move(plan), problem.model));
  one.schedule = pipeline::split_backward(one.plan, problem);
  LANISTA_ASSIGN(const auto course, pipeline::simulate(one.schedule, one.plan, problem, false));
  one.seconds = course.seconds;
  return one;
}

// Eight trials of one small model. As branches of one graph their logits are added up: the same operators, but one loss
// in place of eight, so times alone can be compared.
Result<void> population(const std::string& name, std::int64_t inputs, std::int64_t width, std::int64_t batch,
                        int repeats, bool json, std::ostream& out) {
  constexpr std::int64_t kTrials = 8;
  LANISTA_ASSIGN(const Subject one, Subject::make(branchy(inputs, 1, 2, width, true), batch));
  LANISTA_ASSIGN(const Subject all, Subject::make(branchy(inputs, kTrials, 2, width, true), batch));
  const Samples samples(batch, inputs);
  std::vector<nn::Program> single;
  for (std::int64_t i = 0; i < kTrials; ++i) {
    LANISTA_ASSIGN(nn::Program program, one.compile(1, nullptr));
    single.push_back(std::move(program));
  }
  LANISTA_ASSIGN(nn::Program fused, one.compile(1, nullptr, kTrials, kPlaces));
  LANISTA_ASSIGN(const auto planned, runtime::planned_step(all.train, all.ops, batch, 4));
  const pipeline::Problem problem{planned.model, runtime::single_devices(kPlaces, kHandOver)};
  LANISTA_ASSIGN(const auto chosen, halves(problem, kTrials));
  LANISTA_ASSIGN(const auto plan, runtime::chosen_plan(problem, batch));
  LANISTA_ASSIGN(const auto stages, runtime::stages_of(chosen.plan, chosen.schedule, problem, planned.nodes));
  LANISTA_ASSIGN(nn::Program branches, all.compile(1, &stages));
  const auto turns = [&](std::size_t begin, std::size_t end) {
    return [&, begin, end] {
      for (std::size_t i = begin; i < end; ++i) step_of(single[i], samples.view());
    };
  };
  const double trials = kTrials;
  const std::vector<Arm> arms{
      timed("single", {{turns(0, kTrials), trials}}),
      timed("packed", {{turns(0, kTrials / 2), trials / 2}, {turns(kTrials / 2, kTrials), trials / 2}}),
      timed("fused", {{[&] { step_of(fused, samples.view()); }, trials}}),
      timed("branches", {{[&] { step_of(branches, samples.view()); }, trials}})};
  for (const Row& row : interleave("pipeline-real", name, "us", arms, repeats)) print(row, json, out);
  print({"pipeline-real", name, "planner-over-halves", "", plan.seconds / chosen.seconds, 0, 1}, json, out);
  return {};
}

}  // namespace

Result<void> pipeline_real(int repeats, bool json, std::ostream& out) {
  LANISTA_TRY(two_branches(repeats, json, out));
  LANISTA_TRY(thirty_plans(repeats, json, out));
  LANISTA_TRY(population("population-8/mlp-64", 64, 64, 32, repeats, json, out));
  return population("population-8/mlp-512", 64, 512, 32, repeats, json, out);
}

}  // namespace lanista::bench
