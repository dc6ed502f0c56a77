#include "lanista/app/cli/show_plan.h"

#include <cstdio>
#include <iostream>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/leaderboard.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/text_table.h"
#include "lanista/app/cli/version.h"
#include "lanista/base/clock.h"
#include "lanista/engine/core/executor.h"
#include "lanista/exec/train/evaluation.h"
#include "lanista/io/store/cost_rows.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/refinements.h"

namespace lanista::cli {
namespace {

using nlohmann::json;

constexpr double kSeconds = 0.4;
constexpr std::int64_t kEnoughSamples = 1000;  // more samples make the log longer and no mean better

/// Sums over some lines of a plan.
struct PlanTotals {
  double flops = 0, bytes = 0, predicted = 0, measured = 0;
};

double predicted(const TimedPlan& plan, std::size_t line) {
  return plan.prices().us(plan.lines[line].flops, plan.lines[line].bytes);
}

/// The sums of a training step with its commit section, or of a prediction.
PlanTotals plan_totals(const TimedPlan& plan, bool prediction) {
  PlanTotals totals;
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    if ((plan.lines[i].section == "infer") != prediction) continue;
    totals.flops += plan.lines[i].flops;
    totals.bytes += plan.lines[i].bytes;
    totals.predicted += predicted(plan, i);
    totals.measured += plan.times.line_us[i];
  }
  return totals;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// The share of the machine's peak arithmetic, in percent; empty for a line without arithmetic.
std::string share_of_peak(const TimedPlan& plan, double flops, double us) {
  if (flops == 0 || us == 0) return "";
  return fixed(100 * flops / (1e3 * us * plan.machine.peak_gflops), 0) + " %";
}

json values_json(const std::vector<program::PlanValue>& values) {
  json all = json::array();
  for (const auto& value : values) {
    all.push_back({{"shape", value.shape.text()}, {"layout", value.layout}, {"place", value.address}});
  }
  return all;
}

json totals_json(const PlanTotals& totals) {
  return {{"flops", totals.flops},
          {"bytes", totals.bytes},
          {"predicted_us", totals.predicted},
          {"measured_us", totals.measured}};
}

Result<TimedPlan> timed_plan(const LoadedTrial& loaded) {
  LANISTA_ASSIGN(const data::DataSpec data, data::parse_spec(loaded.view.data));
  LANISTA_ASSIGN(const auto recipe, study::recipe_of(loaded.view.config, engine::loss_name(loaded.view.config, data),
                                                     loaded.trial().proposal));
  LANISTA_ASSIGN(auto timed, runtime::timed_program(loaded.model, loaded.ops, {recipe.loss, recipe.optimizer},
                                                    train::program_options_of(recipe), recipe.batch, kSeconds));
  return TimedPlan{.lines = std::move(timed.lines),
                   .bytes = timed.bytes,
                   .machine = program::measure_cpu_speed(),
                   .times = std::move(timed.times)};
}

/// Appends the measured times to the log, for nodes with too few samples there. Errors: those of writing.
Result<void> log_costs(const std::string& folder, const plan::CostTable& measured) {
  LANISTA_ASSIGN(const auto records, store::read_log(real_file_system(), folder));
  LANISTA_ASSIGN(const auto known, store::costs_of_log(records));
  plan::CostTable new_rows;
  for (const auto& [key, row] : measured.rows()) {
    const auto* old = known.find(key);
    if (old == nullptr || old->samples < kEnoughSamples) new_rows.put(key, row);
  }
  if (new_rows.rows().empty()) return {};
  const RealClock clock;
  LANISTA_ASSIGN(auto log, store::LogWriter::open(real_file_system(), clock, folder));
  LANISTA_TRY(log.append(store::RecordType::kCostRows, store::cost_rows_body(new_rows)));
  return log.sync();
}

}  // namespace

plan::CostKey measured_here() {
  return {.work = "", .lanes = 1, .cpu = program::cpu_model(), .threads = 1, .version = std::string(kVersion)};
}

plan::CostPrices TimedPlan::prices() const {
  // All values of one lane are reused in each step, so they stay in the first cache level that holds them.
  return {.gflops = machine.peak_gflops, .gb_per_second = machine.level_of(bytes).gb_per_second};
}

plan::CostTable TimedPlan::costs() const {
  plan::CostTable table;
  plan::CostKey key = measured_here();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    key.work = lines[i].cost_key();
    table.put(
        key,
        {.microseconds = times.line_us[i], .flops = lines[i].flops, .bytes = lines[i].bytes, .samples = times.samples});
  }
  return table;
}

std::string plan_text(const TimedPlan& plan) {
  std::vector<TableRow> rows{
      {"", "node", "kernel", "kB", "kflop", "predicted us", "measured us", "of peak", "from", "to"}};
  const auto add = [&](TableRow head, const PlanTotals& totals, TableRow tail) {
    for (auto& cell : TableRow{fixed(totals.bytes / 1e3, 1), totals.flops == 0 ? "" : fixed(totals.flops / 1e3, 0),
                               fixed(totals.predicted, 2), fixed(totals.measured, 2),
                               share_of_peak(plan, totals.flops, totals.measured)}) {
      head.push_back(std::move(cell));
    }
    head.insert(head.end(), tail.begin(), tail.end());
    rows.push_back(std::move(head));
  };
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    const program::PlanLine& line = plan.lines[i];
    add({line.section, line.node ? "%" + std::to_string(line.node->value) : "", line.kernel},
        {line.flops, line.bytes, predicted(plan, i), plan.times.line_us[i]},
        {program::values_text(line.inputs), program::values_text(line.outputs)});
  }
  add({"step", "", "all of train and commit"}, plan_totals(plan, false), {"", ""});
  add({"predict", "", "all of infer"}, plan_totals(plan, true), {"", ""});

  const auto& level = plan.machine.level_of(plan.bytes);
  return " " + plan.lines.front().family + ", batch " + std::to_string(plan.lines.front().batch) + ", " +
         fixed(static_cast<double>(plan.bytes) / 1e3, 1) + " kB for one lane; peak " +
         fixed(plan.machine.peak_gflops, 0) + " GFLOP/s, " + level.level + " " + fixed(level.gb_per_second, 0) +
         " GB/s\n\n" + text_table(rows, {false, false, false, true, true, true, true, true, false, false}) +
         "\n a whole step needs " + fixed(plan.times.step_us, 2) + " us (medians of " +
         std::to_string(plan.times.samples) + " rounds)\n";
}

json plan_json(const TimedPlan& plan) {
  json lines = json::array();
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    const program::PlanLine& line = plan.lines[i];
    lines.push_back({{"section", line.section},
                     {"node", line.node ? json(line.node->value) : json()},
                     {"op", line.op},
                     {"kernel", line.kernel},
                     {"family", line.family},
                     {"attrs", line.attrs},
                     {"from", values_json(line.inputs)},
                     {"to", values_json(line.outputs)},
                     {"flops", line.flops},
                     {"bytes", line.bytes},
                     {"predicted_us", predicted(plan, i)},
                     {"measured_us", plan.times.line_us[i]}});
  }
  const auto& level = plan.machine.level_of(plan.bytes);
  return {{"v", 1},
          {"batch", plan.lines.front().batch},
          {"lanes", 1},
          {"bytes", plan.bytes},
          {"peak_gflops", plan.machine.peak_gflops},
          {"level", level.level},
          {"gb_per_second", level.gb_per_second},
          {"lines", std::move(lines)},
          {"step", totals_json(plan_totals(plan, false))},
          {"predict", totals_json(plan_totals(plan, true))},
          {"step_us", plan.times.step_us},
          {"samples", plan.times.samples}};
}

std::string timed_step_text(const study::TrialStep& step, TrialId trial) {
  const std::string where =
      step.trial == trial ? "" : ", timed in trial #" + std::to_string(step.trial.value) + " of the same model";
  return "in stages" + where + ": " + pipeline::stages_text(*step.step) + pipeline::charts_text(*step.step);
}

json timed_step_json(const study::TrialStep& step) {
  const pipeline::TimedStep& timed = *step.step;
  json out = pipeline::timed_step_json(timed);
  out["trial"] = step.trial.value;
  out["simulated_seconds"] = timed.simulated().seconds;
  out["measured_seconds"] = timed.measured().seconds;
  out["ratio"] = timed.ratio();
  out["stage_ratios"] = json::array();
  for (std::uint32_t s = 0; s < timed.stages.size(); ++s) out["stage_ratios"].push_back(timed.ratio_of(s));
  return out;
}

int show_plan(const std::string& target, bool as_json) {
  const auto loaded = load_trial(parse_target(target).has_trial ? target : target + "#");
  if (!loaded) return print_error(loaded.error());
  const auto plan = timed_plan(*loaded);
  if (!plan) return print_error(plan.error());
  const auto timed = study::timed_step_of(loaded->view, loaded->trial(), loaded->ops);
  if (as_json) {
    auto out = plan_json(*plan);
    out["trial"] = loaded->trial().id.value;
    if (timed) out["pipeline"] = timed_step_json(*timed);
    std::cout << json_line(out);
  } else {
    std::cout << "trial #" << loaded->trial().id.value << "  "
              << printable(lineage_text(loaded->view, loaded->trial().proposal)) << "\n"
              << printable_lines(plan_text(*plan));
    if (timed) {
      std::cout << "\n" << printable_lines(timed_step_text(*timed, loaded->trial().id));
    } else if (loaded->view.config.run.pipeline != 1) {
      std::cout << "\nin stages (run.pipeline): the log has no timed step of this model\n";
    }
  }
  if (const auto logged = log_costs(loaded->folder, plan->costs()); !logged) {
    std::cerr << "lanista: the measured times are not stored: " << one_line(logged.error().text()) << "\n";
  }
  return kDone;
}

}  // namespace lanista::cli
