#include "lanista/engine/remote/helping.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "lanista/plan/elastic/elastic.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/profile.h"

namespace lanista::engine {
namespace {

constexpr std::int64_t kWidest = 8;  ///< as run.width
constexpr const char* kSharedMemory = "/dev/shm";
constexpr double kSerial = 0.1;      ///< of a step, where nobody measured it
constexpr double kJoin = 0.001;      ///< seconds that a trial loses when its helpers change
constexpr double kMaterial = 0.1;    ///< of a step's seconds
constexpr std::size_t kMostHomes = 32;  ///< among which the policy looks ahead; that takes a millisecond

/// The folder of sessions is this, and 16 random digits. Another executor of this name has the same prefix.
std::string folder_prefix(const std::string& socket) {
  std::string out(kSharedMemory);
  out += "/lanista-";
  out += hash_text(socket).hex();
  out += '-';
  return out;
}

/// Names of session files: a number, and `.new` behind it before the file is complete.
bool is_session_name(std::string_view name) {
  if (name.ends_with(".new")) name.remove_suffix(4);
  return !name.empty() && name.size() <= 20 && name.find_first_not_of("0123456789") == name.npos;
}

/// The line seconds = shared / width + overhead that fits best, neither of them less than 0.
std::pair<double, double> shared_and_overhead(const std::map<std::int64_t, double>& seconds) {
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

Helping::Helping(std::int64_t width, std::size_t workers, const std::string& socket,
                 std::shared_ptr<const KnownTimes> known)
    : width_(width),
      widest_(width == study::kAutoWidth ? std::min<std::int64_t>(kWidest, static_cast<std::int64_t>(workers)) : width),
      folder_prefix_(folder_prefix(socket)),
      known_(std::move(known)),
      workers_(workers),
      policy_(schedule::policy_of_helpers()),
      quick_policy_(schedule::towards({.in_order = true})) {
  clear_sessions();
}

Helping::~Helping() {
  if (folder_) folder_->remove(is_session_name);
}

void Helping::clear_sessions() const {
  if (widest_ > 1) PrivateFolder::sweep(folder_prefix_, is_session_name);
}

std::string Helping::new_session() {
  if (!folder_) {
    auto made = PrivateFolder::create(folder_prefix_);
    if (made) folder_ = *std::move(made);
  }
  // Without a folder no file can be made either: trials keep the width 1.
  return (folder_ ? folder_->path() : folder_prefix_) + "/" + std::to_string(sessions_made_++);
}

bool Helping::finds_widths() const { return width_ == study::kAutoWidth; }

void Helping::note(const Job& job) {
  programs_.erase(job.trial);
  if (widest_ < 2) return;
  const auto shape = study::step_shape(job.model, ops_, job.recipe);
  if (!shape) return;  // its worker will say so
  Program program{shape->program, shape->nominal_step(), 1};
  const double of_step = 3 * static_cast<double>(shape->batch) * shape->flops;
  if (of_step > 0) program.steps = std::max(1.0, job.logical_epoch / of_step);
  if (known_) {
    if (finds_widths()) widths_.know(shape->program, known_->widths(shape->program));
    const auto expected = known_->expected(*shape, 1, 1, static_cast<std::int64_t>(workers_));
    if (expected && expected->step > 0) program.step = expected->step;
  }
  programs_.emplace(job.trial, std::move(program));
}

void Helping::note(const SpanReport& span) {
  const auto at = programs_.find(span.trial);
  if (at == programs_.end() || span.lanes != 1 || span.costs.steps < 1) return;
  Program& program = at->second;
  program.steps = std::max(program.steps, static_cast<double>(span.costs.steps));
  widths_.observe(program.key, span.width, span.costs.stepping / static_cast<double>(span.costs.steps));
  const double step = schedule::seconds_at(step_of(program), 1);
  double& before = told_[program.key];
  if (std::abs(step - before) <= kMaterial * before) return;
  before = step;
  ++times_changed_;
}

std::int64_t Helping::most_of(const Lease& lease) const {
  const std::int64_t most = std::min(widest_, lease.job.recipe.shards);
  const auto program = programs_.find(lease.job.trial);
  if (!lease.takes_helpers() || program == programs_.end()) return 1;
  return finds_widths() ? widths_.wanted(program->second.key, most) : most;
}

schedule::Prediction Helping::step_of(const Program& program) const {
  const std::map<std::int64_t, double> seconds = widths_.seconds(program.key);
  const double serial = known_ ? known_->serial().value_or(kSerial) : kSerial;
  schedule::Prediction step = schedule::prediction_of(program.step, serial);
  if (finds_widths() && seconds.size() > 1) {
    std::tie(step.work, step.overhead) = shared_and_overhead(seconds);
  } else if (!seconds.empty()) {
    const auto& [width, measured] = *seconds.begin();
    step = schedule::prediction_of(measured / (serial + (1 - serial) / static_cast<double>(width)), serial);
  }
  step.resize = kJoin;
  return step;
}

/// Of all that it may train now.
schedule::Prediction Helping::expected(const Lease& lease) const {
  const auto program = programs_.find(lease.job.trial);
  if (program == programs_.end()) return {};
  schedule::Prediction out = step_of(program->second);
  out.steps = program->second.steps * static_cast<double>(std::max<std::int64_t>(0, lease.allowed - lease.told));
  return out;
}

std::map<std::size_t, TrialId> Helping::decide(const Leases& leases, const Asked& asked, double now) {
  schedule::Homes homes;
  homes.now = now;
  homes.there = asked.ready;
  homes.helping = asked.helping;
  homes.aim = aim_;
  std::set<std::int32_t> with_work;
  for (const Asked::Trial& trial : asked.trials) {
    homes.trials.push_back(
        {trial.trial, trial.home, trial.has_work, trial.most, expected(leases.all().at(trial.trial))});
    if (trial.has_work) with_work.insert(trial.home);
  }
  schedule::Helpers decided =
      schedule::assign_helpers(homes, with_work.size() > kMostHomes ? *quick_policy_ : *policy_);
  ++times_asked_;
  aim_ = decided.aim;
  return std::move(decided.helping);
}

void Helping::send(Leases& leases, const std::vector<bool>& ready, double now, const Tell& tell) {
  if (widest_ < 2) return;
  Asked asked;
  asked.ready = ready;
  asked.helping = helping_;
  asked.times = times_changed_;
  std::vector<bool> idle = ready;
  for (const auto& [id, lease] : leases.all()) {
    if (lease.has_work()) idle[lease.worker] = false;
    asked.trials.push_back({id, lease.token, static_cast<std::int32_t>(lease.worker), most_of(lease), lease.allowed,
                            lease.has_work()});
  }
  if (asked == asked_) return;
  std::erase_if(programs_, [&](const auto& each) { return leases.find(each.first) == nullptr; });
  std::map<std::size_t, TrialId> wanted;
  if (std::ranges::find(idle, true) != idle.end()) wanted = decide(leases, asked, now);
  for (const auto& [worker, trial] : std::exchange(helping_, std::move(wanted))) {
    if (helping_.contains(worker)) continue;
    tell(worker, Help{});
    sessions_.erase(worker);
  }
  for (const auto& [worker, trial] : helping_) {
    Lease& lease = *leases.find(trial);
    if (lease.session.empty()) {
      lease.session = new_session();
      tell(lease.worker, Widen{trial, lease.session});
    }
    if (sessions_[worker] == lease.session) continue;
    sessions_[worker] = lease.session;
    tell(worker, Help{Leases::job_of(lease), lease.session});
  }
  asked_ = std::move(asked);
  asked_.helping = helping_;
}

void Helping::lose(std::size_t worker, Leases& leases) {
  sessions_.erase(worker);
  if (const auto helped = helping_.find(worker); helped != helping_.end()) {
    if (Lease* lease = leases.find(helped->second)) ++lease->helper_losses;
    helping_.erase(helped);
  }
  if (!folder_) return;
  for (const TrialId trial : leases.of(worker)) {
    const std::string& session = leases.find(trial)->session;
    if (!session.empty()) folder_->remove_file(session.substr(session.rfind('/') + 1));
  }
}

}  // namespace lanista::engine
