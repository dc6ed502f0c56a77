#include "lanista/runtime/worker_executor.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>

#include "lanista/kernels/flush_to_zero.h"
#include "lanista/runtime/crash_marks.h"
#include "lanista/runtime/group_pool.h"
#include "lanista/runtime/trial_slot.h"
#include "lanista/runtime/trial_work.h"
#include "lanista/step/training_step.h"
#include "lanista/store/checkpoints.h"

namespace lanista::runtime {
namespace {

// A trial that was running in this many crashes of the process is not tried again.
constexpr int kMaxCrashes = 2;

constexpr std::size_t kMostIdleGroups = 64;

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
  GroupPool groups;
  std::string mark_file;
  std::optional<CrashMarks> marks;  // from the first start on: a refused study leaves no file behind
  std::map<TrialId, int> crashes;

  std::mutex mutex;
  std::condition_variable work_changed, report_arrived, worker_rested;
  TrialSlots slots;                    // guarded by mutex; a running slot's trial belongs to its worker
  std::int64_t workers = 0;            // that the system gave; guarded by mutex
  std::string no_threads;              // why it gave none
  std::int64_t busy_workers = 0;       // guarded by mutex
  bool quiet = false;                  // workers wait while this is so; guarded by mutex
  std::deque<engine::Report> reports;  // guarded by mutex
  std::optional<Code> broken;          // for good; guarded by mutex
  std::array<char, 200> broken_by{};   // an array, since it may be told that there is no memory
  std::atomic<bool> pausing = false;
  bool paused_told = false;
  TrialWork trial_work;
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
        groups(o.lanes > 0 ? o.lanes : kDefaultLanes, kMostIdleGroups),
        mark_file(folder + "/control/crash.marks"),
        trial_work(
            {.data = data,
             .operators = operators,
             .step_ops = step_ops,
             .clock = clock,
             .checkpoints = checkpoints,
             .budget = budget,
             .epochs = epochs,
             .groups = groups,
             .metrics = options.metrics,
             .checkpoint_every = options.checkpoint_every,
             .isa = options.isa},
            [this](engine::Report report) { post(std::move(report)); }, [this] { park_idle_trials(); }),
        fs(f) {}

  Result<void> install_marks() {
    LANISTA_TRY(fs.make_folder(mark_file.substr(0, mark_file.rfind('/'))));
    LANISTA_ASSIGN(crashes, read_crash_marks(fs, mark_file));
    LANISTA_ASSIGN(auto installed, CrashMarks::install(mark_file));
    marks.emplace(std::move(installed));
    return {};
  }

  Result<std::int64_t> lanes_of(const engine::Job& job) const {
    LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(job.model, step_ops));
    const std::int64_t copies = job.recipe.optimizer == "sgd" ? 2 : 3;  // with the optimiser's slots
    const std::int64_t element = job.recipe.precision == "float64" ? 8 : 4;
    return lanes_that_pay(cost.parameters * copies * element);
  }

  /// A report that is lost would be waited for, so without memory for one there are no more at all.
  void post(engine::Report report) {
    try {
      const std::lock_guard lock(mutex);
      reports.push_back(std::move(report));
      report_arrived.notify_all();
    } catch (const std::bad_alloc&) {
      break_down(Code::kResourceExhausted, "out of memory");
    }
  }

  void break_down(Code code, const char* reason) {
    const std::lock_guard lock(mutex);
    if (!broken) {
      broken = code;
      std::snprintf(broken_by.data(), broken_by.size(), "%s", reason);
    }
    report_arrived.notify_all();
    worker_rested.notify_all();
  }

  /// The wall around all that is not a trial's.
  void worker(const std::stop_token& stop, std::size_t number) {
    try {
      work(stop, number);
    } catch (const std::bad_alloc&) {
      break_down(Code::kResourceExhausted, "out of memory");
    } catch (const std::exception& e) {
      break_down(Code::kInternal, e.what());
    } catch (...) {
      break_down(Code::kInternal, "a worker threw what is no exception");
    }
  }

  void work(const std::stop_token& stop, std::size_t number) {
    kernels::set_flush_to_zero();
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      const Work work =
          quiet ? Work{} : next_work(slots, {.workers = workers, .busy = busy_workers, .pausing = pausing});
      if (work.slots.empty()) {
        if (pausing && !quiet && !paused_told && busy_workers == 0) {
          paused_told = true;
          reports.emplace_back(engine::PausedReport{});
          report_arrived.notify_all();
        }
        work_changed.wait(lock);
        continue;
      }
      for (TrialSlot* slot : work.slots) slot->running = true;
      ++busy_workers;
      lock.unlock();
      mark(number, work.slots);
      trial_work.run(work, number, pausing);
      mark(number, {});
      lock.lock();
      --busy_workers;
      worker_rested.notify_all();
      for (TrialSlot* slot : work.slots) release(slot);
      work_changed.notify_all();
    }
  }

  void mark(std::size_t number, std::span<TrialSlot* const> work) {
    if (!marks) return;
    std::vector<TrialId> trials;
    for (const TrialSlot* slot : work) trials.push_back(slot->job.trial);
    marks->running(number, trials);
  }

  // Needs the mutex.
  void release(TrialSlot* slot) {
    slot->running = false;
    if (slot->gone()) slots.erase(slot->job.trial);
  }

  // States of trials that nobody works on give their memory back. Files are written beside the mutex.
  void park_idle_trials() {
    std::vector<TrialSlot*> idle;
    {
      const std::lock_guard lock(mutex);
      for (auto& [id, slot] : slots) {
        if (!slot->running && slot->run && slot->run->holds_state()) idle.push_back(slot.get());
      }
      for (TrialSlot* slot : idle) slot->running = true;
    }
    for (TrialSlot* slot : idle) trial_work.park(*slot);
    const std::lock_guard lock(mutex);
    for (TrialSlot* slot : idle) release(slot);
    if (!idle.empty()) work_changed.notify_all();
  }

  /// As many as the system gives.
  void start_workers() {
    const std::lock_guard lock(mutex);  // nobody works before all are there
    try {
      for (std::int64_t i = 0; i < options.workers; ++i) {
        if (options.before_thread) options.before_thread();
        threads.emplace_back([this, i](const std::stop_token& stop) { worker(stop, static_cast<std::size_t>(i)); });
      }
    } catch (const std::system_error& e) {
      no_threads = e.code().message();
    }
    workers = static_cast<std::int64_t>(threads.size());
  }

  /// `test_weights` on the present thread, with whatever it throws as an error.
  Result<std::map<std::string, double>> try_test(const engine::Job& job, const train::TrainerState& state) const {
    try {
      return test_weights(trial_work.trainer_input(job), state);
    } catch (const std::bad_alloc&) {
      return Error{Code::kResourceExhausted, "out of memory", ""};
    } catch (const std::exception& e) {
      return Error{Code::kInternal, e.what(), ""};
    }
  }

  /// Short of memory, it is tried once more where nothing else holds any, so that its end does not depend on who works
  /// beside it.
  Result<std::map<std::string, double>> test(const engine::Job& job, const train::TrainerState& state) {
    auto result = try_test(job, state);
    if (result || result.error().code != Code::kResourceExhausted) return result;
    {
      std::unique_lock lock(mutex);
      quiet = true;
      worker_rested.wait(lock, [&] { return busy_workers == 0 || broken; });
    }
    epochs.clear();
    groups.clear();
    park_idle_trials();
    result = try_test(job, state);
    const std::lock_guard lock(mutex);
    quiet = false;
    work_changed.notify_all();
    return result;
  }
};

std::unique_ptr<WorkerExecutor> WorkerExecutor::create(const WorkerOptions& options, const data::Dataset& data,
                                                       const nn::Operators& operators, FileSystem& fs,
                                                       const Clock& clock, const std::string& study_folder) {
  WorkerOptions resolved = options;
  if (resolved.workers <= 0) resolved.workers = default_workers();
  resolved.lanes = std::min(resolved.lanes, static_cast<std::int64_t>(CrashMarks::kMaxLanes));
  if (resolved.memory_bytes <= 0) resolved.memory_bytes = default_memory();
  auto impl = std::make_unique<Impl>(resolved, data, operators, fs, clock, study_folder);
  impl->start_workers();
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
  if (impl_->threads.empty()) {
    impl_->post(engine::BrokenReport{
        Error{Code::kResourceExhausted, "the system gives no thread for a worker: " + impl_->no_threads, ""}});
    return {};
  }
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
  slot->key = train::program_key(job.model, job.recipe, impl_->step_ops);
  slot->most_lanes = impl_->options.lanes;
  if (slot->most_lanes <= 0) {
    LANISTA_ASSIGN(slot->most_lanes, impl_->lanes_of(job));
  }
  slot->solo = impl_->crashes.contains(job.trial);
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
    if (impl_->threads.empty()) impl_->reports.emplace_back(engine::PausedReport{});
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
  impl_->report_arrived.wait_for(lock, std::chrono::duration<double>(seconds),
                                 [&] { return !impl_->reports.empty() || impl_->broken; });
  if (impl_->broken) return engine::BrokenReport{Error{*impl_->broken, impl_->broken_by.data(), ""}};
  if (impl_->reports.empty()) return std::nullopt;
  engine::Report report = std::move(impl_->reports.front());
  impl_->reports.pop_front();
  return report;
}

Result<std::map<std::string, double>> WorkerExecutor::test(const engine::Job& job, const std::string& weights) {
  LANISTA_ASSIGN(auto stored, impl_->checkpoints.get(weights));
  const train::TrainerState state{std::move(stored.tensors), std::move(stored.facts)};
  const kernels::FlushToZero as_workers;  // part of the numerics
  return impl_->test(job, state);
}

}  // namespace lanista::runtime
