#include "support/engine/core/fake_executor.h"

#include <algorithm>
#include <limits>

#include "lanista/model/graph/text.h"
#include "lanista/search/study/epoch_schedule.h"

namespace lanista::engine {
namespace {

Digest identity_of(const Job& job) {
  Hasher hasher;
  hasher.text(graph::to_text(job.model)).text(study::recipe_json(job.recipe).dump());
  if (job.start) hasher.text(job.start->plan).text(job.start->address);  // an address identifies the content
  if (job.transfer) hasher.text(zoo::transfer_json(*job.transfer).dump());
  return hasher.finish();
}

std::string measurements_of(const std::vector<study::Measurement>& completed) {
  nlohmann::json measurements = nlohmann::json::array();
  for (const auto& measurement : completed) measurements.push_back(study::measurement_json(measurement));
  return measurements.dump();
}

Tensor tensor(const std::string& name, std::int64_t value) {
  Tensor out{name, ElementType::kI64, {1}, std::vector<std::byte>(sizeof(std::int64_t))};
  elements_of<std::int64_t>(out)[0] = value;
  return out;
}

}  // namespace

FakeExecutor::FakeExecutor(FakeOptions options, store::CheckpointStore files)
    : options_(options), files_(std::move(files)), rng_(Rng(options.seed).split("fake")) {}

std::map<std::string, std::string> FakeExecutor::facts_of(const Trial& trial) {
  std::map<std::string, std::string> facts{{"measurements", measurements_of(trial.completed)}};
  if (!trial.ancestry.empty()) facts["line"] = trial.ancestry;
  return facts;
}

bool FakeExecutor::is_selected(const Trial& trial, std::int64_t one_in, std::uint64_t salt) const {
  return one_in > 0 && Rng(trial.identity.lo).split(salt).below(static_cast<std::uint64_t>(one_in)) == 0;
}

Result<void> FakeExecutor::start(const Job& job) {
  std::erase_if(pending_reports_, [&](const Report& report) {
    const bool is_file =
        std::holds_alternative<CheckpointReport>(report) || std::holds_alternative<TrialPausedReport>(report);
    return !is_file && trial_of(report) == job.trial;
  });
  Trial trial;
  trial.job = job;
  trial.identity = identity_of(job);
  if (is_selected(trial, options_.refuse_one_in, 1)) {
    return Error{Code::kResourceExhausted, "the model needs more memory than there is", ""};
  }
  LANISTA_TRY(check_fork_state(job));
  if (!job.checkpoint.empty()) {
    LANISTA_ASSIGN(const store::Checkpoint checkpoint, files_.get(job.checkpoint));
    for (const auto& item : nlohmann::json::parse(checkpoint.facts.at("measurements"))) {
      LANISTA_ASSIGN(study::Measurement measurement, study::measurement_from_json(item));
      trial.completed.push_back(std::move(measurement));
    }
    const auto ancestry = checkpoint.facts.find("line");
    if (ancestry != checkpoint.facts.end()) trial.ancestry = ancestry->second;
    const bool is_others = !trial.completed.empty() && trial.completed.front().trial != job.trial;
    if (is_others) {
      const TrialId owner = trial.completed.front().trial;
      if (!job.fork || job.fork->from != owner || job.fork->measurements.size() != trial.completed.size()) {
        return Error{Code::kDataLoss, "checkpoint is of trial " + std::to_string(owner.value), ""};
      }
      trial.ancestry += std::to_string(owner.value) + "@" + std::to_string(trial.completed.size()) + " ";
      trial.completed = job.fork->measurements;
    }
    if (!trial.ancestry.empty()) trial.identity = Hasher().digest(trial.identity).text(trial.ancestry).finish();
    for (const study::Measurement& each : trial.completed) pending_reports_.push_back(EpochReport{each});
    (is_others ? forked_from_ : resumed_from_).push_back(job.checkpoint);
  } else if (job.start) {
    LANISTA_TRY(files_.get(job.start->address));
  }
  trials_.insert_or_assign(job.trial, std::move(trial));
  return {};
}

void FakeExecutor::command(const Command& command) {
  if (const auto* arrange = std::get_if<UpdateGroups>(&command)) {
    for (const Allow& allow : arrange->allow) this->command(allow);
  } else if (const auto* allow = std::get_if<Allow>(&command)) {
    const auto it = trials_.find(allow->trial);
    if (it != trials_.end()) it->second.allowed = std::max(it->second.allowed, allow->epoch);
  } else if (const auto* finish = std::get_if<Finish>(&command)) {
    const auto it = trials_.find(finish->trial);
    if (it == trials_.end()) return;
    if (finish->abandon) {
      trials_.erase(it);
    } else {
      it->second.finish = *finish;
    }
  } else if (const auto* is_pause_requested = std::get_if<PauseTrial>(&command)) {
    const auto it = trials_.find(is_pause_requested->trial);
    if (it != trials_.end()) it->second.is_pause_requested = true;
  } else {
    is_pausing_ = true;
  }
}

bool FakeExecutor::is_runnable(const Trial& trial) const {
  return trial.epochs() < trial.allowed || trial.finish || trial.is_pause_requested;
}

std::optional<Report> FakeExecutor::next(double seconds) {
  if (options_.clock) options_.clock->advance(0.1);
  if (is_pausing_) pause();
  if (pending_reports_.empty()) {
    std::vector<Trial*> ready;
    for (auto& [id, trial] : trials_) {
      if (is_runnable(trial)) ready.push_back(&trial);
    }
    const auto due = [](const Trial* t) {
      return t->job.logical_start + static_cast<double>(t->epochs() + 1) * t->job.logical_epoch;
    };
    std::stable_sort(ready.begin(), ready.end(), [&](const Trial* a, const Trial* b) { return due(a) < due(b); });
    if (!ready.empty()) {
      const auto width = std::min<std::uint64_t>(ready.size(), static_cast<std::uint64_t>(options_.workers));
      advance(*ready[rng_.below(width)]);
    }
  }
  if (pending_reports_.empty()) {
    if (options_.clock) options_.clock->advance(seconds);
    return std::nullopt;
  }
  Report report = std::move(pending_reports_.front());
  pending_reports_.pop_front();
  return report;
}

void FakeExecutor::advance(Trial& trial) {
  if (trial.epochs() >= trial.allowed) return trial.is_pause_requested ? pause_trial(trial) : end(trial);
  const std::int64_t epoch = trial.epochs() + 1;
  const std::int64_t budget = trial.job.recipe.epochs;
  if (epoch == std::min<std::int64_t>(2, budget) && is_selected(trial, options_.fail_one_in, 2)) {
    pending_reports_.push_back(FailureReport{trial.job.trial, epoch, "an operator threw"});
    trials_.erase(trial.job.trial);
    return;
  }
  ++epochs_run_;
  trial.completed.push_back(measure(trial, epoch));
  pending_reports_.push_back(EpochReport{trial.completed.back()});
  if (options_.checkpoint_one_in > 0 && rng_.below(static_cast<std::uint64_t>(options_.checkpoint_one_in)) == 0) {
    auto saved = store_checkpoint(trial);
    if (saved) {
      pending_reports_.push_back(CheckpointReport{trial.job.trial, epoch, trial.completed.back().step, *saved});
    } else {
      pending_reports_.push_back(ExecutorErrorReport{saved.error()});
    }
  }
}

Digest FakeExecutor::state_hash(const Trial& trial, std::int64_t epoch) const {
  Hasher hasher;
  hasher.digest(trial.identity).number(epoch).number(static_cast<std::int64_t>(options_.salt));
  return hasher.finish();
}

/// Stores its weights, from which it can also resume.
Result<std::string> FakeExecutor::store_weights(const Trial& trial) {
  store::Checkpoint weights;
  const auto weight_of = [&](std::int64_t epoch) {
    return tensor("n1.weight", static_cast<std::int64_t>(state_hash(trial, epoch).lo >> 1));
  };
  weights.tensors = {weight_of(trial.epochs()), tensor("step", trial.epochs()), tensor("n1.weight/momentum", 1)};
  if (!trial.completed.empty()) {
    const std::size_t kept = study::selected_index({trial.job.keep, trial.job.sample}, trial.completed);
    if (kept + 1 < trial.completed.size()) weights.kept = {weight_of(trial.completed[kept].epoch)};
  }
  weights.facts = facts_of(trial);
  return files_.put(weights);
}

void FakeExecutor::end(Trial& trial) {
  FinishedReport report{trial.job.trial, state_hash(trial, trial.epochs()), ""};
  if (trial.finish->keep_weights) {
    auto saved = store_weights(trial);
    if (!saved) {
      pending_reports_.push_back(ExecutorErrorReport{saved.error()});
      return;
    }
    report.weights = *saved;
  }
  pending_reports_.push_back(report);
  trials_.erase(trial.job.trial);
}

void FakeExecutor::pause_trial(Trial& trial) {
  auto saved = store_weights(trial);
  if (!saved) {
    pending_reports_.push_back(ExecutorErrorReport{saved.error()});
    return;
  }
  const std::int64_t step = trial.completed.empty() ? 0 : trial.completed.back().step;
  pending_reports_.push_back(
      TrialPausedReport{trial.job.trial, trial.epochs(), step, state_hash(trial, trial.epochs()), *saved});
  trials_.erase(trial.job.trial);
}

study::Measurement FakeExecutor::measure(const Trial& trial, std::int64_t epoch) const {
  const double quality = Rng(trial.identity.lo).split("quality").uniform();
  const double noise =
      Rng(trial.identity.lo).split(static_cast<std::uint64_t>(epoch)).uniform(-0.02, 0.02) +
      options_.seed_noise * Rng(trial.job.trial_seed).split(static_cast<std::uint64_t>(epoch)).uniform();
  const double progress = static_cast<double>(epoch) / static_cast<double>(epoch + 1);
  double loss = 2 - quality * progress;
  const std::int64_t bad = std::max<std::int64_t>(1, trial.job.recipe.epochs - 1);
  if (epoch >= bad && is_selected(trial, options_.nan_one_in, 3)) loss = std::numeric_limits<double>::quiet_NaN();
  study::Recipe recipe = trial.job.recipe;
  recipe.batch = std::max<std::int64_t>(1, recipe.batch);
  const std::int64_t rows = options_.rows > 0 ? options_.rows : options_.steps_per_epoch * recipe.batch;
  return {trial.job.trial,
          epoch,
          study::epoch_schedule_of(recipe, rows).steps_through(epoch),
          {{"train_loss", loss}, {"val_loss", 2.1 - quality * progress}, {"val_accuracy", quality * progress + noise}}};
}

Result<std::string> FakeExecutor::store_checkpoint(const Trial& trial) {
  store::Checkpoint checkpoint;
  checkpoint.tensors = {tensor("trial", trial.job.trial.value)};
  checkpoint.facts = facts_of(trial);
  return files_.put(checkpoint);
}

void FakeExecutor::pause() {
  is_pausing_ = false;
  for (auto& [id, trial] : trials_) {
    if (trial.completed.empty()) continue;
    auto saved = store_checkpoint(trial);
    if (!saved) {
      pending_reports_.push_back(ExecutorErrorReport{saved.error()});
      return;
    }
    pending_reports_.push_back(CheckpointReport{id, trial.epochs(), trial.completed.back().step, *saved});
  }
  trials_.clear();
  pending_reports_.push_back(AllPausedReport{});
}

Result<std::map<std::string, double>> FakeExecutor::measure(std::span<const EvaluatedMember> members, data::Part part) {
  std::map<std::string, double> out;
  double squares = 0;
  for (const EvaluatedMember& member : members) {
    LANISTA_ASSIGN(const store::Checkpoint stored, files_.get(member.weights));
    squares += member.share * member.share;
    if (part == data::Part::kTest) {
      out["test_accuracy"] += member.share * Rng(identity_of(member.job).lo).split("test").uniform();
      continue;
    }
    std::vector<study::Measurement> completed;
    for (const auto& item : nlohmann::json::parse(stored.facts.at("measurements"))) {
      LANISTA_ASSIGN(study::Measurement measurement, study::measurement_from_json(item));
      completed.push_back(std::move(measurement));
    }
    const auto& kept = completed[study::selected_index({member.job.keep, member.job.sample}, completed)];
    for (const auto& [name, value] : kept.metrics) {
      if (name.starts_with("val_")) out[name] += member.share * value;
    }
  }
  if (members.size() == 1) return out;
  for (auto& [name, value] : out) value += (name == "val_loss" ? -1 : 1) * options_.blend_gain * (1 - squares);
  return out;
}

}  // namespace lanista::engine
