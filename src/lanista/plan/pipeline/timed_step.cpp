#include "lanista/plan/pipeline/timed_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include "lanista/plan/pipeline/text_table.h"

namespace lanista::pipeline {
namespace {

using nlohmann::json;

constexpr double kTicks = 1e7;                         // In a second.
constexpr std::int64_t kMaxTicks = 1'000'000'000'000;  // About a day.
constexpr std::size_t kMaxNameLength = 200;
constexpr std::array kKinds{ActionKind::kForward, ActionKind::kBackward, ActionKind::kInputGrad,
                            ActionKind::kWeightGrad};

struct Malformed {
  std::string what;
};

std::int64_t ticks(double seconds) { return std::llround(std::min(seconds, 1e6) * kTicks); }

std::int64_t number(const json& in, const std::string& what, std::int64_t least, std::int64_t most) {
  const bool is_good = in.is_number_integer() && (!in.is_number_unsigned() || in.get<std::uint64_t>() <= INT64_MAX);
  const std::int64_t value = is_good ? in.get<std::int64_t>() : -1;
  if (!is_good || value < least || value > most) {
    throw Malformed{what + " is " + in.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40) +
                    "; allowed are numbers from " + std::to_string(least) + " to " + std::to_string(most)};
  }
  return value;
}

const json& list(const json& in, const std::string& what, std::size_t least, std::size_t most) {
  if (in.is_array() && in.size() >= least && in.size() <= most) return in;
  throw Malformed{what + " must be a list of " + std::to_string(least) +
                  (least == most ? "" : " to " + std::to_string(most)) + " entries"};
}

TimedStep::Stage read_stage(const json& in, std::size_t number_of, std::size_t stages, std::int64_t batch) {
  const std::string name = "stage " + std::to_string(number_of);
  list(in, name, 5, 5);
  TimedStep::Stage stage;
  if (!in[0].is_string() || in[0].get_ref<const std::string&>().size() > kMaxNameLength) {
    throw Malformed{name + ": its operators must be a text of " + std::to_string(kMaxNameLength) + " bytes at most"};
  }
  stage.operators = in[0].get<std::string>();
  stage.count = number(in[1], name + ": the count of operators", 1, std::numeric_limits<std::int32_t>::max());
  stage.micro_batch = number(in[2], name + ": its micro-batch", 1, batch);
  stage.in_flight = number(in[3], name + ": samples in flight", 1, batch);
  auto after = static_cast<std::int64_t>(number_of);
  for (const json& next : list(in[4], name + ": successors", 0, stages)) {
    after = number(next, name + ": a successor", after + 1, static_cast<std::int64_t>(stages) - 1);
    stage.successors.push_back(static_cast<std::uint32_t>(after));
  }
  return stage;
}

TimedStep::Pass read_pass(const json& in, const TimedStep& step) {
  list(in, "a pass", 7, 7);
  TimedStep::Pass pass;
  pass.kind = kKinds.at(static_cast<std::size_t>(number(in[0], "a pass's kind", 0, std::ssize(kKinds) - 1)));
  pass.stage = static_cast<std::uint32_t>(number(in[1], "a pass's stage", 0, std::ssize(step.stages) - 1));
  const std::int64_t micros = step.batch / step.stages[pass.stage].micro_batch;
  pass.micro = static_cast<std::uint32_t>(number(in[2], "a pass's micro-batch", 0, micros));
  std::array<double, 4> times{};
  for (std::size_t i = 0; i < 4; ++i) {
    times[i] = static_cast<double>(number(in[3 + i], "a pass's time", 0, kMaxTicks)) / kTicks;
  }
  if (times[1] < times[0] || times[3] < times[2]) throw Malformed{"a pass ends before it begins"};
  pass.simulated_begin = times[0], pass.simulated_end = times[1], pass.begin = times[2], pass.end = times[3];
  return pass;
}

TimedStep read(const json& in) {
  if (!in.is_object() || !in.contains("batch") || !in.contains("stages") || !in.contains("places")) {
    throw Malformed{"an object with 'batch', 'stages' and 'places' is needed"};
  }
  TimedStep step;
  step.batch = number(in["batch"], "'batch'", 1, std::numeric_limits<std::int32_t>::max());
  const json& stages = list(in["stages"], "'stages'", 1, kMaxTimedStages);
  for (const json& stage : stages) {
    step.stages.push_back(read_stage(stage, step.stages.size(), stages.size(), step.batch));
  }
  std::size_t passes = 0;
  for (const json& rank : list(in["places"], "'places'", 1, kMaxTimedRanks)) {
    auto& own = step.ranks.emplace_back();
    passes += list(rank, "a place", 0, kMaxTimedPasses - passes).size();
    for (const json& pass : rank) own.push_back(read_pass(pass, step));
  }
  return step;
}

SimulationResult simulation_of(const TimedStep& step, double TimedStep::Pass::*begin, double TimedStep::Pass::*end) {
  SimulationResult simulation;
  for (std::uint32_t p = 0; p < step.ranks.size(); ++p) {
    double& busy = simulation.busy_seconds.emplace_back(0);
    for (const TimedStep::Pass& pass : step.ranks[p]) {
      const Action action{.kind = pass.kind, .stage = pass.stage, .micro = pass.micro};
      simulation.spans.push_back({action, p, pass.*begin, pass.*end});
      simulation.seconds = std::max(simulation.seconds, pass.*end);
      busy += pass.*end - pass.*begin;
    }
  }
  return simulation;
}

/// The seconds of all forward and of all backward passes of a stage.
struct StageSeconds {
  double forward = 0, backward = 0;
  double all() const { return forward + backward; }
};
std::vector<StageSeconds> stage_seconds_of(const SimulationResult& simulation, std::size_t stages) {
  std::vector<StageSeconds> taken(stages);
  for (const Span& span : simulation.spans) {
    StageSeconds& stage = taken[span.action.stage];
    (span.action.kind == ActionKind::kForward ? stage.forward : stage.backward) += span.end - span.begin;
  }
  return taken;
}

double over(double measured, double simulated) { return simulated > 0 ? measured / simulated : 0; }

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string ratio_text(double ratio) { return ratio > 0 ? fixed(ratio, 2) : ""; }

}  // namespace

SimulationResult TimedStep::simulated() const {
  return simulation_of(*this, &Pass::simulated_begin, &Pass::simulated_end);
}
SimulationResult TimedStep::measured() const { return simulation_of(*this, &Pass::begin, &Pass::end); }
double TimedStep::ratio() const { return over(measured().seconds, simulated().seconds); }
double TimedStep::ratio_of(std::uint32_t stage) const {
  return over(stage_seconds_of(measured(), stages.size())[stage].all(),
              stage_seconds_of(simulated(), stages.size())[stage].all());
}

bool fits_record(const TimedStep& step) { return read_timed_step(timed_step_json(step)).ok(); }

json timed_step_json(const TimedStep& step) {
  json out{{"batch", step.batch}, {"stages", json::array()}, {"places", json::array()}};
  for (const TimedStep::Stage& stage : step.stages) {
    out["stages"].push_back(json::array({stage.operators.substr(0, kMaxNameLength), stage.count, stage.micro_batch,
                                         stage.in_flight, json(stage.successors)}));
  }
  for (const auto& rank : step.ranks) {
    json passes = json::array();
    for (const TimedStep::Pass& pass : rank) {
      const auto kind = std::ranges::find(kKinds, pass.kind) - kKinds.begin();
      passes.push_back(json::array({kind, pass.stage, pass.micro, ticks(pass.simulated_begin),
                                    ticks(pass.simulated_end), ticks(pass.begin), ticks(pass.end)}));
    }
    out["places"].push_back(std::move(passes));
  }
  return out;
}

Result<TimedStep> read_timed_step(const json& json) {
  try {
    return read(json);
  } catch (const Malformed& error) {
    return Error{Code::kDataLoss, "a timed step of a pipeline: " + error.what, ""};
  }
}

std::string stages_text(const TimedStep& step) {
  std::vector<std::vector<std::string>> rows{{"stage", "next", "place", "micro-batch", "in flight", "forward ms",
                                              "measured", "backward ms", "measured", "ratio", "operators"}};
  const SimulationResult simulated = step.simulated(), measured = step.measured();
  const auto expected = stage_seconds_of(simulated, step.stages.size()),
             actual = stage_seconds_of(measured, step.stages.size());
  for (std::uint32_t s = 0; s < step.stages.size(); ++s) {
    const TimedStep::Stage& stage = step.stages[s];
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t p = 0; p < step.ranks.size(); ++p) {
      if (std::ranges::count(step.ranks[p], s, &TimedStep::Pass::stage) > 0) ranks.push_back(p);
    }
    const double each = 1e3 * static_cast<double>(stage.micro_batch) / static_cast<double>(step.batch);
    rows.push_back({std::to_string(s), ranges(stage.successors), ranges(ranks), std::to_string(stage.micro_batch),
                    std::to_string(stage.in_flight), fixed(each * expected[s].forward, 3),
                    fixed(each * actual[s].forward, 3), fixed(each * expected[s].backward, 3),
                    fixed(each * actual[s].backward, 3), ratio_text(over(actual[s].all(), expected[s].all())),
                    std::to_string(stage.count) + ": " + stage.operators});
  }
  const double ratio = over(measured.seconds, simulated.seconds);
  return counted(step.stages.size(), "stage") + " at " + counted(step.ranks.size(), "place") +
         "; the passes of a step of " + std::to_string(step.batch) + " samples took " +
         fixed(1e3 * measured.seconds, 3) + " ms" +
         (ratio > 0 ? ", " + fixed(ratio, 2) + " times the simulated time" : "") + "\n" + text_table(rows);
}

std::string charts_text(const TimedStep& step) {
  std::vector<std::string> labels(step.ranks.size());
  for (std::size_t p = 0; p < step.ranks.size(); ++p) {
    std::vector<std::uint32_t> stages;
    for (const TimedStep::Pass& pass : step.ranks[p]) stages.push_back(pass.stage);
    std::ranges::sort(stages);
    stages.erase(std::ranges::unique(stages).begin(), stages.end());
    labels[p] = ranges(stages);
  }
  const SimulationResult simulated = step.simulated(), measured = step.measured();
  return "  simulated, " + fixed(1e3 * simulated.seconds, 3) + " ms\n" + gantt(simulated, labels) + "  measured, " +
         fixed(1e3 * measured.seconds, 3) + " ms\n" + gantt(measured, labels);
}

}  // namespace lanista::pipeline
