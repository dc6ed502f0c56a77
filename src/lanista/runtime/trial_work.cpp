#include "lanista/runtime/trial_work.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace lanista::runtime {
namespace {

/// Of a group's time each trial gets its share, one after the other.
class Shares {
 public:
  Shares(const Clock& clock, std::size_t trials)
      : clock_(clock), began_(clock.now()), trials_(static_cast<double>(trials)) {}

  engine::SpanReport next(const TrialSlot& slot, std::size_t worker) {
    const double each = (clock_.now() - began_) / trials_;
    const double begin = began_ + each * told_++;
    return {slot.job.trial, slot.epochs_done + 1, static_cast<std::int64_t>(worker), begin, begin + each};
  }

 private:
  const Clock& clock_;
  double began_, trials_;
  int told_ = 0;
};

}  // namespace

train::TrainerInput TrialWork::trainer_input(const engine::Job& job) const {
  return {.trial = job.trial,
          .model = job.model,
          .recipe = job.recipe,
          .metrics = shop_.metrics,
          .trial_seed = job.trial_seed,
          .data_seed = job.data_seed,
          .data = &shop_.data,
          .step_ops = &shop_.step_ops,
          .operators = &shop_.operators,
          .budget = &shop_.budget,
          .epochs = &shop_.epochs,
          .isa = shop_.isa};
}

void TrialWork::run(const Work& work, std::size_t worker, const std::atomic<bool>& pausing) {
  std::string reason;
  try {
    if (auto done = try_run(work, worker, pausing); !done) reason = done.error().text();
  } catch (const std::bad_alloc&) {
    reason = "out of memory";
  } catch (const std::exception& e) {
    reason = e.what();
  }
  // What happens beside the steps of trials comes of the first of them: the program is made for it.
  if (!reason.empty()) fail(*work.slots.front(), reason);
}

Result<void> TrialWork::try_run(const Work& work, std::size_t worker, const std::atomic<bool>& pausing) {
  TrialSlot& first = *work.slots.front();
  if (first.abandon) return {};
  if (work.kind == WorkKind::kSave) {
    save(first);
    return {};
  }
  std::optional<train::LaneGroup> group;
  LANISTA_ASSIGN(const bool ready, with_memory(first, [&]() -> Result<void> {
                   LANISTA_ASSIGN(group, shop_.groups.take(first.key, trainer_input(first.job)));
                   return {};
                 }));
  if (!ready) return {};
  if (work.kind == WorkKind::kFinish) {
    LANISTA_TRY(finish(*group, first));
  } else {
    train_epoch(*group, admitted(*group, work.slots), worker, pausing);
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
    shop_.groups.clear();
    park_();
    made = make();
    if (is_short() && !slot.wants_to_be_alone) {
      slot.wants_to_be_alone = true;
      return false;
    }
  }
  if (!made) return made.error();
  return true;
}

// False: it must wait until it can be alone.
Result<bool> TrialWork::admit(const train::LaneGroup& group, TrialSlot& slot) {
  if (!slot.run) {
    LANISTA_ASSIGN(auto run, train::TrialRun::create(trainer_input(slot.job)));
    if (slot.state) {
      LANISTA_TRY(run.restore(*std::exchange(slot.state, std::nullopt)));
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
    slot.wants_to_be_alone = false;
    slot.parked.reset();
  } else if (slot.parked) {
    slot.run->release();  // it waits as it came
  }
  return ready;
}

void TrialWork::park(TrialSlot& slot) {
  if (!slot.run || !slot.run->holds_state()) return;
  try {
    auto parked = ParkedState::put(shop_.checkpoints, slot.job.trial, slot.run->save());
    if (!parked) return post_(engine::BrokenReport{parked.error()});
    slot.parked = *std::move(parked);
    slot.run->release();
  } catch (const std::bad_alloc&) {  // a longer word would want memory, too, and its failure leave trials waiting
    post_(engine::BrokenReport{Error{Code::kResourceExhausted, "out of memory", ""}});
  }
}

std::vector<TrialSlot*> TrialWork::admitted(const train::LaneGroup& group, std::span<TrialSlot* const> work) {
  std::vector<TrialSlot*> lanes;
  for (TrialSlot* slot : work) {
    if (slot->abandon) continue;
    auto ready = admit(group, *slot);
    if (!ready) {
      fail(*slot, ready.error().text());
    } else if (*ready) {
      lanes.push_back(slot);
    }
  }
  return lanes;
}

// Between steps no trial is to blame, and what its neighbours have done must not be forgotten: without memory for that
// the executor is broken.
void TrialWork::train_epoch(train::LaneGroup& group, std::vector<TrialSlot*> lanes, std::size_t worker,
                            const std::atomic<bool>& pausing) {
  try {
    train_lanes(group, std::move(lanes), worker, pausing);
  } catch (const std::bad_alloc&) {
    post_(engine::BrokenReport{Error{Code::kResourceExhausted, "out of memory", ""}});
  }
}

void TrialWork::train_lanes(train::LaneGroup& group, std::vector<TrialSlot*> lanes, std::size_t worker,
                            const std::atomic<bool>& pausing) {
  Shares shares(shop_.clock, lanes.size());
  std::vector<train::TrialRun*> runs;
  std::vector<train::StepEnd> ends;
  while (!lanes.empty() && !pausing) {
    runs.clear();
    for (TrialSlot* slot : lanes) runs.push_back(&*slot->run);
    ends.resize(runs.size());
    group.step(runs, ends);
    std::vector<TrialSlot*> left;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      TrialSlot& slot = *lanes[i];
      if (!ends[i].failure.empty()) {
        fail(slot, ends[i].failure);
        continue;
      }
      if (ends[i].epoch_ended) {
        post_(shares.next(slot, worker));
        slot.epochs_done = slot.run->epochs_done();
        post_(engine::EpochReport{slot.run->measurements().back()});
      } else if (!slot.abandon) {
        left.push_back(&slot);
      }
      if (shop_.clock.now() - slot.saved_at >= shop_.checkpoint_every) save(slot);
    }
    lanes = std::move(left);
  }
  for (const TrialSlot* slot : lanes) post_(shares.next(*slot, worker));
}

// A checkpoint that cannot be written is the study's trouble, not the trial's.
void TrialWork::save(TrialSlot& slot) {
  const auto put = [&]() -> Result<std::string> {
    try {
      const bool away = slot.parked && !slot.run->holds_state();
      LANISTA_ASSIGN(auto state, away ? slot.parked->get() : Result<train::TrainerState>(slot.run->save()));
      return shop_.checkpoints.put({std::move(state.tensors), std::move(state.facts)});
    } catch (const std::bad_alloc&) {
      return Error{Code::kResourceExhausted, "out of memory", ""};
    }
  };
  const auto address = put();
  slot.saved_at = shop_.clock.now();
  slot.saved_step = slot.run->step_count();
  if (!address) return post_(engine::BrokenReport{address.error()});
  post_(engine::CheckpointReport{slot.job.trial, slot.run->epochs_done(), slot.saved_step, *address});
}

Result<void> TrialWork::finish(const train::LaneGroup& group, TrialSlot& slot) {
  LANISTA_ASSIGN(const bool ready, admit(group, slot));
  if (!ready) return {};
  const auto state = slot.run->save();
  engine::FinishedReport report{slot.job.trial, state_hash(state), ""};
  slot.finished = true;
  if (slot.keep_weights) {
    auto address = shop_.checkpoints.put({state.tensors, state.facts});
    if (!address) {
      post_(engine::BrokenReport{address.error()});
      return {};
    }
    report.weights = *address;
  }
  post_(report);
  return {};
}

void TrialWork::fail(TrialSlot& slot, const std::string& reason) {
  if (slot.finished) return;
  slot.finished = true;
  slot.run.reset();
  if (!slot.abandon) post_(engine::FailureReport{slot.job.trial, slot.epochs_done + 1, reason});
}

}  // namespace lanista::runtime
