#include "lanista/runtime/worker_executor.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

#include "lanista/runtime/crash_marks.h"
#include "lanista/runtime/trial_slot.h"
#include "lanista/step/training_step.h"
#include "lanista/store/checkpoints.h"

namespace lanista::runtime {
namespace {

// A trial that was running in this many crashes of the process is not tried again.
constexpr int kMaxCrashes = 2;

// Of augmented epochs that trials share.
constexpr std::int64_t kMostEpochBytes = std::int64_t{512} << 20;

std::int64_t default_workers() {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return std::clamp<std::int64_t>(cores, 1, static_cast<std::int64_t>(CrashMarks::kMaxWorkers));
}

std::int64_t default_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages / 4 * 3 * page : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

struct WorkerExecutor::Impl {
  WorkerOptions options;
  const data::Dataset& data;
  nn::Operators operators;
  graph::OpTable step_ops;
  const Clock& clock;
  store::CheckpointStore checkpoints;
  MemoryBudget budget;
  data::EpochCache epochs;
  std::string mark_file;
  std::optional<CrashMarks> marks;  // from the first start on: a refused study leaves no file behind
  std::map<TrialId, int> crashes;

  std::mutex mutex;
  std::condition_variable work_changed, report_arrived;
  std::map<TrialId, std::unique_ptr<TrialSlot>>
      slots;                           // guarded by mutex; a running slot's trainer belongs to its worker
  std::deque<engine::Report> reports;  // guarded by mutex
  std::atomic<bool> pausing = false;
  bool paused_told = false;
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  FileSystem& fs;

  Impl(const WorkerOptions& o, const data::Dataset& d, nn::Operators all, FileSystem& f, const Clock& c,
       const std::string& folder)
      : options(o),
        data(d),
        operators(std::move(all)),
        step_ops(step::training_ops(operators.table())),
        clock(c),
        checkpoints(f, folder),
        budget(o.memory_bytes),
        epochs(d, std::min(kMostEpochBytes, o.memory_bytes / 4), &budget),
        mark_file(folder + "/control/crash.marks"),
        fs(f) {}

  Result<void> install_marks() {
    LANISTA_TRY(fs.make_folder(mark_file.substr(0, mark_file.rfind('/'))));
    LANISTA_ASSIGN(crashes, read_crash_marks(fs, mark_file));
    LANISTA_ASSIGN(auto installed, CrashMarks::install(mark_file));
    marks.emplace(std::move(installed));
    return {};
  }

  train::TrainerInput trainer_input(const engine::Job& job) {
    return {.trial = job.trial,
            .model = job.model,
            .recipe = job.recipe,
            .metrics = options.metrics,
            .trial_seed = job.trial_seed,
            .data_seed = job.data_seed,
            .data = &data,
            .step_ops = &step_ops,
            .operators = &operators,
            .budget = &budget,
            .epochs = &epochs,
            .isa = options.isa};
  }

  void post(engine::Report report) {
    const std::lock_guard lock(mutex);
    reports.push_back(std::move(report));
    report_arrived.notify_all();
  }

  // The idle slot with work whose next epoch is earliest in logical time. Needs the mutex.
  TrialSlot* pick() {
    TrialSlot* best = nullptr;
    const bool anyone_running = any_running();
    for (const auto& [id, slot] : slots) {
      if (slot->running && slot->wants_to_be_alone) return nullptr;
    }
    for (auto& [id, slot] : slots) {
      if (slot->running || !slot->has_work(pausing)) continue;
      if (slot->wants_to_be_alone && anyone_running) continue;
      if (best == nullptr || std::tuple(slot->next_time(), id) < std::tuple(best->next_time(), best->job.trial)) {
        best = slot.get();
      }
    }
    return best;
  }

  bool any_running() const {
    for (const auto& [id, slot] : slots) {
      if (slot->running) return true;
    }
    return false;
  }

  void worker(const std::stop_token& stop, std::size_t number) {
    kernels::set_flush_to_zero();
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      TrialSlot* slot = pick();
      if (slot == nullptr) {
        if (pausing && !paused_told && !any_running()) {
          paused_told = true;
          reports.emplace_back(engine::PausedReport{});
          report_arrived.notify_all();
        }
        work_changed.wait(lock);
        continue;
      }
      slot->running = true;
      lock.unlock();
      if (marks) marks->running(number, slot->job.trial);
      run_guarded(*slot, number);
      if (marks) marks->running(number, TrialId{});
      lock.lock();
      slot->running = false;
      if (slot->gone()) slots.erase(slot->job.trial);
      work_changed.notify_all();
    }
  }

  // The trial wall: a search never dies of one model.
  void run_guarded(TrialSlot& slot, std::size_t worker) {
    std::string reason;
    try {
      if (auto done = run(slot, worker); !done) reason = done.error().text();
    } catch (const std::bad_alloc&) {
      reason = "out of memory";
    } catch (const std::exception& e) {
      reason = e.what();
    }
    if (reason.empty()) return;
    slot.finished = true;
    slot.trainer.reset();
    if (!slot.abandon) post(engine::FailureReport{slot.job.trial, slot.epochs_done + 1, reason});
  }

  Result<void> run(TrialSlot& slot, std::size_t worker) {
    if (slot.abandon) return {};
    if (!slot.trainer) {
      LANISTA_ASSIGN(const bool ready, make_trainer(slot));
      if (!ready) return {};
    }
    if (pausing) return save(slot);
    if (slot.finish_wanted()) return finish(slot);
    return train_epoch(slot, worker);
  }

  // False: it must wait until it can be alone.
  Result<bool> make_trainer(TrialSlot& slot) {
    auto made = train::Trainer::create(trainer_input(slot.job));
    if (!made && made.error().code == Code::kResourceExhausted) {
      park_idle_trials();
      made = train::Trainer::create(trainer_input(slot.job));
      if (!made && made.error().code == Code::kResourceExhausted && !slot.wants_to_be_alone) {
        slot.wants_to_be_alone = true;
        return false;
      }
    }
    if (!made) return made.error();
    slot.wants_to_be_alone = false;
    slot.trainer.emplace(*std::move(made));
    slot.saved_at = clock.now();
    if (slot.state) {
      LANISTA_TRY(slot.trainer->restore(*slot.state));
      slot.state.reset();
      slot.state_unsaved = false;
    }
    return true;
  }

  // Programs of trials that wait give their memory back; their state stays. Shared epochs can be prepared again.
  void park_idle_trials() {
    epochs.clear();
    const std::lock_guard lock(mutex);
    for (auto& [id, slot] : slots) {
      if (slot->running || !slot->trainer) continue;
      slot->state = slot->trainer->save();
      slot->state_unsaved = slot->trainer->step_count() != slot->saved_step;
      slot->trainer.reset();
    }
  }

  Result<void> train_epoch(TrialSlot& slot, std::size_t worker) {
    const double began = clock.now();
    const auto tell_span = [&] {
      post(engine::SpanReport{slot.job.trial, slot.epochs_done + 1, static_cast<std::int64_t>(worker), began,
                              clock.now()});
    };
    while (!pausing && !slot.abandon) {
      if (slot.trainer->step()) {
        tell_span();
        slot.epochs_done = slot.trainer->epochs_done();
        post(engine::EpochReport{slot.trainer->measurements().back()});
        return checkpoint_if_due(slot);
      }
      LANISTA_TRY(checkpoint_if_due(slot));
    }
    tell_span();
    return {};
  }

  Result<void> checkpoint_if_due(TrialSlot& slot) {
    if (clock.now() - slot.saved_at < options.checkpoint_every) return {};
    return save(slot);
  }

  // A checkpoint that cannot be written is the study's trouble, not the trial's.
  Result<void> save(TrialSlot& slot) {
    const auto state = slot.trainer->save();
    const auto address = checkpoints.put({state.tensors, state.facts});
    slot.saved_at = clock.now();
    slot.saved_step = slot.trainer->step_count();
    if (!address) {
      post(engine::BrokenReport{address.error()});
      return {};
    }
    post(engine::CheckpointReport{slot.job.trial, slot.trainer->epochs_done(), slot.saved_step, *address});
    return {};
  }

  Result<void> finish(TrialSlot& slot) {
    const auto state = slot.trainer->save();
    engine::FinishedReport report{slot.job.trial, state_hash(state), ""};
    slot.finished = true;
    if (slot.keep_weights) {
      auto address = checkpoints.put({state.tensors, state.facts});
      if (!address) {
        post(engine::BrokenReport{address.error()});
        return {};
      }
      report.weights = *address;
    }
    post(report);
    return {};
  }
};

std::unique_ptr<WorkerExecutor> WorkerExecutor::create(const WorkerOptions& options, const data::Dataset& data,
                                                       const nn::Operators& operators, FileSystem& fs,
                                                       const Clock& clock, const std::string& study_folder) {
  WorkerOptions resolved = options;
  if (resolved.workers <= 0) resolved.workers = default_workers();
  if (resolved.memory_bytes <= 0) resolved.memory_bytes = default_memory();
  auto impl = std::make_unique<Impl>(resolved, data, operators, fs, clock, study_folder);
  for (std::int64_t i = 0; i < resolved.workers; ++i) {
    impl->threads.emplace_back(
        [owner = impl.get(), i](const std::stop_token& stop) { owner->worker(stop, static_cast<std::size_t>(i)); });
  }
  return std::unique_ptr<WorkerExecutor>(new WorkerExecutor(std::move(impl)));
}

WorkerExecutor::WorkerExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

WorkerExecutor::~WorkerExecutor() {
  {
    const std::lock_guard lock(impl_->mutex);
    for (auto& thread : impl_->threads) thread.request_stop();
    for (auto& [id, slot] : impl_->slots) slot->abandon = true;  // a running epoch ends at its next step
    impl_->work_changed.notify_all();
  }
  impl_->threads.clear();
}

std::int64_t WorkerExecutor::workers() const { return static_cast<std::int64_t>(impl_->threads.size()); }

Result<void> WorkerExecutor::start(const engine::Job& job) {
  if (impl_->options.crash_marks && !impl_->marks) {
    if (auto installed = impl_->install_marks(); !installed) {
      impl_->post(engine::BrokenReport{installed.error()});
      return {};
    }
  }
  if (const auto it = impl_->crashes.find(job.trial); it != impl_->crashes.end() && it->second >= kMaxCrashes) {
    return Error{Code::kInternal, "was running in " + std::to_string(it->second) + " crashes of the process", ""};
  }
  auto slot = std::make_unique<TrialSlot>();
  slot->job = job;
  if (!job.checkpoint.empty()) {
    LANISTA_ASSIGN(auto stored, impl_->checkpoints.get(job.checkpoint));
    slot->state = train::TrainerState{std::move(stored.tensors), std::move(stored.facts)};
    LANISTA_ASSIGN(const auto repeated, train::read_measurements(slot->state->facts));
    slot->epochs_done = static_cast<std::int64_t>(repeated.size());
    for (const auto& measurement : repeated) impl_->post(engine::EpochReport{measurement});
  }
  const std::lock_guard lock(impl_->mutex);
  impl_->slots[job.trial] = std::move(slot);
  return {};
}

void WorkerExecutor::command(const engine::Command& command) {
  const std::lock_guard lock(impl_->mutex);
  if (std::holds_alternative<engine::PauseAll>(command)) {
    impl_->pausing = true;
  } else if (const auto* allow = std::get_if<engine::Allow>(&command)) {
    if (const auto it = impl_->slots.find(allow->trial); it != impl_->slots.end()) {
      it->second->allowed = std::max(it->second->allowed, allow->epoch);
    }
  } else if (const auto* finish = std::get_if<engine::Finish>(&command)) {
    const auto it = impl_->slots.find(finish->trial);
    if (it == impl_->slots.end()) return;
    TrialSlot& slot = *it->second;
    slot.finish_asked = true;
    slot.keep_weights = finish->keep_weights;
    if (finish->abandon) slot.abandon = true;
    if (slot.abandon && !slot.running) impl_->slots.erase(it);
  }
  impl_->work_changed.notify_all();
}

std::optional<engine::Report> WorkerExecutor::next(double seconds) {
  std::unique_lock lock(impl_->mutex);
  impl_->report_arrived.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !impl_->reports.empty(); });
  if (impl_->reports.empty()) return std::nullopt;
  engine::Report report = std::move(impl_->reports.front());
  impl_->reports.pop_front();
  return report;
}

Result<std::map<std::string, double>> WorkerExecutor::test(const engine::Job& job, const std::string& weights) {
  LANISTA_ASSIGN(auto stored, impl_->checkpoints.get(weights));
  const train::TrainerState state{std::move(stored.tensors), std::move(stored.facts)};
  Result<std::map<std::string, double>> result = Error{Code::kInternal, "test did not run", ""};
  // A thread of its own, because flush-to-zero is part of the numerics and must not leak into the caller's.
  std::jthread([&] {
    kernels::set_flush_to_zero();
    result = test_weights(impl_->trainer_input(job), state);
  }).join();
  return result;
}

}  // namespace lanista::runtime
