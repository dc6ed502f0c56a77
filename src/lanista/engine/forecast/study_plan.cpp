#include "lanista/engine/forecast/study_plan.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lanista/engine/core/check_config.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/forecast/plan_members.h"
#include "lanista/model/graph/model_cut.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/graph/text.h"
#include "lanista/plan/sharing/group.h"
#include "lanista/search/study/program_key.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {
namespace {

using nlohmann::json;

/// Samples the first proposals of a study.
class FirstProposals {
 public:
  FirstProposals(const study::StudyConfig& config, const data::DataSpec& data,
                 std::shared_ptr<const mutate::ModelSpace> models, const plan::CostPrices& prices)
      : config_(config), models_(std::move(models)), members_(config, data, models_, prices) {}

  /// Returns at most `num_wanted` members and sets the other fields of `out`.
  Result<std::vector<sharing::FusionMember>> sample(std::int64_t num_wanted, StudyPlan& out) {
    LANISTA_ASSIGN(const auto strategy, make_strategy(config_, models_));
    std::vector<sharing::FusionMember> members;
    int duplicates = 0;
    while (static_cast<std::int64_t>(members.size()) < num_wanted) {
      auto group = strategy->suggest({1});
      if (!group && group.error().code != Code::kResourceExhausted) return std::move(group).error();
      const auto proposals = group ? group->proposals() : std::vector<study::Proposal>();
      if (proposals.empty()) {
        out.exhausted_reason = group ? "the strategy has nothing left to propose" : group.error().message;
        break;
      }
      study::TrialView trial;
      trial.id = TrialId{static_cast<std::uint32_t>(++proposed_)};
      trial.proposal = proposals.front();
      strategy->observe(study::Proposed{trial.id, trial.proposal});
      const auto [first, fresh] = keys_.emplace(study::run_key(trial.proposal), trial.id);
      if (fresh) {
        LANISTA_ASSIGN(PlannedMember made, members_.make(trial));
        trials_.push_back(made.trial);
        members.push_back(std::move(made.member));
        planned_.push_back(std::move(made));  // without its member, which was moved
        duplicates = 0;
        continue;
      }
      ++out.duplicates;
      strategy->observe(study::Ended{trial.id, {study::OutcomeKind::kDuplicate, "", first->second, "", {}}});
      if (++duplicates == kMaxDuplicatesInARow) {
        out.exhausted_reason = "the strategy proposes only what was tried before";
        break;
      }
    }
    return members;
  }

  /// The trials for the planner, in the order of the members.
  const std::vector<plan::PlannedTrial>& trials() const { return trials_; }
  /// The planned members, without the moved `member`.
  const std::vector<PlannedMember>& planned() const { return planned_; }

 private:
  const study::StudyConfig& config_;
  std::shared_ptr<const mutate::ModelSpace> models_;
  PlanMemberBuilder members_;
  std::vector<plan::PlannedTrial> trials_;
  std::vector<PlannedMember> planned_;
  std::unordered_map<Digest, TrialId> keys_;  // only looked up
  std::int64_t proposed_ = 0;
};

/// The prefixes that workers compute once for all trials (runtime::FrozenParts), by the same rule.
Result<std::vector<SharedPrefix>> shared_prefixes(std::span<const sharing::FusionMember> members,
                                                  const FrozenPart& frozen, const study::StudyConfig& config,
                                                  const data::DataSpec& data, const graph::OpTable& ops,
                                                  std::int64_t bytes) {
  std::vector<SharedPrefix> found;
  if (frozen.nodes.empty()) return found;
  for (const sharing::FusionMember& member : members) {
    LANISTA_ASSIGN(const graph::Cut cut, graph::cut_behind_frozen(member.model, frozen.nodes, ops));
    std::string text = graph::to_text(cut.prefix);
    const auto known = std::ranges::find(found, text, &SharedPrefix::text);
    if (known != found.end()) {
      known->trials.push_back(member.trial);
      continue;
    }
    const graph::Port value = cut.prefix.node(cut.prefix.nodes_of("output").front()).inputs.front();
    SharedPrefix prefix{.trials = {member.trial},
                        .through = graph::port_text(value) + " " + cut.prefix.node(value.node).op,
                        .text = std::move(text),
                        .cache = {}};
    LANISTA_ASSIGN(prefix.cache, frozen_cache_plan(cut.prefix, frozen, data, !config.data.augment.empty(), bytes));
    found.push_back(std::move(prefix));
  }
  return found;
}

/// Adds predicted times. Groups that train at the same time slow each other down, as in the earlier studies.
void add_times(StudyPlan& out, const std::vector<PlannedMember>& planned,
               const std::vector<std::vector<std::size_t>>& programs, const TimingHistory& known) {
  const std::int64_t residents = std::min<std::int64_t>(out.machine.workers, std::ssize(programs));
  out.times.resize(planned.size());
  for (const auto& members : programs) {
    for (const std::size_t m : members) out.times[m] = member_time(planned[m], known, std::ssize(members), residents);
  }
  out.known = known.text();
}

/// Work as in logical_epoch_of (engine/core): samples times the FLOPs of their steps.
double work_of(const PlannedMember& member) {
  return static_cast<double>(member.full_epochs) * static_cast<double>(member.epochs.length) *
         static_cast<double>(member.epochs.batch) * 3 * std::max(member.shape.flops, 1.0);
}

/// The groups of each device, with trials assigned as the engine does. Group sizes follow the lanes of the device.
plan::GroupPlan plan_by_device(const std::vector<plan::PlannedTrial>& trials, const std::vector<PlannedMember>& planned,
                               const PlanRequest& request, std::vector<DeviceShare>& shares) {
  std::vector<plan::DeviceLoad> loads;
  std::vector<std::vector<plan::PlannedTrial>> of_device(request.devices.size());
  for (std::size_t d = 0; d < request.devices.size(); ++d) {
    loads.push_back({request.speeds[d], 0});
    shares.push_back({request.devices[d].name, {}, 0, 0});
  }
  double all = 0;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    const double work = work_of(planned[t]);
    const std::size_t device = plan::choose_device(loads, work);
    loads[device].work += work;
    all += work;
    of_device[device].push_back(trials[t]);
    shares[device].trials.push_back(trials[t].id);
  }
  plan::GroupPlan plan;
  for (std::size_t d = 0; d < shares.size(); ++d) {
    shares[d].share = all > 0 ? loads[d].work / all : 0;
    shares[d].seconds = loads[d].work / loads[d].speed.together;
    for (plan::Group& group : plan::make_plan(of_device[d], request.devices[d].machine).groups) {
      plan.groups.push_back(std::move(group));
    }
  }
  std::ranges::sort(plan.groups, {}, [](const plan::Group& group) { return group.trials.front(); });
  return plan;
}

std::string numbers(const plan::Group& group) {
  std::string text = group.trials.size() == 1 ? "trial" : "trials";
  for (const TrialId trial : group.trials) text += " " + std::to_string(trial.value);
  return text;
}

std::string share_text(const DeviceShare& share) {
  char text[64];
  std::snprintf(text, sizeof text, ", %.0f %% of the work, %.3g s at the measured speed", 100 * share.share,
                share.seconds);
  const std::string trials = share.trials.empty() ? "no trial" : numbers(plan::Group{share.trials});
  return "device " + share.name + ": " + trials + (share.trials.empty() ? "" : text) + "\n";
}

std::string prefix_text(const SharedPrefix& prefix, bool augmented) {
  const sharing::Materialized& keeping = prefix.cache;
  std::string text = "frozen through " + prefix.through + ", shared by " + std::to_string(prefix.trials.size()) +
                     (prefix.trials.size() == 1 ? " trial" : " trials") + ": ";
  if (!keeping.pays) return text + "computed for each batch: " + keeping.why_not + "\n";
  return text + (augmented ? "cached for validation rows, " : "cached, ") +
         std::to_string(keeping.bytes_per_sample * keeping.num_samples / 1000) + " kB, " +
         std::to_string(keeping.epochs) + " epochs read it\n";
}

/// Discarded steps of a plan's trials.
struct ExtraStepsShare {
  std::int64_t own = 0, expected = 0, most = 0, searches = 0;
};

ExtraStepsShare extra_steps_share_of(const StudyPlan& plan) {
  ExtraStepsShare out;
  for (std::size_t m = 0; m < plan.extra.size(); ++m) {
    out.own += plan.steps_without_extra[m];
    out.expected += plan.extra[m].expected_steps();
    out.most += plan.extra[m].most;
    out.searches += plan.extra[m].searches;
  }
  return out;
}

std::string extra_steps_text(const StudyPlan& plan) {
  const ExtraStepsShare extra = extra_steps_share_of(plan);
  if (extra.most == 0) return "";
  std::string text = "in addition to their own " + std::to_string(extra.own) + " steps they train about " +
                     std::to_string(extra.expected) + " that are discarded, at most " + std::to_string(extra.most) +
                     " by the rules";
  if (extra.searches > 0) {
    text += ": " + std::to_string(extra.searches) +
            " tune searches, if each trial improves through the first third of its epochs and no branch diverges";
  }
  return text + "\n";
}

std::string count_text(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

double separate_us(const sharing::FusedGroup& group) {
  if (group.parts.empty()) return group.us;
  double us = 0;
  for (const sharing::FusedGroup& part : group.parts) us += separate_us(part);
  return us;
}

}  // namespace

MemberTime member_time(const PlannedMember& member, const TimingHistory& known, std::int64_t lanes,
                       std::int64_t residents) {
  const auto expected = known.expected(member.shape, 1, lanes, residents);
  if (!expected) return {};
  const std::int64_t steps = member.epochs.steps_through(member.full_epochs) + member.extra.expected_steps();
  return {expected->measured, expected->set_up + expected->seconds(steps, member.full_epochs, member.validation_rows),
          expected->step};
}

Result<StudyPlan> plan_study(const study::StudyConfig& config, const data::DataSpec& data,
                             std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request) {
  LANISTA_TRY(check_config(config));
  const std::int64_t asked = request.trials.value_or(config.strategy.slots);
  if (asked < 1) {
    return Error{Code::kInvalidArgument, "a plan of " + std::to_string(asked) + " trials; at least 1 is needed", ""};
  }
  StudyPlan out;
  out.machine = request.machine;
  const graph::OpTable ops = models->ops();
  const auto& then = config.strategy.then;
  out.num_refinements = then ? then->best : 0;
  const std::int64_t budget = config.budget.trials ? *config.budget.trials - out.num_refinements : asked;
  const FrozenPart frozen = frozen_part(config, data, models->frozen(), "");
  FirstProposals beginning(config, data, std::move(models), request.costs.prices);
  LANISTA_ASSIGN(auto members, beginning.sample(std::min(asked, budget), out));
  if (members.empty()) return Error{Code::kResourceExhausted, out.exhausted_reason, "strategy"};
  if (request.devices.empty()) {
    out.plan = plan::make_plan(beginning.trials(), request.machine);
  } else {
    out.plan = plan_by_device(beginning.trials(), beginning.planned(), request, out.devices);
    out.machine.workers = 0;
    for (const TrainingDevice& device : request.devices) out.machine.workers += device.machine.workers;
  }
  out.augmented = !config.data.augment.empty();
  LANISTA_ASSIGN(out.prefixes, shared_prefixes(members, frozen, config, data, ops, request.machine.bytes));

  std::map<TrialId, std::size_t> indices;
  for (const sharing::FusionMember& member : members) indices.emplace(member.trial, indices.size());
  std::vector<std::vector<std::size_t>> programs;
  for (const plan::Group& group : out.plan.groups) {
    programs.emplace_back();
    for (const TrialId trial : group.trials) programs.back().push_back(indices.at(trial));
  }
  LANISTA_ASSIGN(out.predicted, sharing::plan_of(std::move(members), programs, ops, request.costs));
  for (const PlannedMember& member : beginning.planned()) {
    out.extra.push_back(member.extra);
    out.steps_without_extra.push_back(member.epochs.steps_through(member.full_epochs));
  }
  if (request.known && !request.known->empty()) add_times(out, beginning.planned(), programs, *request.known);
  return out;
}

std::string plan_text(const StudyPlan& plan, bool with_explanation) {
  std::string text = "the first " + count_text(plan.predicted.graph.members.size(), "trial") +
                     " of the study, before any result, on " +
                     count_text(static_cast<std::size_t>(plan.machine.workers), "worker");
  if (plan.duplicates > 0) {
    text += "; " + count_text(static_cast<std::size_t>(plan.duplicates), "duplicate") + " left out";
  }
  text += "\n";
  for (const SharedPrefix& prefix : plan.prefixes) text += prefix_text(prefix, plan.augmented);
  if (!plan.known.empty()) text += "times known: " + plan.known + "\n";
  if (!plan.exhausted_reason.empty()) text += "no more: " + plan.exhausted_reason + "\n";
  for (const DeviceShare& share : plan.devices) text += share_text(share);
  for (std::size_t g = 0; g < plan.plan.groups.size(); ++g) {
    const sharing::FusedGroup& group = plan.predicted.groups[g];
    const bool is_alone = group.parts.empty();
    text += "group " + std::to_string(g + 1) + ": " + numbers(plan.plan.groups[g]) +
            (is_alone ? " alone, " : ", lanes of one program, ") + sharing::us_text(group.us) + " a step predicted" +
            (plan.devices.empty() ? "" : " with lanista kernels") +
            (is_alone ? "" : ", " + sharing::us_text(separate_us(group)) + " apart") + ", " +
            std::to_string(group.bytes / 1000) + " kB\n";
  }
  text += extra_steps_text(plan);
  if (plan.num_refinements > 0) {
    text += "when the search has ended, its best " +
            (plan.num_refinements == 1 ? "trial is" : std::to_string(plan.num_refinements) + " are") +
            " trained once more as refinements (strategy.then); they are not known yet\n";
  }
  return with_explanation ? text + "\n" + sharing::explain(plan.predicted) : text;
}

json plan_json(const StudyPlan& plan, bool with_explanation) {
  json groups = json::array();
  for (std::size_t g = 0; g < plan.plan.groups.size(); ++g) {
    const sharing::FusedGroup& group = plan.predicted.groups[g];
    json trials = json::array();
    for (const TrialId trial : plan.plan.groups[g].trials) trials.push_back(trial.value);
    groups.push_back(
        {{"trials", std::move(trials)}, {"us", group.us}, {"apart_us", separate_us(group)}, {"bytes", group.bytes}});
  }
  json out{{"v", 2},
           {"trials", plan.predicted.graph.members.size()},
           {"workers", plan.machine.workers},
           {"duplicates", plan.duplicates},
           {"nothing_left", plan.exhausted_reason},
           {"us", plan.predicted.us()},
           {"alone_us", plan.predicted.alone_us},
           {"groups", std::move(groups)}};
  for (const SharedPrefix& prefix : plan.prefixes) {
    json trials = json::array();
    for (const TrialId trial : prefix.trials) trials.push_back(trial.value);
    out["frozen"].push_back({{"through", prefix.through},
                             {"trials", std::move(trials)},
                             {"kept", prefix.cache.pays},
                             {"why_not", prefix.cache.why_not},
                             {"bytes", prefix.cache.bytes_per_sample * prefix.cache.num_samples},
                             {"epochs", prefix.cache.epochs}});
  }
  if (const ExtraStepsShare extra = extra_steps_share_of(plan); extra.most > 0) {
    out["beside"] = {{"own_steps", extra.own},
                     {"steps_expected", extra.expected},
                     {"steps_most", extra.most},
                     {"searches_expected", extra.searches}};
  }
  for (const DeviceShare& share : plan.devices) {
    json trials = json::array();
    for (const TrialId trial : share.trials) trials.push_back(trial.value);
    out["devices"].push_back(
        {{"name", share.name}, {"trials", std::move(trials)}, {"share", share.share}, {"seconds", share.seconds}});
  }
  if (plan.num_refinements > 0) out["finals"] = plan.num_refinements;
  if (!plan.times.empty()) {
    out["known"] = {{"text", plan.known}, {"measured", json::array()}, {"seconds", json::array()}};
    for (const MemberTime& time : plan.times) {
      out["known"]["measured"].push_back(time.measured);
      out["known"]["seconds"].push_back(time.seconds);
    }
  }
  if (with_explanation) out["explained"] = sharing::explain(plan.predicted);
  return out;
}

}  // namespace lanista::engine
