#include "lanista/engine/local/trial_work.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "lanista/engine/local/span_meter.h"
#include "lanista/engine/local/tune_searcher.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/exec/train/tuning.h"
#include "lanista/io/formats/safetensors.h"

namespace lanista::runtime {
namespace {

constexpr auto kJoinRetryInterval = std::chrono::milliseconds(2);
constexpr std::int64_t kHelperChunkSteps = 16;

/// Divides the time of a group into consecutive spans, one for each trial.
class SpanShares {
 public:
  SpanShares(const Clock& clock, double began, std::size_t trials)
      : clock_(clock), began_(began), trials_(static_cast<double>(trials)) {}

  engine::SpanReport next(TrialSlot& slot, std::size_t worker, std::int64_t width, std::int64_t bytes) {
    const double each = (clock_.now() - began_) / trials_;
    const double begin = began_ + each * num_reported_++;
    slot.costs.bytes = bytes;
    return {slot.job.trial,
            slot.epochs_done + 1,
            static_cast<std::int64_t>(worker),
            begin,
            begin + each,
            static_cast<std::int64_t>(trials_),
            width,
            std::exchange(slot.costs, {}),
            "",
            std::exchange(slot.timed, nullptr)};
  }

 private:
  const Clock& clock_;
  double began_, trials_;
  int num_reported_ = 0;
};

/// The helpers of one epoch of a trial, if its session has any. If the session cannot be made, the trial trains alone.
class HelperEpoch {
 public:
  HelperEpoch(const train::LaneGroup& group, TrialSlot& slot, const std::string& session) : slot_(slot) {
    if (session.empty()) {
      slot_.leader.reset();
      return;
    }
    if (!slot_.leader || slot_.leader->path() != session)
      slot_.leader = std::make_unique<train::DataParallelLeader>(session);
    const auto state = [&]() -> Result<std::string> {
      train::TrainerState now = slot_.run->save();
      return formats::encode_safetensors({std::move(now.tensors), std::move(now.facts)});
    };
    auto begun = slot_.leader->begin(group.program(), state);
    if (begun) peers_ = *begun;
    if (peers_ != nullptr) width_ = peers_->width();
  }
  ~HelperEpoch() { end(false); }
  HelperEpoch(const HelperEpoch&) = delete;
  HelperEpoch& operator=(const HelperEpoch&) = delete;

  program::ShardCommunicator* peers() const { return peers_; }
  std::int64_t width() const { return width_; }  ///< Workers at the beginning of the epoch.
  void end(bool completed) {
    if (std::exchange(peers_, nullptr) != nullptr) slot_.leader->end(completed);
  }
  void drop_lost_helpers() {
    if (peers_ != nullptr && slot_.leader->has_lost_peer()) end(false);
  }

 private:
  TrialSlot& slot_;
  program::ShardCommunicator* peers_ = nullptr;
  std::int64_t width_ = 1;
};

/// Chooses the steps of a chunk: a few milliseconds, so that pauses, abandonments and checkpoints do not wait long.
class ChunkSizer {
 public:
  /// With a very short checkpoint interval a chunk has one step. On a device, where a launch has a fixed cost and lasts
  /// as long as its longest chunk, chunks are longer.
  ChunkSizer(const Clock& clock, double checkpoint_every, bool on_device)
      : clock_(clock),
        is_single_step_(checkpoint_every < kSeconds),
        min_steps_(on_device && !is_single_step_ ? kMinDeviceSteps : 1),
        at_(is_single_step_ ? 0 : clock.now()),
        steps_(min_steps_) {}

  std::int64_t steps() const { return steps_; }
  void spent(std::int64_t steps) {
    if (is_single_step_) return;
    const double began = std::exchange(at_, clock_.now());
    const double each = (at_ - began) / static_cast<double>(steps);
    steps_ = each * static_cast<double>(2 * steps_) <= kSeconds ? std::min<std::int64_t>(2 * steps_, kMaxSteps)
             : each * static_cast<double>(steps_) > kSeconds    ? std::max(steps_ / 2, min_steps_)
                                                                : steps_;
  }

 private:
  static constexpr double kSeconds = 0.02;
  static constexpr std::int64_t kMaxSteps = 1024, kMinDeviceSteps = 16;

  const Clock& clock_;
  bool is_single_step_;
  std::int64_t min_steps_;
  double at_;
  std::int64_t steps_;
};

/// Attaches the timed pipeline step of a program, once for each program, to the span of one of its trials.
void note(const program::StepTimes& times, TrialSlot& slot) {
  if (auto step = timed_step_of(times)) slot.timed = std::make_shared<const pipeline::TimedStep>(*std::move(step));
}

}  // namespace

Result<train::TrainerInput> TrialWork::trainer_input(const engine::Job& job) const {
  FrozenParts::Head head{job.model, &context_.data.training(job.fold), &context_.epochs.cache_of(job.fold)};
  if (!job.frozen.nodes.empty()) {
    LANISTA_ASSIGN(head, context_.frozen.head_input_of(job));
  }
  LANISTA_ASSIGN(space::Sample known, engine::selection_inputs(job, context_.step_ops));
  return train::TrainerInput{.trial = job.trial,
                             .model = std::move(head.model),
                             .recipe = job.recipe,
                             .metrics = context_.metrics,
                             .trial_seed = job.trial_seed,
                             .data_seed = job.data_seed,
                             .data = head.data,
                             .step_ops = &context_.step_ops,
                             .operators = &context_.operators,
                             .own_metrics = &context_.own_metrics,
                             .budget = &context_.budget,
                             .epochs = head.epochs,
                             .backend = &context_.backend,
                             .keep = job.keep,
                             .known = std::move(known)};
}

void TrialWork::run(TrialDispatcher::WorkItem& item, std::size_t worker, const std::atomic<bool>& pausing) {
  std::string reason;
  try {
    if (auto done = try_run(item, worker, pausing); !done) reason = done.error().text();
  } catch (const std::bad_alloc&) {
    reason = "out of memory";
  } catch (const std::exception& e) {
    reason = e.what();
  }
  // Errors outside the steps count for the first trial, because the program is made for it.
  if (!reason.empty()) fail(*item.slots.front(), reason);
}

Result<void> TrialWork::try_run(TrialDispatcher::WorkItem& item, std::size_t worker, const std::atomic<bool>& pausing) {
  TrialSlot& first = *item.slots.front();
  if (first.signals->abandon) return {};
  if (item.work.kind == WorkKind::kSave) {
    context_.groups.evict_state(*first.run);
    save(first);
    return {};
  }
  // A run with its state needs no group, so runs in waiting groups stay there.
  if (item.work.kind == WorkKind::kFinish && first.run && first.run->state().is_admitted()) {
    context_.groups.evict_state(*first.run);
    return finish(first, item.work.end_request);
  }
  std::vector<train::TrialRun*> begun;
  for (const auto& slot : item.slots) {
    if (slot->run) begun.push_back(&*slot->run);
  }
  std::optional<train::LaneGroup> group;
  const double asked = context_.clock.now();
  LANISTA_ASSIGN(const bool ready, with_memory(first, [&]() -> Result<void> {
                   LANISTA_ASSIGN(const train::TrainerInput like, trainer_input(first.job));
                   LANISTA_ASSIGN(group, context_.groups.take(first.key, like, begun));
                   return group->reserve_lanes(item.slots.size());
                 }));
  if (!ready) return {};
  first.costs.set_up += context_.clock.now() - asked;
  if (item.work.kind == WorkKind::kFinish) {
    LANISTA_ASSIGN(const bool has_state, admit(*group, first));
    if (has_state) LANISTA_TRY(finish(first, item.work.end_request));
  } else {
    train_epoch(*group, admit_all(*group, item.slots), worker, pausing, item.session);
  }
  context_.groups.give_back(first.key, *std::move(group));
  return {};
}

// Tries again with the memory of idle trials. Returns false if the slot must wait until it can run alone.
Result<bool> TrialWork::with_memory(TrialSlot& slot, const std::function<Result<void>()>& make) {
  auto made = make();
  const auto is_short = [&] { return !made && made.error().code == Code::kResourceExhausted; };
  if (is_short()) {
    context_.epochs.clear();
    context_.frozen.clear_epochs();
    context_.groups.clear();
    spill_idle_();
    made = make();
    if (is_short() && !slot.signals->needs_exclusive_memory) {
      slot.signals->needs_exclusive_memory = true;
      return false;
    }
  }
  if (!made) return made.error();
  return true;
}

// Returns false if the slot must wait until it can run alone.
Result<bool> TrialWork::admit(const train::LaneGroup& group, TrialSlot& slot) {
  if (!slot.run) {
    LANISTA_ASSIGN(train::TrainerInput input, trainer_input(slot.job));
    input.start = std::exchange(slot.start, nullptr);
    LANISTA_ASSIGN(auto run, train::TrialRun::create(input));
    if (slot.state) {
      const double began = context_.clock.now();
      LANISTA_TRY(run.restore(*std::exchange(slot.state, std::nullopt)));
      slot.costs.restoring += context_.clock.now() - began;
      slot.saved_step = run.progress().step_count();
    }
    slot.run.emplace(std::move(run));
    slot.saved_at = context_.clock.now();
  }
  if (slot.spilled && !slot.run->state().is_in_memory()) {
    LANISTA_ASSIGN(auto state, slot.spilled->get());
    LANISTA_TRY(slot.run->restore(std::move(state)));
  }
  LANISTA_ASSIGN(const bool ready, with_memory(slot, [&] { return group.admit(*slot.run); }));
  if (ready) {
    slot.signals->needs_exclusive_memory = false;
    slot.spilled.reset();
  } else if (slot.spilled) {
    slot.run->release();  // it waits without memory again
  }
  return ready;
}

void TrialWork::spill(TrialSlot& slot) {
  if (!slot.run || !slot.run->state().is_in_memory()) return;
  context_.groups.evict_state(*slot.run);
  try {
    auto spilled = SpilledState::put(context_.checkpoints, slot.job.trial, slot.run->save());
    if (!spilled) return report_(engine::ExecutorErrorReport{spilled.error()});
    slot.spilled = *std::move(spilled);
    slot.run->release();
  } catch (const std::bad_alloc&) {  // a longer text would need memory too
    report_(engine::ExecutorErrorReport{Error{Code::kResourceExhausted, "out of memory", ""}});
  }
}

std::vector<TrialSlot*> TrialWork::admit_all(const train::LaneGroup& group, const TrialDispatcher::Slots& slots) {
  std::vector<TrialSlot*> lanes;
  for (const auto& slot : slots) {
    if (slot->signals->abandon) continue;
    auto ready = admit(group, *slot);
    if (!ready) {
      fail(*slot, ready.error().text());
    } else if (*ready) {
      lanes.push_back(slot.get());
    }
  }
  return lanes;
}

// A search is completed or dropped: an interrupted one leaves the trial unchanged.
std::vector<TrialSlot*> TrialWork::run_tune_searches(train::LaneGroup& group, std::vector<TrialSlot*> lanes,
                                                     const std::atomic<bool>& pausing) {
  std::erase_if(lanes, [&](TrialSlot* slot) {
    if (!train::is_search_due(*slot->run)) return false;
    const auto should_stop = [&] { return pausing.load() || slot->signals->abandon.load(); };
    bool completed = false;
    auto ready = with_memory(*slot, [&]() -> Result<void> {
      LANISTA_ASSIGN(completed, train::search_setting(group, *slot->run, make_tune_searcher, should_stop));
      return {};
    });
    if (!ready) fail(*slot, ready.error().text());
    return !ready || !*ready || !completed;
  });
  return lanes;
}

// An error between steps belongs to no trial, and completed work must not be lost. Without memory for it, the executor
// fails.
void TrialWork::train_epoch(train::LaneGroup& group, std::vector<TrialSlot*> lanes, std::size_t worker,
                            const std::atomic<bool>& pausing, const std::string& session) {
  try {
    double began = context_.clock.now();  // tune searches belong to the epoch
    lanes = run_tune_searches(group, std::move(lanes), pausing);
    // A device with too little memory has fewer lanes than requested; trials then take turns.
    const auto most = static_cast<std::size_t>(group.lanes());
    for (std::size_t first = 0; first < lanes.size() && !pausing; first += most) {
      const auto begin = lanes.begin() + static_cast<std::ptrdiff_t>(first);
      train_lanes(group, {begin, begin + static_cast<std::ptrdiff_t>(std::min(most, lanes.size() - first))}, began,
                  worker, pausing, session);
      began = context_.clock.now();
    }
  } catch (const std::bad_alloc&) {
    report_(engine::ExecutorErrorReport{Error{Code::kResourceExhausted, "out of memory", ""}});
  }
}

void TrialWork::train_lanes(train::LaneGroup& group, std::vector<TrialSlot*> lanes, double began, std::size_t worker,
                            const std::atomic<bool>& pausing, const std::string& session) {
  std::optional<HelperEpoch> helpers;
  if (lanes.size() == 1) helpers.emplace(group, *lanes.front(), session);
  const std::int64_t width = helpers ? helpers->width() : 1;
  SpanShares span_shares(context_.clock, began, lanes.size());
  ChunkSizer chunk_sizer(context_.clock, context_.checkpoint_every, context_.backend.capability().prefers_many_lanes);
  std::vector<train::TrialRun*> runs;
  std::vector<train::StepResult> results;
  std::vector<study::SpanCosts*> costs;
  std::vector<std::uint8_t> ended;
  while (!lanes.empty() && !pausing) {
    runs.clear();
    costs.clear();
    for (TrialSlot* slot : lanes) {
      runs.push_back(&*slot->run);
      costs.push_back(&slot->costs);
    }
    results.resize(runs.size());
    const double chunk_began = context_.clock.now();
    const std::int64_t steps = group.advance(runs, chunk_sizer.steps(), results, helpers ? helpers->peers() : nullptr);
    ended.clear();
    for (const train::StepResult& end : results) ended.push_back(end.epoch_ended ? 1 : 0);
    add_chunk_costs(context_.clock.now() - chunk_began, steps, costs, ended);
    chunk_sizer.spent(steps);
    if (const auto times = group.take_step_times()) note(*times, *lanes.front());
    if (helpers) helpers->drop_lost_helpers();
    std::vector<TrialSlot*> left;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      TrialSlot& slot = *lanes[i];
      if (!results[i].failure.empty()) {
        fail(slot, results[i].failure);
        continue;
      }
      if (results[i].epoch_ended) {
        if (helpers) helpers->end(true);
        report_(span_shares.next(slot, worker, width, group.bytes()));
        slot.epochs_done = slot.run->progress().epochs_done();
        report_(engine::EpochReport{slot.run->progress().measurements().back()});
      } else if (!slot.signals->abandon) {
        left.push_back(&slot);
      }
      if (context_.clock.now() - slot.saved_at >= context_.checkpoint_every) save(slot);
    }
    lanes = std::move(left);
  }
  for (TrialSlot* slot : lanes) report_(span_shares.next(*slot, worker, width, group.bytes()));
}

bool TrialWork::help(const engine::HelpTrial& help, const std::atomic<bool>& should_leave,
                     const std::atomic<bool>& must_stop) {
  try {
    return try_help(help, should_leave, must_stop).ok();
  } catch (const std::exception&) {
    return false;
  }
}

Result<void> TrialWork::try_help(const engine::HelpTrial& help, const std::atomic<bool>& should_leave,
                                 const std::atomic<bool>& must_stop) {
  LANISTA_ASSIGN(train::TrainerInput input, trainer_input(help.job));
  input.keep = {};  // its own worker keeps the selected weights
  const Digest key = train::lane_group_key(help.job.model, help.job.recipe, context_.step_ops, context_.backend);
  LANISTA_ASSIGN(train::LaneGroup group, context_.groups.take(key, input, {}));
  LANISTA_ASSIGN(auto run, train::TrialRun::create(input));
  const auto should_stop = [&] { return should_leave.load() || must_stop.load(); };
  while (!should_stop()) {
    auto helper = train::DataParallelHelper::join(help.session);
    if (!helper) {
      std::this_thread::sleep_for(kJoinRetryInterval);
      continue;
    }
    while (true) {
      LANISTA_ASSIGN(const auto begun, (*helper)->wait(group.program(), should_stop));
      if (!begun) break;
      LANISTA_ASSIGN(auto state, formats::decode_safetensors(*begun));
      LANISTA_TRY(run.restore({std::move(state.tensors), std::move(state.metadata)}));
      LANISTA_TRY(group.admit(run));
      train::StepResult end;
      while (!end.epoch_ended && end.failure.empty() && !(*helper)->has_lost_peer() && !must_stop) {
        end = group.train_as_helper(run, kHelperChunkSteps, (*helper)->peers());
      }
      if (!end.epoch_ended || (*helper)->has_lost_peer()) break;
    }
  }
  run.release();
  context_.groups.give_back(key, std::move(group));
  return {};
}

// A checkpoint that cannot be written is an error of the executor, not of the trial.
void TrialWork::save(TrialSlot& slot) {
  const auto put = [&]() -> Result<std::string> {
    try {
      const bool is_spilled = slot.spilled && !slot.run->state().is_in_memory();
      LANISTA_ASSIGN(auto state, is_spilled ? slot.spilled->get() : Result<train::TrainerState>(slot.run->save()));
      return context_.checkpoints.put({std::move(state.tensors), std::move(state.facts), std::move(state.kept)});
    } catch (const std::bad_alloc&) {
      return Error{Code::kResourceExhausted, "out of memory", ""};
    }
  };
  const double began = context_.clock.now();
  const auto address = put();
  slot.saved_at = context_.clock.now();
  slot.costs.saving = slot.saved_at - began;
  slot.saved_step = slot.run->progress().step_count();
  if (!address) return report_(engine::ExecutorErrorReport{address.error()});
  report_(engine::CheckpointReport{slot.job.trial, slot.run->progress().epochs_done(), slot.saved_step, *address});
}

Result<void> TrialWork::finish(TrialSlot& slot, const EndRequest& end_request) {
  const auto state = slot.run->save();
  engine::FinishedReport report{slot.job.trial, state_hash(state), ""};
  slot.finished = true;
  if (end_request.keep_weights || end_request.pauses_trial) {
    auto address = context_.checkpoints.put({state.tensors, state.facts, state.kept});
    if (!address) {
      report_(engine::ExecutorErrorReport{address.error()});
      return {};
    }
    report.weights = *address;
  }
  if (end_request.pauses_trial) {
    report_(engine::TrialPausedReport{slot.job.trial, slot.run->progress().epochs_done(),
                                      slot.run->progress().step_count(), report.state_hash, report.weights});
  } else {
    report_(report);
  }
  return {};
}

void TrialWork::fail(TrialSlot& slot, const std::string& reason) {
  if (slot.finished) return;
  slot.finished = true;
  if (slot.run) context_.groups.evict_state(*slot.run);
  slot.run.reset();
  if (!slot.signals->abandon) report_(engine::FailureReport{slot.job.trial, slot.epochs_done + 1, reason});
}

}  // namespace lanista::runtime
