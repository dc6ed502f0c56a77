#include "lanista/bench/staged_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/bench/stage_watch.h"
#include "lanista/graph/text.h"
#include "lanista/pipeline/simulate.h"

namespace lanista::bench {

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

Samples::Samples(std::int64_t count, std::int64_t width) {
  Rng rng(3);
  for (std::int64_t i = 0; i < count * width; ++i) features.push_back(static_cast<float>(rng.normal()));
  for (std::int64_t i = 0; i < count; ++i) {
    labels.push_back(static_cast<std::int32_t>(rng.below(kClasses)));
    index.push_back(i);
  }
}

nn::Batch Samples::view() const {
  return {.size = static_cast<std::int64_t>(labels.size()),
          .features = features,
          .labels = labels,
          .targets = {},
          .sample_index = index};
}

Result<Subject> Subject::make(const std::string& text, std::int64_t batch) {
  Subject subject;
  subject.batch = batch;
  LANISTA_ASSIGN(const graph::Graph model, graph::parse(text));
  LANISTA_ASSIGN(subject.train, step::derive_training_step(model, {}, subject.ops));
  LANISTA_ASSIGN(subject.infer, step::derive_inference_step(model, subject.ops));
  return subject;
}

Result<nn::Program> Subject::compile(std::int64_t parts, const nn::Stages* stages, std::int64_t lanes,
                                   int threads) const {
  nn::ProgramOptions options{.lanes = lanes, .max_batch = batch, .accumulate = parts, .stages = stages};
  options.threads = threads;
  LANISTA_ASSIGN(nn::Program program, nn::Program::compile(train, infer, options));
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    LANISTA_TRY(program.begin(lane, static_cast<std::uint64_t>(lane) + 1));
  }
  return program;
}

void step_of(nn::Program& program, const nn::Batch& batch) {
  const auto lanes = static_cast<std::size_t>(program.lanes());
  const std::vector<nn::LaneHyper> hyper(lanes, {.lr = 0.001, .momentum = 0.9});
  const std::vector<std::uint8_t> active(lanes, 1);
  std::vector<double> loss(lanes);
  program.train_step({&batch, 1}, hyper, active, loss);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

namespace {

// Passes of a step whose stages are all at one place: every micro-batch goes through all of them and back before the
// next, so that what a pass reads is far away; or a stage does all of its micro-batches one behind the other.
pipeline::Schedule one_place(const pipeline::Plan& plan, bool in_a_row) {
  using pipeline::Kind;
  const auto stages = static_cast<std::uint32_t>(plan.stages.size());
  const std::uint32_t micros = kBatch / kMicro, turns = in_a_row ? 1 : micros;
  pipeline::Schedule schedule{{{{0}, {}}}};
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    const auto all = [&](Kind kind, std::uint32_t stage) {
      for (std::uint32_t m = turn; m < (in_a_row ? micros : turn + 1); ++m) {
        schedule.places[0].actions.push_back({.kind = kind, .stage = stage, .micro = m});
      }
    };
    for (std::uint32_t s = 0; s < stages; ++s) all(Kind::kForward, s);
    for (std::uint32_t s = stages; s-- > 0;) {
      all(Kind::kInputGrad, s);
      all(Kind::kWeightGrad, s);
    }
  }
  return schedule;
}

// Puts in the model what its operators take, each measured as a stage of its own, for micro-batches of one size.
Result<void> profile(const Subject& subject, runtime::PlannedModel& planned, const Samples& samples, int repeats) {
  using Kind = nn::StagePass::Kind;
  const pipeline::Problem problem{planned.model, runtime::single_devices(1, 0)};
  pipeline::Plan plan{planned.model.hash, subject.batch, {}};
  for (std::uint32_t i = 0; i < planned.nodes.size(); ++i) plan.stages.push_back({{i}, kMicro, 1, {0}, kMicro, {}});
  LANISTA_ASSIGN(plan, pipeline::arranged(std::move(plan), planned.model));
  plan = pipeline::with_whole_batch_in_flight(plan);
  std::array<Stopwatch, 2> watches;
  for (const bool in_a_row : {false, true}) {
    LANISTA_ASSIGN(nn::Stages stages, runtime::stages_of(plan, one_place(plan, in_a_row), problem, planned.nodes));
    stages.observer = &watches[in_a_row ? 1 : 0];
    LANISTA_ASSIGN(nn::Program program, subject.compile(subject.batch / kMicro, &stages));
    for (int i = 0; i < repeats; ++i) step_of(program, samples.view());
  }
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    pipeline::Operator& op = planned.model.operators[plan.stages[s].operators.front()];
    double apart = 0, again = 0;
    const auto put = [&](pipeline::Curve& curve, Kind kind) {
      const double each = median(watches[0].times[{s, kind}]);
      apart += each;
      again += median(watches[1].times[{s, kind}]);
      for (std::size_t k = 0; k < curve.size(); ++k)
        curve[k] = each / kMicro * static_cast<double>(std::int64_t{1} << k);
    };
    put(op.forward, Kind::kForward);
    put(op.input_grad, Kind::kInputGrad);
    put(op.weight_grad, Kind::kWeightGrad);
    op.again = apart > 0 ? std::min(1.0, again / apart) : 1;
  }
  return {};
}

// All passes of a step one after the other.
double serial_seconds(const pipeline::Model& model) {
  double seconds = 0;
  for (const pipeline::Operator& op : model.operators) {
    for (const pipeline::Curve* each : {&op.forward, &op.input_grad, &op.weight_grad}) {
      seconds += pipeline::seconds_at(*each, kMicro);
    }
  }
  return seconds * static_cast<double>(kBatch / kMicro);
}

}  // namespace

Result<StagedModel> StagedModel::make(const std::string& text, std::int64_t inputs, int repeats) {
  LANISTA_ASSIGN(Subject subject, Subject::make(text, kBatch));
  Samples samples(kBatch, inputs);
  LANISTA_ASSIGN(auto planned, runtime::planned_step(subject.train, subject.ops, kBatch, 4));
  LANISTA_TRY(profile(subject, planned, samples, repeats));
  LANISTA_ASSIGN(nn::Program alone, subject.compile(kBatch / kMicro, nullptr));
  pipeline::Problem problem{planned.model, runtime::single_devices(kPlaces, kHandOver)};
  StagedModel model{std::move(subject), std::move(samples), std::move(planned), std::move(problem), 0,
                    std::move(alone)};
  const double step = 1e-6 * median(rounds({model.arm("alone", model.alone)}, repeats)[0]);
  model.rest = std::max(0.0, step - serial_seconds(model.problem.model));
  return model;
}

Result<double> StagedModel::predicted(const runtime::ChosenPlan& of) const {
  LANISTA_ASSIGN(const auto course, pipeline::simulate(of.schedule, of.plan, problem, false));
  return course.seconds + rest;
}

Result<nn::Program> StagedModel::program(const pipeline::Plan& plan, const pipeline::Schedule& schedule) const {
  LANISTA_ASSIGN(const nn::Stages stages, runtime::stages_of(plan, schedule, problem, planned.nodes));
  return subject.compile(kBatch / kMicro, &stages);
}

Arm StagedModel::arm(std::string name, nn::Program& of) const {
  return timed(std::move(name), {{[&of, this] { step_of(of, samples.view()); }, 1}});
}

}  // namespace lanista::bench
