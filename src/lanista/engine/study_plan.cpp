#include "lanista/engine/study_plan.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "lanista/engine/assembly.h"
#include "lanista/engine/executor.h"
#include "lanista/fuse/group.h"
#include "lanista/graph/op.h"
#include "lanista/study/view.h"

namespace lanista::engine {
namespace {

using fuse::DataStep;
using nlohmann::json;

step::StepOptions step_options(const study::Recipe& recipe) {
  return {.loss = recipe.loss == "mse" ? step::Loss::kMse : step::Loss::kCrossEntropy,
          .optimizer = recipe.optimizer == "adam"    ? step::Optimizer::kAdam
                       : recipe.optimizer == "adamw" ? step::Optimizer::kAdamW
                                                     : step::Optimizer::kSgd};
}

/// What happens to a sample on its way into a step: all that touches its features reads and writes them once.
std::vector<DataStep> data_steps(const study::StudyConfig& config, const data::DataSpec& data,
                                 const graph::CostPrices& prices) {
  const std::int64_t bytes = data.features.elements_per_sample() * static_cast<std::int64_t>(sizeof(float));
  const double us = graph::predicted_us(prices, 0, 2 * static_cast<double>(bytes));
  // Data lies in memory normalised, so that is no work of a step.
  std::vector<DataStep> steps{{"normalize(" + config.data.normalize + ")", false, 0, bytes},
                              {"gather", false, us, bytes}};
  for (const study::PluginConfig& augment : config.data.augment) {
    std::string options;
    for (const auto& [name, value] : augment.options.items()) {
      options += (options.empty() ? "" : ", ") + name + "=" + value.dump();
    }
    steps.push_back({augment.name + (options.empty() ? "" : "(" + options + ")"), true, us, bytes});
  }
  return steps;
}

/// The trials a study begins with.
class Beginning {
 public:
  Beginning(const study::StudyConfig& config, const data::DataSpec& data,
            std::shared_ptr<const mutate::ModelSpace> models, const graph::CostPrices& prices)
      : config_(config), data_(data), models_(std::move(models)), steps_(data_steps(config, data, prices)) {}

  /// At most `wanted` members; StudyPlan's other fields are filled in.
  Result<std::vector<fuse::Member>> draw(std::int64_t wanted, StudyPlan& out) {
    LANISTA_ASSIGN(const auto strategy, make_strategy(config_, models_));
    std::vector<fuse::Member> members;
    int duplicates = 0;
    while (static_cast<std::int64_t>(members.size()) < wanted) {
      auto group = strategy->suggest({1});
      if (!group && group.error().code != Code::kResourceExhausted) return std::move(group).error();
      if (!group || group->proposals.empty()) {
        out.nothing_left = group ? "the strategy has nothing left to propose" : group.error().message;
        break;
      }
      study::TrialView trial;
      trial.id = TrialId{static_cast<std::uint32_t>(++proposed_)};
      trial.proposal = std::move(group->proposals.front());
      strategy->observe(study::Proposed{trial.id, trial.proposal});
      const auto [first, fresh] = keys_.emplace(study::duplicate_key(trial.proposal), trial.id);
      if (fresh) {
        LANISTA_ASSIGN(fuse::Member member, member_of(trial));
        members.push_back(std::move(member));
        duplicates = 0;
        continue;
      }
      ++out.duplicates;
      strategy->observe(study::Ended{trial.id, {study::OutcomeKind::kDuplicate, "", first->second, "", {}}});
      if (++duplicates == kMaxDuplicatesInARow) {
        out.nothing_left = "the strategy proposes only what was tried before";
        break;
      }
    }
    return members;
  }

 private:
  Result<fuse::Member> member_of(const study::TrialView& trial) const {
    LANISTA_ASSIGN(graph::Graph model, models_->rebuild(trial.proposal.base, trial.proposal.edits));
    LANISTA_ASSIGN(Job job, make_job(config_, data_, trial, std::move(model)));
    fuse::Recipe recipe{
        .step = step_options(job.recipe),
        .batch_size = job.recipe.batch,
        .data = {.dataset = data_.hash,
                 .order_seed = job.data_seed,
                 .num_samples = data_.split_rows[0],
                 .steps = steps_},
        .epochs = job.recipe.epochs,
        .precision = job.recipe.precision == "float64" ? fuse::Precision::kFloat64 : fuse::Precision::kFloat32};
    return fuse::Member{trial.id, std::move(job.model), {}, std::move(recipe), ""};
  }

  const study::StudyConfig& config_;
  const data::DataSpec& data_;
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::vector<DataStep> steps_;
  std::unordered_map<Digest, TrialId> keys_;  // never walked
  std::int64_t proposed_ = 0;
};

std::string_view form_name(fuse::Form form) {
  switch (form) {
    case fuse::Form::kSingle:
      return "single";
    case fuse::Form::kFused:
      return "fused";
    case fuse::Form::kPacked:
      return "packed";
  }
  return "?";
}

std::string counted(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

double apart_us(const fuse::Group& group) {
  if (group.parts.empty()) return group.us;
  double us = 0;
  for (const fuse::Group& part : group.parts) us += apart_us(part);
  return us;
}

std::string numbers(const fuse::Plan& plan, const std::vector<std::size_t>& members) {
  std::string text = members.size() == 1 ? "trial" : "trials";
  for (const std::size_t member : members) text += " " + std::to_string(plan.graph.members[member].trial.value);
  return text;
}

/// A line for each program with several lanes, and one for all that have one.
std::string programs_text(const fuse::Plan& plan, const fuse::Group& group) {
  std::vector<std::vector<std::size_t>> fused;
  std::vector<std::size_t> alone;
  for (const fuse::LaneProgram& program : group.programs) {
    if (program.members.size() > 1) {
      fused.push_back(program.members);
    } else {
      alone.push_back(program.members.front());
    }
  }
  std::sort(fused.begin(), fused.end());
  std::sort(alone.begin(), alone.end());
  std::string text;
  for (const auto& members : fused) text += "  lanes of one program: " + numbers(plan, members) + "\n";
  if (!alone.empty()) text += "  a program each: " + numbers(plan, alone) + "\n";
  return text;
}

json ids(const fuse::Plan& plan, const std::vector<std::size_t>& members) {
  json all = json::array();
  for (const std::size_t member : members) all.push_back(plan.graph.members[member].trial.value);
  return all;
}

}  // namespace

const std::vector<std::string>& passes_left_out() {
  static const std::vector<std::string> passes{"fan_out", "batch", "materialize"};
  return passes;
}

Result<StudyPlan> plan_study(const study::StudyConfig& config, const data::DataSpec& data,
                             std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request) {
  LANISTA_TRY(check_config(config));
  const std::int64_t asked = request.trials.value_or(config.strategy.slots);
  if (asked < 1) {
    return Error{Code::kInvalidArgument, "a plan of " + std::to_string(asked) + " trials; at least 1 is needed", ""};
  }
  StudyPlan out;
  const graph::OpTable ops = models->ops();
  const std::int64_t budget = config.budget.trials.value_or(asked);
  LANISTA_ASSIGN(auto members,
                 Beginning(config, data, std::move(models), request.prices.calls).draw(std::min(asked, budget), out));
  if (members.empty()) return Error{Code::kResourceExhausted, out.nothing_left, "strategy"};
  // Lanes also save the making of a program, so a join need not be faster to be done.
  fuse::PlanOptions options{.limits = {.bytes = request.bytes, .structural_lanes = false, .min_gain = 0},
                            .off = passes_left_out()};
  options.limits.max_lanes = static_cast<std::size_t>(config.run.lanes > 0 ? config.run.lanes : request.lanes);
  LANISTA_ASSIGN(out.plan, fuse::make_plan(std::move(members), ops,
                                           fuse::TableCost(request.costs, request.machine, request.prices), options));
  return out;
}

std::string plan_text(const StudyPlan& plan, bool explained) {
  const fuse::Plan& all = plan.plan;
  std::string text = "the first " + counted(all.graph.members.size(), "trial") + " of the study, before any result";
  if (plan.duplicates > 0) {
    text += "; " + counted(static_cast<std::size_t>(plan.duplicates), "duplicate") + " passed over";
  }
  text += "\n";
  if (!plan.nothing_left.empty()) text += "no more: " + plan.nothing_left + "\n";
  for (std::size_t g = 0; g < all.groups.size(); ++g) {
    const fuse::Group& group = all.groups[g];
    text += "group " + std::to_string(g + 1) + ": " + std::string(form_name(group.form())) + ", " +
            counted(group.members().size(), "trial") + " in " + counted(group.programs.size(), "program") + ", " +
            fuse::us_text(group.us) + " a step predicted" +
            (group.parts.empty() ? "" : ", " + fuse::us_text(apart_us(group)) + " apart") + ", " +
            std::to_string(group.bytes / 1000) + " kB\n";
    text += programs_text(all, group);
  }
  for (const fuse::Declined& declined : all.declined) {
    text += "declined (" + declined.pass + "): " + numbers(all, declined.members) + ": " + declined.reason + "\n";
  }
  text +=
      "not planned, as executors on a CPU do none of it: operators of different models as one (fan_out, batch), frozen "
      "prefixes kept (materialize)\n";
  return explained ? text + "\n" + fuse::explain(all) : text;
}

json plan_json(const StudyPlan& plan, bool explained) {
  const fuse::Plan& all = plan.plan;
  json groups = json::array();
  for (const fuse::Group& group : all.groups) {
    json programs = json::array();
    for (const fuse::LaneProgram& program : group.programs) programs.push_back(ids(all, program.members));
    groups.push_back({{"form", form_name(group.form())},
                      {"programs", std::move(programs)},
                      {"us", group.us},
                      {"apart_us", apart_us(group)},
                      {"bytes", group.bytes}});
  }
  json declined = json::array();
  for (const fuse::Declined& each : all.declined) {
    declined.push_back({{"pass", each.pass}, {"trials", ids(all, each.members)}, {"reason", each.reason}});
  }
  json out{{"v", 1},
           {"trials", all.graph.members.size()},
           {"duplicates", plan.duplicates},
           {"nothing_left", plan.nothing_left},
           {"us", all.us()},
           {"alone_us", all.alone_us},
           {"groups", std::move(groups)},
           {"declined", std::move(declined)},
           {"passes_left_out", passes_left_out()}};
  if (explained) out["explained"] = fuse::explain(all);
  return out;
}

}  // namespace lanista::engine
