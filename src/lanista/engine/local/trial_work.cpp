#include "lanista/engine/local/trial_work.h"

#include <algorithm>
#include <new>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "lanista/io/formats/safetensors.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/engine/local/span_meter.h"
#include "lanista/engine/local/tune_searcher.h"
#include "lanista/exec/train/select_check.h"
#include "lanista/exec/train/start_race.h"
#include "lanista/exec/train/tuning.h"

namespace lanista::runtime {
namespace {

constexpr auto kBetweenSeats = std::chrono::milliseconds(2);
constexpr std::int64_t kStepsOfHelp = 16;

/// Of a group's time each trial gets its share, one after the other.
class Shares {
 public:
  Shares(const Clock& clock, double began, std::size_t trials)
      : clock_(clock), began_(began), trials_(static_cast<double>(trials)) {}

  engine::SpanReport next(TrialSlot& slot, std::size_t worker, std::int64_t width, std::int64_t bytes) {
    const double each = (clock_.now() - began_) / trials_;
    const double begin = began_ + each * told_++;
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
  int told_ = 0;
};

/// The helpers of one epoch of a trial; none, unless its session has some. Who cannot have any trains alone: a session
/// that cannot be made is no trouble of the trial's.
class Helpers {
 public:
  Helpers(const train::LaneGroup& group, TrialSlot& slot, const std::string& session) : slot_(slot) {
    if (session.empty()) {
      slot_.lead.reset();
      return;
    }
    if (!slot_.lead || slot_.lead->path() != session) slot_.lead = std::make_unique<train::WideLead>(session);
    const auto state = [&]() -> Result<std::string> {
      train::TrainerState now = slot_.run->save();
      return formats::encode_safetensors({std::move(now.tensors), std::move(now.facts)});
    };
    auto begun = slot_.lead->begin(group.program(), state);
    if (begun) peers_ = *begun;
    if (peers_ != nullptr) width_ = peers_->width();
  }
  ~Helpers() { end(false); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  nn::ShardPeers* peers() const { return peers_; }
  std::int64_t width() const { return width_; }  ///< that the epoch began with
  void end(bool whole) {
    if (std::exchange(peers_, nullptr) != nullptr) slot_.lead->end(whole);
  }
  void let_lost_go() {
    if (peers_ != nullptr && slot_.lead->lost()) end(false);
  }

 private:
  TrialSlot& slot_;
  nn::ShardPeers* peers_ = nullptr;
  std::int64_t width_ = 1;
};

/// Steps that a group is given at once: some milliseconds of them, so that who pauses or abandons trials, or wants a
/// checkpoint, does not wait long.
class Slices {
 public:
  /// A checkpoint that is due after so short a time is due after a step. On a device, where a launch is dear and takes
  /// as long as the longest slice of those in it, slices begin longer and stay so.
  Slices(const Clock& clock, double checkpoint_every, bool on_device)
      : clock_(clock),
        single_(checkpoint_every < kSeconds),
        least_(on_device && !single_ ? kLeastOnDevice : 1),
        at_(single_ ? 0 : clock.now()),
        steps_(least_) {}

  std::int64_t steps() const { return steps_; }
  void spent(std::int64_t steps) {
    if (single_) return;
    const double began = std::exchange(at_, clock_.now());
    const double each = (at_ - began) / static_cast<double>(steps);
    steps_ = each * static_cast<double>(2 * steps_) <= kSeconds ? std::min<std::int64_t>(2 * steps_, kMost)
             : each * static_cast<double>(steps_) > kSeconds    ? std::max(steps_ / 2, least_)
                                                                : steps_;
  }

 private:
  static constexpr double kSeconds = 0.02;
  static constexpr std::int64_t kMost = 1024, kLeastOnDevice = 16;

  const Clock& clock_;
  bool single_;
  std::int64_t least_;
  double at_;
  std::int64_t steps_;
};

/// What a program's step in stages was, once a program: told with the work of one of those that it was a step of.
void note(const nn::StepTimes& times, TrialSlot& slot) {
  if (auto step = timed_step_of(times)) slot.timed = std::make_shared<const pipeline::TimedStep>(*std::move(step));
}

}  // namespace

Result<train::TrainerInput> TrialWork::trainer_input(const engine::Job& job) const {
  FrozenParts::Head head{job.model, &shop_.data.training(job.fold), &shop_.epochs.of(job.fold)};
  if (!job.frozen.nodes.empty()) {
    LANISTA_ASSIGN(head, shop_.frozen.head_of(job));
  }
  LANISTA_ASSIGN(space::Sample known, engine::known_to_keep_by(job, shop_.step_ops));
  return train::TrainerInput{.trial = job.trial,
                             .model = std::move(head.model),
                             .recipe = job.recipe,
                             .metrics = shop_.metrics,
                             .trial_seed = job.trial_seed,
                             .data_seed = job.data_seed,
                             .data = head.data,
                             .step_ops = &shop_.step_ops,
                             .operators = &shop_.operators,
                             .own_metrics = &shop_.own_metrics,
                             .budget = &shop_.budget,
                             .epochs = head.epochs,
                             .race_steps = job.race.steps,
                             .rivals = rivals_of(job),
                             .backend = &shop_.backend,
                             .keep = job.keep,
                             .known = std::move(known)};
}

void TrialWork::run(TrialBoard::Errand& errand, std::size_t worker, const std::atomic<bool>& pausing) {
  std::string reason;
  try {
    if (auto done = try_run(errand, worker, pausing); !done) reason = done.error().text();
  } catch (const std::bad_alloc&) {
    reason = "out of memory";
  } catch (const std::exception& e) {
    reason = e.what();
  }
  // What happens beside the steps of trials comes of the first of them: the program is made for it.
  if (!reason.empty()) fail(*errand.slots.front(), reason);
}

Result<void> TrialWork::try_run(TrialBoard::Errand& errand, std::size_t worker, const std::atomic<bool>& pausing) {
  TrialSlot& first = *errand.slots.front();
  if (first.signals->abandon) return {};
  if (errand.work.kind == WorkKind::kSave) {
    shop_.groups.send_home(*first.run);
    save(first);
    return {};
  }
  // What there is already wants no group, and those that sit in one are left in peace.
  if (errand.work.kind == WorkKind::kFinish && first.run && first.run->is_settled()) {
    shop_.groups.send_home(*first.run);
    return finish(first, errand.work.ending);
  }
  std::vector<train::TrialRun*> begun;
  for (const auto& slot : errand.slots) {
    if (slot->run) begun.push_back(&*slot->run);
  }
  std::optional<train::LaneGroup> group;
  const double asked = shop_.clock.now();
  LANISTA_ASSIGN(const bool ready, with_memory(first, [&]() -> Result<void> {
                   LANISTA_ASSIGN(const train::TrainerInput like, trainer_input(first.job));
                   LANISTA_ASSIGN(group, shop_.groups.take(first.key, like, begun));
                   return group->make_room(errand.slots.size());
                 }));
  if (!ready) return {};
  first.costs.set_up += shop_.clock.now() - asked;
  if (errand.work.kind == WorkKind::kFinish) {
    LANISTA_ASSIGN(const bool has_state, admit(*group, first));
    if (has_state) LANISTA_TRY(finish(first, errand.work.ending));
  } else {
    train_epoch(*group, admitted(*group, errand.slots), worker, pausing, errand.session);
  }
  shop_.groups.give_back(first.key, *std::move(group));
  return {};
}

// Tries once more with the memory of those that wait. False: the slot must wait until it can be alone.
Result<bool> TrialWork::with_memory(TrialSlot& slot, const std::function<Result<void>()>& make) {
  auto made = make();
  const auto is_short = [&] { return !made && made.error().code == Code::kResourceExhausted; };
  if (is_short()) {
    shop_.epochs.clear();
    shop_.frozen.clear_epochs();
    shop_.groups.clear();
    park_();
    made = make();
    if (is_short() && !slot.signals->wants_to_be_alone) {
      slot.signals->wants_to_be_alone = true;
      return false;
    }
  }
  if (!made) return made.error();
  return true;
}

// False: it must wait until it can be alone.
Result<bool> TrialWork::admit(const train::LaneGroup& group, TrialSlot& slot) {
  if (!slot.run) {
    LANISTA_ASSIGN(train::TrainerInput input, trainer_input(slot.job));
    input.start = std::exchange(slot.start, nullptr);
    if (!slot.rivals.empty()) input.rivals = std::exchange(slot.rivals, {});
    LANISTA_ASSIGN(auto run, train::TrialRun::create(input));
    if (slot.state) {
      const double began = shop_.clock.now();
      LANISTA_TRY(run.restore(*std::exchange(slot.state, std::nullopt)));
      slot.costs.restoring += shop_.clock.now() - began;
      slot.saved_step = run.step_count();
    }
    slot.run.emplace(std::move(run));
    slot.saved_at = shop_.clock.now();
  }
  if (slot.parked && !slot.run->holds_state()) {
    LANISTA_ASSIGN(auto state, slot.parked->get());
    LANISTA_TRY(slot.run->restore(std::move(state)));
  }
  LANISTA_ASSIGN(const bool ready, with_memory(slot, [&] { return group.admit(*slot.run); }));
  if (ready) {
    slot.signals->wants_to_be_alone = false;
    slot.parked.reset();
  } else if (slot.parked) {
    slot.run->release();  // it waits as it came
  }
  return ready;
}

void TrialWork::park(TrialSlot& slot) {
  if (!slot.run || !slot.run->holds_state()) return;
  shop_.groups.send_home(*slot.run);
  try {
    auto parked = ParkedState::put(shop_.checkpoints, slot.job.trial, slot.run->save());
    if (!parked) return post_(engine::BrokenReport{parked.error()});
    slot.parked = *std::move(parked);
    slot.run->release();
  } catch (const std::bad_alloc&) {  // a longer word would want memory, too, and its failure leave trials waiting
    post_(engine::BrokenReport{Error{Code::kResourceExhausted, "out of memory", ""}});
  }
}

std::vector<TrialSlot*> TrialWork::admitted(const train::LaneGroup& group, const TrialBoard::Slots& slots) {
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

// What a trial does on branches of its own before its next step; null: nothing.
using Branching = Result<bool> (*)(train::LaneGroup&, train::TrialRun&, const std::function<bool()>&);
Branching branching_of(const train::TrialRun& run) {
  if (run.wants_race()) return train::race_starts;
  if (run.wants_select_check()) return train::check_selecting;
  if (!run.wants_search()) return nullptr;
  return [](train::LaneGroup& group, train::TrialRun& one, const std::function<bool()>& leaves) {
    return train::search_setting(group, one, make_tune_searcher, leaves);
  };
}

// It is done at once or not at all: who is called off in the middle stands where it stood.
std::vector<TrialSlot*> TrialWork::made_ready(train::LaneGroup& group, std::vector<TrialSlot*> lanes,
                                              const std::atomic<bool>& pausing) {
  std::erase_if(lanes, [&](TrialSlot* slot) {
    const Branching branches = branching_of(*slot->run);
    if (branches == nullptr) return false;
    const auto leaves = [&] { return pausing.load() || slot->signals->abandon.load(); };
    bool whole = false;
    auto ready = with_memory(*slot, [&]() -> Result<void> {
      LANISTA_ASSIGN(whole, branches(group, *slot->run, leaves));
      return {};
    });
    if (!ready) fail(*slot, ready.error().text());
    return !ready || !*ready || !whole;
  });
  return lanes;
}

// Between steps no trial is to blame, and what its neighbours have done must not be forgotten: without memory for that
// the executor is broken.
void TrialWork::train_epoch(train::LaneGroup& group, std::vector<TrialSlot*> lanes, std::size_t worker,
                            const std::atomic<bool>& pausing, const std::string& session) {
  try {
    double began = shop_.clock.now();  // races and searches are work on the epoch
    lanes = made_ready(group, std::move(lanes), pausing);
    // A device without memory for the lanes that were asked of it has given fewer: trials take turns, then.
    const auto most = static_cast<std::size_t>(group.lanes());
    for (std::size_t first = 0; first < lanes.size() && !pausing; first += most) {
      const auto begin = lanes.begin() + static_cast<std::ptrdiff_t>(first);
      train_lanes(group, {begin, begin + static_cast<std::ptrdiff_t>(std::min(most, lanes.size() - first))}, began,
                  worker, pausing, session);
      began = shop_.clock.now();
    }
  } catch (const std::bad_alloc&) {
    post_(engine::BrokenReport{Error{Code::kResourceExhausted, "out of memory", ""}});
  }
}

void TrialWork::train_lanes(train::LaneGroup& group, std::vector<TrialSlot*> lanes, double began, std::size_t worker,
                            const std::atomic<bool>& pausing, const std::string& session) {
  std::optional<Helpers> helpers;
  if (lanes.size() == 1) helpers.emplace(group, *lanes.front(), session);
  const std::int64_t width = helpers ? helpers->width() : 1;
  Shares shares(shop_.clock, began, lanes.size());
  Slices slices(shop_.clock, shop_.checkpoint_every, shop_.backend.capability().many_lanes);
  std::vector<train::TrialRun*> runs;
  std::vector<train::StepEnd> ends;
  std::vector<study::SpanCosts*> costs;
  std::vector<std::uint8_t> ended;
  while (!lanes.empty() && !pausing) {
    runs.clear();
    costs.clear();
    for (TrialSlot* slot : lanes) {
      runs.push_back(&*slot->run);
      costs.push_back(&slot->costs);
    }
    ends.resize(runs.size());
    const double advances = shop_.clock.now();
    const std::int64_t steps = group.advance(runs, slices.steps(), ends, helpers ? helpers->peers() : nullptr);
    ended.clear();
    for (const train::StepEnd& end : ends) ended.push_back(end.epoch_ended ? 1 : 0);
    add_chunk(shop_.clock.now() - advances, steps, costs, ended);
    slices.spent(steps);
    if (const auto times = group.take_step_times()) note(*times, *lanes.front());
    if (helpers) helpers->let_lost_go();
    std::vector<TrialSlot*> left;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      TrialSlot& slot = *lanes[i];
      if (!ends[i].failure.empty()) {
        fail(slot, ends[i].failure);
        continue;
      }
      if (ends[i].epoch_ended) {
        if (helpers) helpers->end(true);
        post_(shares.next(slot, worker, width, group.bytes()));
        slot.epochs_done = slot.run->epochs_done();
        post_(engine::EpochReport{slot.run->measurements().back()});
      } else if (!slot.signals->abandon) {
        left.push_back(&slot);
      }
      if (shop_.clock.now() - slot.saved_at >= shop_.checkpoint_every) save(slot);
    }
    lanes = std::move(left);
  }
  for (TrialSlot* slot : lanes) post_(shares.next(*slot, worker, width, group.bytes()));
}

bool TrialWork::help(const engine::Help& help, const std::atomic<bool>& called, const std::atomic<bool>& stops) {
  try {
    return try_help(help, called, stops).ok();
  } catch (const std::exception&) {
    return false;
  }
}

Result<void> TrialWork::try_help(const engine::Help& help, const std::atomic<bool>& called,
                                 const std::atomic<bool>& stops) {
  LANISTA_ASSIGN(train::TrainerInput input, trainer_input(help.job));
  input.keep = {};  // what the trial stands for is kept by its own worker
  const Digest key = train::machine_key(help.job.model, help.job.recipe, shop_.step_ops, shop_.backend);
  LANISTA_ASSIGN(train::LaneGroup group, shop_.groups.take(key, input, {}));
  LANISTA_ASSIGN(auto run, train::TrialRun::create(input));
  const auto leaves = [&] { return called.load() || stops.load(); };
  while (!leaves()) {
    auto seat = train::WideSeat::sit(help.session);
    if (!seat) {
      std::this_thread::sleep_for(kBetweenSeats);
      continue;
    }
    while (true) {
      LANISTA_ASSIGN(const auto begun, (*seat)->wait(group.program(), leaves));
      if (!begun) break;
      LANISTA_ASSIGN(auto state, formats::decode_safetensors(*begun));
      LANISTA_TRY(run.restore({std::move(state.tensors), std::move(state.metadata)}));
      LANISTA_TRY(group.admit(run));
      train::StepEnd end;
      while (!end.epoch_ended && end.failure.empty() && !(*seat)->lost() && !stops) {
        end = group.follow(run, kStepsOfHelp, (*seat)->peers());
      }
      if (!end.epoch_ended || (*seat)->lost()) break;
    }
  }
  run.release();
  shop_.groups.give_back(key, std::move(group));
  return {};
}

// A checkpoint that cannot be written is the study's trouble, not the trial's.
void TrialWork::save(TrialSlot& slot) {
  const auto put = [&]() -> Result<std::string> {
    try {
      const bool away = slot.parked && !slot.run->holds_state();
      LANISTA_ASSIGN(auto state, away ? slot.parked->get() : Result<train::TrainerState>(slot.run->save()));
      return shop_.checkpoints.put({std::move(state.tensors), std::move(state.facts), std::move(state.kept)});
    } catch (const std::bad_alloc&) {
      return Error{Code::kResourceExhausted, "out of memory", ""};
    }
  };
  const double began = shop_.clock.now();
  const auto address = put();
  slot.saved_at = shop_.clock.now();
  slot.costs.saving = slot.saved_at - began;
  slot.saved_step = slot.run->step_count();
  if (!address) return post_(engine::BrokenReport{address.error()});
  post_(engine::CheckpointReport{slot.job.trial, slot.run->epochs_done(), slot.saved_step, *address});
}

Result<void> TrialWork::finish(TrialSlot& slot, const Ending& ending) {
  const auto state = slot.run->save();
  engine::FinishedReport report{slot.job.trial, state_hash(state), ""};
  slot.finished = true;
  if (ending.keep_weights || ending.parks) {
    auto address = shop_.checkpoints.put({state.tensors, state.facts, state.kept});
    if (!address) {
      post_(engine::BrokenReport{address.error()});
      return {};
    }
    report.weights = *address;
  }
  if (ending.parks) {
    post_(engine::ParkedReport{slot.job.trial, slot.run->epochs_done(), slot.run->step_count(), report.state_hash,
                               report.weights});
  } else {
    post_(report);
  }
  return {};
}

void TrialWork::fail(TrialSlot& slot, const std::string& reason) {
  if (slot.finished) return;
  slot.finished = true;
  if (slot.run) shop_.groups.send_home(*slot.run);
  slot.run.reset();
  if (!slot.signals->abandon) post_(engine::FailureReport{slot.job.trial, slot.epochs_done + 1, reason});
}

}  // namespace lanista::runtime
