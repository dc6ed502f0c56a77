#include "lanista/engine/remote/helper_assignment.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "lanista/plan/elastic/elastic.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/step_profile.h"

namespace lanista::engine {
namespace {

constexpr std::int64_t kMaxWidth = 8;  ///< Largest run.width.
constexpr const char* kSharedMemory = "/dev/shm";
constexpr double kDefaultSerialFraction = 0.1;  ///< Share of a step, if it was not measured.
constexpr double kJoinSeconds = 0.001;          ///< Seconds that a trial loses when its helpers change.
constexpr double kMinRelativeChange = 0.1;      ///< Change of a step's seconds.
constexpr std::size_t kMaxWorkersForPolicy =
    32;  ///< Most workers for the policy that looks ahead, which needs 1 ms then.

/// Prefix of the session folder; 16 random digits follow. Executors with the same socket name have the same prefix.
std::string folder_prefix(const std::string& socket) {
  std::string out(kSharedMemory);
  out += "/lanista-";
  out += hash_text(socket).hex();
  out += '-';
  return out;
}

/// Whether the name is one of a session file: a number, with `.new` at the end until the file is complete.
bool is_session_name(std::string_view name) {
  if (name.ends_with(".new")) name.remove_suffix(4);
  return !name.empty() && name.size() <= 20 && name.find_first_not_of("0123456789") == name.npos;
}

/// Fits seconds = shared / width + overhead, with both terms at least 0. Returns shared and overhead.
std::pair<double, double> fit_step_seconds(const std::map<std::int64_t, double>& seconds) {
  const auto n = static_cast<double>(seconds.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [width, step] : seconds) {
    const double share = 1 / static_cast<double>(width);
    x += share, y += step, xx += share * share, xy += share * step;
  }
  const double shared = std::max(0.0, (n * xy - x * y) / (n * xx - x * x));
  const double overhead = (y - shared * x) / n;
  return overhead >= 0 ? std::pair(shared, overhead) : std::pair(xy / xx, 0.0);
}

}  // namespace

HelperAssignment::HelperAssignment(std::int64_t width, std::size_t workers, const std::string& socket,
                                   std::shared_ptr<const TimingHistory> known)
    : width_(width),
      max_width_(width == study::kAutoWidth ? std::min<std::int64_t>(kMaxWidth, static_cast<std::int64_t>(workers))
                                            : width),
      folder_prefix_(folder_prefix(socket)),
      timing_history_(std::move(known)),
      workers_(workers),
      policy_(plan::policy_of_helpers()),
      fallback_policy_(plan::deadline_policy({.keeps_arrival_order = true})) {
  clear_sessions();
}

HelperAssignment::~HelperAssignment() {
  if (folder_) folder_->remove(is_session_name);
}

void HelperAssignment::clear_sessions() const {
  if (max_width_ > 1) PrivateFolder::sweep(folder_prefix_, is_session_name);
}

std::string HelperAssignment::new_session() {
  if (!folder_) {
    auto made = PrivateFolder::create(folder_prefix_);
    if (made) folder_ = *std::move(made);
  }
  // Without a folder no session file can be made, so trials keep width 1.
  return (folder_ ? folder_->path() : folder_prefix_) + "/" + std::to_string(sessions_made_++);
}

bool HelperAssignment::measures_widths() const { return width_ == study::kAutoWidth; }

void HelperAssignment::note(const Job& job) {
  programs_.erase(job.trial);
  if (max_width_ < 2) return;
  const auto shape = study::step_shape(job.model, ops_, job.recipe);
  if (!shape) return;  // its worker will report the error
  Program program{shape->program, shape->nominal_step(), 1};
  const double of_step = 3 * static_cast<double>(shape->batch) * shape->flops;
  if (of_step > 0) program.steps = std::max(1.0, job.logical_epoch / of_step);
  if (timing_history_) {
    if (measures_widths())
      widths_.set_known_seconds(shape->program, timing_history_->step_seconds_by_width(shape->program));
    const auto expected = timing_history_->expected(*shape, 1, 1, static_cast<std::int64_t>(workers_));
    if (expected && expected->step > 0) program.step = expected->step;
  }
  programs_.emplace(job.trial, std::move(program));
}

void HelperAssignment::note(const SpanReport& span) {
  const auto at = programs_.find(span.trial);
  if (at == programs_.end() || span.lanes != 1 || span.costs.steps < 1) return;
  Program& program = at->second;
  program.steps = std::max(program.steps, static_cast<double>(span.costs.steps));
  widths_.observe(program.key, span.width, span.costs.stepping / static_cast<double>(span.costs.steps));
  const double step = plan::seconds_at(predicted_step(program), 1);
  double& before = decided_step_seconds_[program.key];
  if (std::abs(step - before) <= kMinRelativeChange * before) return;
  before = step;
  ++num_time_changes_;
}

std::int64_t HelperAssignment::max_width_of(const Lease& lease) const {
  const std::int64_t max_width = std::min(max_width_, lease.job.recipe.shards);
  const auto program = programs_.find(lease.job.trial);
  if (!lease.accepts_helpers() || program == programs_.end()) return 1;
  return measures_widths() ? widths_.next_width(program->second.key, max_width) : max_width;
}

plan::Prediction HelperAssignment::predicted_step(const Program& program) const {
  const std::map<std::int64_t, double> seconds = widths_.seconds(program.key);
  const double serial =
      timing_history_ ? timing_history_->serial_fraction().value_or(kDefaultSerialFraction) : kDefaultSerialFraction;
  plan::Prediction step = plan::prediction_of(program.step, serial);
  if (measures_widths() && seconds.size() > 1) {
    std::tie(step.work, step.overhead) = fit_step_seconds(seconds);
  } else if (!seconds.empty()) {
    const auto& [width, measured] = *seconds.begin();
    step = plan::prediction_of(measured / (serial + (1 - serial) / static_cast<double>(width)), serial);
  }
  step.resize = kJoinSeconds;
  return step;
}

/// Prediction for all epochs that the trial may train now.
plan::Prediction HelperAssignment::expected(const Lease& lease) const {
  const auto program = programs_.find(lease.job.trial);
  if (program == programs_.end()) return {};
  plan::Prediction out = predicted_step(program->second);
  out.steps =
      program->second.steps * static_cast<double>(std::max<std::int64_t>(0, lease.allowed - lease.num_reported_epochs));
  return out;
}

std::map<std::size_t, TrialId> HelperAssignment::decide(const Leases& leases, const DecisionInputs& inputs,
                                                        double now) {
  plan::HelperInput helper_input;
  helper_input.now = now;
  helper_input.is_alive = inputs.ready;
  helper_input.helping = inputs.helping;
  helper_input.target = aim_;
  std::set<std::int32_t> with_work;
  for (const DecisionInputs::Trial& trial : inputs.trials) {
    helper_input.trials.push_back(
        {trial.trial, trial.worker, trial.has_work, trial.max_width, expected(leases.all().at(trial.trial))});
    if (trial.has_work) with_work.insert(trial.worker);
  }
  plan::Helpers decided =
      plan::assign_helpers(helper_input, with_work.size() > kMaxWorkersForPolicy ? *fallback_policy_ : *policy_);
  ++times_decided_;
  aim_ = decided.target;
  return std::move(decided.helping);
}

void HelperAssignment::send(Leases& leases, const std::vector<bool>& ready, double now,
                            const SendCommand& send_command) {
  if (max_width_ < 2) return;
  DecisionInputs inputs;
  inputs.ready = ready;
  inputs.helping = trials_by_helper_;
  inputs.num_time_changes = num_time_changes_;
  std::vector<bool> idle = ready;
  for (const auto& [id, lease] : leases.all()) {
    if (lease.has_work()) idle[lease.worker] = false;
    inputs.trials.push_back({id, lease.token, static_cast<std::int32_t>(lease.worker), max_width_of(lease),
                             lease.allowed, lease.has_work()});
  }
  if (inputs == last_inputs_) return;
  std::erase_if(programs_, [&](const auto& each) { return leases.find(each.first) == nullptr; });
  std::map<std::size_t, TrialId> wanted;
  if (std::ranges::find(idle, true) != idle.end()) wanted = decide(leases, inputs, now);
  for (const auto& [worker, trial] : std::exchange(trials_by_helper_, std::move(wanted))) {
    if (trials_by_helper_.contains(worker)) continue;
    send_command(worker, HelpTrial{});
    sessions_.erase(worker);
  }
  for (const auto& [worker, trial] : trials_by_helper_) {
    Lease& lease = *leases.find(trial);
    if (lease.session.empty()) {
      lease.session = new_session();
      send_command(lease.worker, AcceptHelpers{trial, lease.session});
    }
    if (sessions_[worker] == lease.session) continue;
    sessions_[worker] = lease.session;
    send_command(worker, HelpTrial{Leases::job_to_send(lease), lease.session});
  }
  last_inputs_ = std::move(inputs);
  last_inputs_.helping = trials_by_helper_;
}

void HelperAssignment::mark_lost(std::size_t worker, Leases& leases) {
  sessions_.erase(worker);
  if (const auto helped = trials_by_helper_.find(worker); helped != trials_by_helper_.end()) {
    if (Lease* lease = leases.find(helped->second)) ++lease->helper_losses;
    trials_by_helper_.erase(helped);
  }
  if (!folder_) return;
  for (const TrialId trial : leases.of(worker)) {
    const std::string& session = leases.find(trial)->session;
    if (!session.empty()) folder_->remove_file(session.substr(session.rfind('/') + 1));
  }
}

}  // namespace lanista::engine
