#include "lanista/engine/local/worker_executor.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/engine/local/crash_marks.h"
#include "lanista/engine/local/frozen_parts.h"
#include "lanista/engine/local/group_pool.h"
#include "lanista/engine/local/member_metrics.h"
#include "lanista/engine/local/shared_epochs.h"
#include "lanista/engine/local/trial_dispatcher.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/engine/local/trial_work.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/pipeline_parallel/pipeline_backend.h"
#include "lanista/exec/pipeline_parallel/stage_process_pool.h"
#include "lanista/exec/train/fork.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::runtime {
namespace {

// A trial that was active in this many crashes of the process is not tried again.
constexpr int kMaxCrashes = 2;

constexpr std::size_t kMaxIdleGroups = 64;

constexpr std::int64_t kMaxDefaultWorkers = 64;  // cores that get a worker by default

std::int64_t default_workers() {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return std::clamp<std::int64_t>(cores, 1, kMaxDefaultWorkers);
}

std::int64_t default_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages / 4 * 3 * page : std::numeric_limits<std::int64_t>::max();
}

/// Lanes of each program.
std::int64_t lanes_per_program(const plan::Machine& machine) {
  return machine.lanes > 0 ? machine.lanes : autodiff::kDefaultLanes;
}

/// Most bytes of shared epochs: a quarter of the memory.
std::int64_t epoch_cache_bytes(const plan::Machine& machine, const data::Dataset& data, const WorkerOptions& options) {
  return std::min(options.shared_epoch_bytes, machine.bytes / 4 / (std::ssize(data.spec().folds) + 1));
}

Result<const program::Backend*> backend_of(const engine::WorkerConfig& worker_config, const WorkerOptions& options) {
  if (options.backend != nullptr) return options.backend;
  if (worker_config.isa.empty()) return &program::cpu_backend();
  std::string here;
  for (const kernels::Isa isa : kernels::available_isas()) {
    if (kernels::isa_name(isa) == worker_config.isa) return &program::cpu_backend(isa);
    here += (here.empty() ? "" : ", ") + std::string(kernels::isa_name(isa));
  }
  return Error{Code::kFailedPrecondition,
               "the study is trained at level " + worker_config.isa + "; this CPU has " + here, ""};
}

Result<void> check_brief(const engine::WorkerConfig& worker_config, const data::DataSpec& data,
                         const program::Backend& backend) {
  if (worker_config.data.hash && *worker_config.data.hash != data.hash) {
    return Error{Code::kFailedPrecondition,
                 "the data of the study have the hash " + worker_config.data.hash->hex() + ", the data here have " +
                     data.hash.hex(),
                 worker_config.data.source};
  }
  if (!worker_config.numeric_class.empty() && worker_config.numeric_class != backend.numeric_class()) {
    return Error{Code::kFailedPrecondition,
                 "the study has numeric class " + worker_config.numeric_class + ", this process has " +
                     std::string(backend.numeric_class()),
                 ""};
  }
  if (worker_config.pipeline_hosts.empty()) return {};
  const auto programs = engine::programs_of_hosts(worker_config.pipeline_hosts, worker_config.pipeline_programs);
  return programs.ok() ? Result<void>() : programs.error();
}

bool has_stage_processes(const engine::WorkerConfig& worker_config) {
  return worker_config.pipeline_processes || !worker_config.pipeline_hosts.empty();
}

pipeline::Link link_of(const engine::WorkerConfig& worker_config) {
  return worker_config.pipeline_hosts.empty()
             ? pipeline::Link{0, 0}
             : pipeline::Link{1e-6 * worker_config.link_us, 1e9 * worker_config.link_gb_per_second};
}

/// Precondition: WorkerExecutor::create has checked hosts and programs of the configuration.
StageHosts stage_hosts_of(const engine::WorkerConfig& worker_config) {
  if (worker_config.pipeline_hosts.empty()) return local_stage_hosts();
  const auto programs = engine::programs_of_hosts(worker_config.pipeline_hosts, worker_config.pipeline_programs);
  LANISTA_CHECK(programs.ok(), "the configured hosts were checked");
  return remote_stage_hosts(engine::stage_launchers(worker_config.pipeline_hosts, *programs));
}

std::shared_ptr<StudyMarks> crash_marks_of(const engine::WorkerConfig& worker_config, const WorkerOptions& options,
                                           FileSystem& fs) {
  if (!worker_config.crash_marks || options.marks) return options.marks;
  return std::make_shared<StudyMarks>(fs, worker_config.study_folder);
}

}  // namespace

struct WorkerExecutor::Impl {
  const plan::Machine wanted;
  const data::Dataset& data;
  StageProcessPool stage_processes;
  const PipelineBackend pipelines;  // used if a trial has several threads or processes
  const program::Backend& backend;
  program::Operators operators;
  graph::OpTable step_ops;
  store::CheckpointStore checkpoints;
  MemoryBudget budget;
  SharedEpochs epochs;
  FrozenParts frozen;
  GroupPool groups;
  const std::shared_ptr<StudyMarks> marks;  // null: no crash marks
  const std::size_t first_worker;
  const std::function<void(std::span<const TrialId>)> on_training;
  std::string thread_failure;  // why the system gave no thread
  TrialDispatcher dispatcher;
  TrialWork trial_work;
  MemberMetrics measured_members;
  std::vector<std::jthread> threads;  // last member: joined before the others are destroyed

  Impl(const engine::WorkerConfig& worker_config, const data::Dataset& d, const program::Backend& b,
       program::Operators all, const WorkerOptions& options, FileSystem& f, const Clock& clock)
      : wanted(machine_of(worker_config)),
        data(d),
        stage_processes(stage_hosts_of(worker_config), [this](const LostRank& lost) { report_lost_rank(lost); }),
        pipelines(b, {.ranks = worker_config.pipeline,
                      .process_pool = has_stage_processes(worker_config) ? &stage_processes : nullptr,
                      .link = link_of(worker_config)}),
        backend(worker_config.pipeline == 1 && options.backend != nullptr ? b : pipelines),
        operators(std::move(all)),
        step_ops(autodiff::training_ops(operators.table())),
        checkpoints(f, worker_config.study_folder),
        budget(wanted.bytes),
        epochs(d, epoch_cache_bytes(wanted, d, options), &budget),
        frozen({.data = data,
                .step_ops = step_ops,
                .checkpoints = checkpoints,
                .operators = &operators,
                .budget = &budget,
                .bytes = wanted.bytes,
                .epoch_bytes = epoch_cache_bytes(wanted, d, options),
                .backend = &backend}),
        groups(lanes_per_program(wanted), kMaxIdleGroups),
        marks(crash_marks_of(worker_config, options, f)),
        first_worker(options.first_worker),
        on_training(options.on_training),
        dispatcher(
            lanes_per_program(wanted),
            [this](TrialSlot& slot) {
              if (slot.run) groups.evict_state(*slot.run);
            },
            options.on_ready, backend.capability().max_executables),
        trial_work(
            {.data = data,
             .operators = operators,
             .step_ops = step_ops,
             .clock = clock,
             .checkpoints = checkpoints,
             .budget = budget,
             .epochs = epochs,
             .frozen = frozen,
             .groups = groups,
             .metrics = worker_config.metrics,
             .own_metrics = options.own_metrics,
             .checkpoint_every = worker_config.checkpoint_every,
             .backend = backend},
            [this](engine::Report report) { dispatcher.post(std::move(report)); }, [this] { spill_idle_trials(); }),
        measured_members(checkpoints, [this](const engine::Job& job) { return trial_work.trainer_input(job); }) {}

  /// Reports a lost rank of a pipeline; one step is repeated.
  void report_lost_rank(const LostRank& lost) {
    dispatcher.post(engine::WorkerReport{0,
                                         lost.process,
                                         false,
                                         "lost a rank of a pipeline, which " + lost.reason + "; the step is repeated",
                                         {},
                                         0,
                                         lost.host});
  }

  /// Starts as many workers as the system allows.
  void start_workers(const std::function<void()>& before_thread) {
    try {
      for (std::int64_t i = 0; i < wanted.workers; ++i) {
        if (before_thread) before_thread();
        threads.emplace_back([this, i] { worker(static_cast<std::size_t>(i)); });
      }
    } catch (const std::system_error& e) {
      thread_failure = e.code().message();
    }
    dispatcher.open(std::ssize(threads));
  }

  /// Runs a worker thread. An exception that is not a trial's fails the executor.
  void worker(std::size_t number) {
    try {
      work(number);
    } catch (const std::bad_alloc&) {
      dispatcher.fail_all(Code::kResourceExhausted, "out of memory");
    } catch (const std::exception& e) {
      dispatcher.fail_all(Code::kInternal, e.what());
    } catch (...) {
      dispatcher.fail_all(Code::kInternal, "a worker threw an object that is not a std::exception");
    }
  }

  void work(std::size_t number) {
    kernels::set_flush_to_zero();
    while (auto item = dispatcher.take()) {
      if (item->help) {
        item->cannot_help =
            !trial_work.help(*item->help, dispatcher.helper_should_leave(), dispatcher.helper_must_stop());
      } else {
        record_running(number, item->work.trials);
        trial_work.run(*item, number, dispatcher.pausing());
        record_running(number, {});
      }
      dispatcher.return_item(*std::move(item));
    }
  }

  void record_running(std::size_t number, std::span<const TrialId> trials) {
    if (marks) marks->set_running(first_worker + number, trials);
    if (on_training && !trials.empty()) on_training(trials);
  }

  /// Moves the states of idle trials to the checkpoint store.
  void spill_idle_trials() {
    auto idle = dispatcher.take_idle_slots();
    for (const auto& slot : idle) trial_work.spill(*slot);
    dispatcher.return_idle_slots(std::move(idle));
  }

  /// Measures on the calling thread; exceptions become errors.
  Result<std::map<std::string, double>> try_measure(std::span<const engine::EvaluatedMember> members, data::Part part) {
    try {
      return measured_members.measure(members, part);
    } catch (const std::bad_alloc&) {
      return Error{Code::kResourceExhausted, "out of memory", ""};
    } catch (const std::exception& e) {
      return Error{Code::kInternal, e.what(), ""};
    }
  }

  /// If memory is short, it measures again while nothing else holds memory, so that the result does not depend on other
  /// trials.
  Result<std::map<std::string, double>> measure(std::span<const engine::EvaluatedMember> members, data::Part part) {
    auto result = try_measure(members, part);
    if (result || result.error().code != Code::kResourceExhausted) return result;
    dispatcher.pause_dispatch();
    epochs.clear();
    frozen.clear_epochs();
    groups.clear();
    measured_members.clear();
    spill_idle_trials();
    result = try_measure(members, part);
    dispatcher.resume_dispatch();
    return result;
  }
};

Result<std::unique_ptr<WorkerExecutor>> WorkerExecutor::create(const engine::WorkerConfig& worker_config,
                                                               const data::Dataset& data,
                                                               const program::Operators& operators, FileSystem& fs,
                                                               const Clock& clock, const WorkerOptions& options) {
  LANISTA_ASSIGN(const program::Backend* backend, backend_of(worker_config, options));
  LANISTA_TRY(check_brief(worker_config, data.spec(), *backend));
  auto impl = std::make_unique<Impl>(worker_config, data, *backend, operators, options, fs, clock);
  impl->start_workers(options.before_thread);
  return std::unique_ptr<WorkerExecutor>(new WorkerExecutor(std::move(impl)));
}

WorkerExecutor::WorkerExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

WorkerExecutor::~WorkerExecutor() {
  impl_->dispatcher.close();
  impl_->threads.clear();
}

std::int64_t WorkerExecutor::workers() const { return std::ssize(impl_->threads); }

plan::Machine WorkerExecutor::machine() const {
  plan::Machine machine = impl_->wanted;
  machine.workers = std::max<std::int64_t>(workers(), 1);
  machine.whole_groups = impl_->backend.capability().max_executables > 0;
  return machine;
}

plan::Machine machine_of(const engine::WorkerConfig& worker_config) {
  const std::int64_t each = std::max<std::int64_t>(1, worker_config.pipeline);  // threads of one worker
  return {.workers =
              worker_config.workers > 0 ? worker_config.workers : std::max<std::int64_t>(1, default_workers() / each),
          .lanes = std::min(worker_config.lanes, static_cast<std::int64_t>(CrashMarks::kMaxLanes)),
          .bytes = worker_config.memory_bytes > 0 ? worker_config.memory_bytes : default_memory()};
}

Result<void> WorkerExecutor::start(const engine::Job& job) {
  if (impl_->threads.empty()) {
    impl_->dispatcher.post(engine::ExecutorErrorReport{
        Error{Code::kResourceExhausted, "the system gives no thread for a worker: " + impl_->thread_failure, ""}});
    return {};
  }
  if (impl_->marks) {
    if (auto begun = impl_->marks->begin(); !begun) {
      impl_->dispatcher.post(engine::ExecutorErrorReport{begun.error()});
      return {};
    }
  }
  const int crashes = impl_->marks ? impl_->marks->crashes(job.trial) : 0;
  if (crashes >= kMaxCrashes) {
    return Error{Code::kInternal, "was running in " + std::to_string(crashes) + " crashes of the process", ""};
  }
  LANISTA_TRY(engine::check_fork_state(job));
  auto slot = std::make_unique<TrialSlot>();
  slot->job = job;
  slot->key = train::lane_group_key(job.model, job.recipe, impl_->step_ops, impl_->backend);
  ScoreUnits score;
  if (job.parent) {
    LANISTA_ASSIGN(train::TrainerInput input, impl_->trial_work.trainer_input(job));
    score = unit_scorer_of(std::move(input));
  }
  std::vector<study::Measurement> repeated;
  if (!job.checkpoint.empty()) {
    LANISTA_ASSIGN(auto stored, impl_->checkpoints.get(job.checkpoint));
    slot->state = train::TrainerState{std::move(stored.tensors), std::move(stored.facts), std::move(stored.kept)};
    if (job.fork) {
      LANISTA_ASSIGN(slot->state, train::own_or_forked_state(*std::move(slot->state), job.fork->from, job.trial_seed,
                                                             job.fork->measurements));
    }
    LANISTA_ASSIGN(repeated, train::read_measurements(slot->state->facts));
    slot->epochs_done = std::ssize(repeated);
  } else if (job.start) {
    LANISTA_ASSIGN(slot->start, read_start(impl_->checkpoints, job, impl_->step_ops, score));
  }
  impl_->dispatcher.add_trial(std::move(slot), job.alone || crashes > 0, repeated);
  return {};
}

void WorkerExecutor::command(const engine::Command& command) { impl_->dispatcher.command(command); }

std::optional<engine::Report> WorkerExecutor::next(double seconds) { return impl_->dispatcher.next(seconds); }

Result<std::map<std::string, double>> WorkerExecutor::measure(std::span<const engine::EvaluatedMember> members,
                                                              data::Part part) {
  const kernels::FlushToZero as_workers;  // part of the numeric class
  return impl_->measure(members, part);
}

}  // namespace lanista::runtime
