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
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/engine/local/crash_marks.h"
#include "lanista/engine/local/frozen_parts.h"
#include "lanista/engine/local/group_pool.h"
#include "lanista/engine/local/member_measures.h"
#include "lanista/exec/pipeline_parallel/pipeline_backend.h"
#include "lanista/engine/local/shared_epochs.h"
#include "lanista/exec/pipeline_parallel/stage_crews.h"
#include "lanista/engine/local/trial_board.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/engine/local/trial_work.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/exec/train/fork.h"

namespace lanista::runtime {
namespace {

// A trial that was running in this many crashes of the process is not tried again.
constexpr int kMaxCrashes = 2;

constexpr std::size_t kMostIdleGroups = 64;

constexpr std::int64_t kMostCores = 64;  // that workers are begun for, unless somebody asks for more

std::int64_t default_workers() {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return std::clamp<std::int64_t>(cores, 1, kMostCores);
}

std::int64_t default_memory() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages / 4 * 3 * page : std::numeric_limits<std::int64_t>::max();
}

/// Lanes that programs are made with.
std::int64_t lane_room(const schedule::Machine& machine) {
  return machine.lanes > 0 ? machine.lanes : step::kDefaultLanes;
}

/// Of shared epochs: no more than a quarter of the memory.
std::int64_t epoch_room(const schedule::Machine& machine, const data::Dataset& data, const WorkerOptions& options) {
  return std::min(options.shared_epoch_bytes, machine.bytes / 4 / (std::ssize(data.spec().folds) + 1));
}

Result<const nn::Backend*> backend_of(const engine::WorkerBrief& brief, const WorkerOptions& options) {
  if (options.backend != nullptr) return options.backend;
  if (brief.isa.empty()) return &nn::cpu_backend();
  std::string here;
  for (const kernels::Isa isa : kernels::available_isas()) {
    if (kernels::isa_name(isa) == brief.isa) return &nn::cpu_backend(isa);
    here += (here.empty() ? "" : ", ") + std::string(kernels::isa_name(isa));
  }
  return Error{Code::kFailedPrecondition, "the study is trained at level " + brief.isa + "; this CPU has " + here, ""};
}

Result<void> check_brief(const engine::WorkerBrief& brief, const data::DataSpec& data, const nn::Backend& backend) {
  if (brief.data.hash && *brief.data.hash != data.hash) {
    return Error{Code::kFailedPrecondition,
                 "the study's data hash to " + brief.data.hash->hex() + ", those here to " + data.hash.hex(),
                 brief.data.source};
  }
  if (!brief.numeric_class.empty() && brief.numeric_class != backend.numeric_class()) {
    return Error{Code::kFailedPrecondition,
                 "the study's numbers are of class " + brief.numeric_class + ", those here of " +
                     std::string(backend.numeric_class()),
                 ""};
  }
  if (brief.pipeline_hosts.empty()) return {};
  const auto programs = engine::programs_of_places(brief.pipeline_hosts, brief.pipeline_programs);
  return programs.ok() ? Result<void>() : programs.error();
}

bool has_crews(const engine::WorkerBrief& brief) { return brief.pipeline_processes || !brief.pipeline_hosts.empty(); }

pipeline::Link link_of(const engine::WorkerBrief& brief) {
  return brief.pipeline_hosts.empty() ? pipeline::Link{0, 0}
                                      : pipeline::Link{1e-6 * brief.link_us, 1e9 * brief.link_gb_per_second};
}

/// Precondition: the hosts and programs of the brief were checked (WorkerExecutor::create).
StageHosts hosts_of(const engine::WorkerBrief& brief) {
  if (brief.pipeline_hosts.empty()) return stages_here();
  const auto programs = engine::programs_of_places(brief.pipeline_hosts, brief.pipeline_programs);
  LANISTA_CHECK(programs.ok(), "the hosts of the brief were checked");
  return stages_at(engine::stages_of(brief.pipeline_hosts, *programs));
}

std::shared_ptr<StudyMarks> marks_of(const engine::WorkerBrief& brief, const WorkerOptions& options, FileSystem& fs) {
  if (!brief.crash_marks || options.marks) return options.marks;
  return std::make_shared<StudyMarks>(fs, brief.study_folder);
}

}  // namespace

struct WorkerExecutor::Impl {
  const schedule::Machine wanted;
  const data::Dataset& data;
  StageCrews crews;
  const PipelineBackend pipelines;  // where a trial may have several threads or processes
  const nn::Backend& backend;
  nn::Operators operators;
  graph::OpTable step_ops;
  store::CheckpointStore checkpoints;
  MemoryBudget budget;
  SharedEpochs epochs;
  FrozenParts frozen;
  GroupPool groups;
  const std::shared_ptr<StudyMarks> marks;  // null: there are none
  const std::size_t first_worker;
  const std::function<void(std::span<const TrialId>)> in_hand;
  std::string no_threads;  // why the system gave none
  TrialBoard board;
  TrialWork trial_work;
  MemberMeasures measured_members;
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  Impl(const engine::WorkerBrief& brief, const data::Dataset& d, const nn::Backend& b, nn::Operators all,
       const WorkerOptions& options, FileSystem& f, const Clock& clock)
      : wanted(machine_of(brief)),
        data(d),
        crews(hosts_of(brief), [this](const LostPlace& lost) { tell(lost); }),
        pipelines(b, {.places = brief.pipeline, .crews = has_crews(brief) ? &crews : nullptr, .link = link_of(brief)}),
        backend(brief.pipeline == 1 && options.backend != nullptr ? b : pipelines),
        operators(std::move(all)),
        step_ops(step::training_ops(operators.table())),
        checkpoints(f, brief.study_folder),
        budget(wanted.bytes),
        epochs(d, epoch_room(wanted, d, options), &budget),
        frozen({.data = data,
                .step_ops = step_ops,
                .checkpoints = checkpoints,
                .operators = &operators,
                .budget = &budget,
                .bytes = wanted.bytes,
                .epoch_bytes = epoch_room(wanted, d, options),
                .backend = &backend}),
        groups(lane_room(wanted), kMostIdleGroups),
        marks(marks_of(brief, options, f)),
        first_worker(options.first_worker),
        in_hand(options.in_hand),
        board(
            lane_room(wanted),
            [this](TrialSlot& slot) {
              if (slot.run) groups.send_home(*slot.run);
            },
            options.bell, backend.capability().machines),
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
             .metrics = brief.metrics,
             .own_metrics = options.own_metrics,
             .checkpoint_every = brief.checkpoint_every,
             .backend = backend},
            [this](engine::Report report) { board.post(std::move(report)); }, [this] { park_idle_trials(); }),
        measured_members(checkpoints, [this](const engine::Job& job) { return trial_work.trainer_input(job); }) {}

  /// Of a place of a trial's pipeline: what is lost is a step.
  void tell(const LostPlace& lost) {
    board.post(engine::WorkerReport{0,
                                    lost.process,
                                    false,
                                    "lost a place of a pipeline, which " + lost.reason + "; the step is done again",
                                    {},
                                    0,
                                    lost.host});
  }

  /// As many as the system gives.
  void start_workers(const std::function<void()>& before_thread) {
    try {
      for (std::int64_t i = 0; i < wanted.workers; ++i) {
        if (before_thread) before_thread();
        threads.emplace_back([this, i] { worker(static_cast<std::size_t>(i)); });
      }
    } catch (const std::system_error& e) {
      no_threads = e.code().message();
    }
    board.open(std::ssize(threads));
  }

  /// The wall around all that is not a trial's.
  void worker(std::size_t number) {
    try {
      work(number);
    } catch (const std::bad_alloc&) {
      board.break_down(Code::kResourceExhausted, "out of memory");
    } catch (const std::exception& e) {
      board.break_down(Code::kInternal, e.what());
    } catch (...) {
      board.break_down(Code::kInternal, "a worker threw what is no exception");
    }
  }

  void work(std::size_t number) {
    kernels::set_flush_to_zero();
    while (auto errand = board.take()) {
      if (errand->help) {
        errand->gives_up = !trial_work.help(*errand->help, board.helper_is_called(), board.helper_stops());
      } else {
        mark(number, errand->work.trials);
        trial_work.run(*errand, number, board.pausing());
        mark(number, {});
      }
      board.give_back(*std::move(errand));
    }
  }

  void mark(std::size_t number, std::span<const TrialId> trials) {
    if (marks) marks->running(first_worker + number, trials);
    if (in_hand && !trials.empty()) in_hand(trials);
  }

  /// States of trials that nobody works on give their memory back.
  void park_idle_trials() {
    auto idle = board.take_idle();
    for (const auto& slot : idle) trial_work.park(*slot);
    board.give_back_idle(std::move(idle));
  }

  /// On the present thread, with whatever it throws as an error.
  Result<std::map<std::string, double>> try_measure(std::span<const engine::Tested> members, data::Part part) {
    try {
      return measured_members.measure(members, part);
    } catch (const std::bad_alloc&) {
      return Error{Code::kResourceExhausted, "out of memory", ""};
    } catch (const std::exception& e) {
      return Error{Code::kInternal, e.what(), ""};
    }
  }

  /// Short of memory, it is tried once more where nothing else holds any, so that its end does not depend on who works
  /// beside it.
  Result<std::map<std::string, double>> measure(std::span<const engine::Tested> members, data::Part part) {
    auto result = try_measure(members, part);
    if (result || result.error().code != Code::kResourceExhausted) return result;
    board.hush();
    epochs.clear();
    frozen.clear_epochs();
    groups.clear();
    measured_members.clear();
    park_idle_trials();
    result = try_measure(members, part);
    board.wake();
    return result;
  }
};

Result<std::unique_ptr<WorkerExecutor>> WorkerExecutor::create(const engine::WorkerBrief& brief,
                                                               const data::Dataset& data,
                                                               const nn::Operators& operators, FileSystem& fs,
                                                               const Clock& clock, const WorkerOptions& options) {
  LANISTA_ASSIGN(const nn::Backend* backend, backend_of(brief, options));
  LANISTA_TRY(check_brief(brief, data.spec(), *backend));
  auto impl = std::make_unique<Impl>(brief, data, *backend, operators, options, fs, clock);
  impl->start_workers(options.before_thread);
  return std::unique_ptr<WorkerExecutor>(new WorkerExecutor(std::move(impl)));
}

WorkerExecutor::WorkerExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

WorkerExecutor::~WorkerExecutor() {
  impl_->board.close();
  impl_->threads.clear();
}

std::int64_t WorkerExecutor::workers() const { return std::ssize(impl_->threads); }

schedule::Machine WorkerExecutor::machine() const {
  schedule::Machine machine = impl_->wanted;
  machine.workers = std::max<std::int64_t>(workers(), 1);
  machine.whole_groups = impl_->backend.capability().machines > 0;
  return machine;
}

schedule::Machine machine_of(const engine::WorkerBrief& brief) {
  const std::int64_t each = std::max<std::int64_t>(1, brief.pipeline);  // threads of a worker
  return {.workers = brief.workers > 0 ? brief.workers : std::max<std::int64_t>(1, default_workers() / each),
          .lanes = std::min(brief.lanes, static_cast<std::int64_t>(CrashMarks::kMaxLanes)),
          .bytes = brief.memory_bytes > 0 ? brief.memory_bytes : default_memory()};
}

Result<void> WorkerExecutor::start(const engine::Job& job) {
  if (impl_->threads.empty()) {
    impl_->board.post(engine::BrokenReport{
        Error{Code::kResourceExhausted, "the system gives no thread for a worker: " + impl_->no_threads, ""}});
    return {};
  }
  if (impl_->marks) {
    if (auto begun = impl_->marks->begin(); !begun) {
      impl_->board.post(engine::BrokenReport{begun.error()});
      return {};
    }
  }
  const int crashes = impl_->marks ? impl_->marks->crashes(job.trial) : 0;
  if (crashes >= kMaxCrashes) {
    return Error{Code::kInternal, "was running in " + std::to_string(crashes) + " crashes of the process", ""};
  }
  LANISTA_TRY(engine::check_fork(job));
  auto slot = std::make_unique<TrialSlot>();
  slot->job = job;
  slot->key = train::machine_key(job.model, job.recipe, impl_->step_ops, impl_->backend);
  ScoreUnits score;
  const auto asks = [](const engine::RacedStart::Rival& rival) { return rival.parent.has_value(); };
  if (job.parent || std::ranges::any_of(job.race.rivals, asks)) {
    LANISTA_ASSIGN(train::TrainerInput input, impl_->trial_work.trainer_input(job));
    score = scored_as(std::move(input));
  }
  std::vector<study::Measurement> repeated;
  if (!job.checkpoint.empty()) {
    LANISTA_ASSIGN(auto stored, impl_->checkpoints.get(job.checkpoint));
    slot->state = train::TrainerState{std::move(stored.tensors), std::move(stored.facts), std::move(stored.kept)};
    if (job.fork) {
      LANISTA_ASSIGN(slot->state, train::own_or_forked(*std::move(slot->state), job.fork->from, job.trial_seed,
                                                       job.fork->measurements));
    }
    LANISTA_ASSIGN(repeated, train::read_measurements(slot->state->facts));
    slot->epochs_done = std::ssize(repeated);
  } else if (job.start) {
    LANISTA_ASSIGN(slot->start, read_start(impl_->checkpoints, job, impl_->step_ops, score));
  }
  // Behind its first step a trial has had its race.
  const auto began = [&] { return slot->state && slot->state->facts.contains("race"); };
  if (job.race.steps > 0 && repeated.empty() && !began()) {
    LANISTA_ASSIGN(slot->rivals, read_rivals(impl_->checkpoints, job, impl_->step_ops, score));
  }
  impl_->board.place(std::move(slot), job.alone || crashes > 0, repeated);
  return {};
}

void WorkerExecutor::command(const engine::Command& command) { impl_->board.command(command); }

std::optional<engine::Report> WorkerExecutor::next(double seconds) { return impl_->board.next(seconds); }

Result<std::map<std::string, double>> WorkerExecutor::measure(std::span<const engine::Tested> members,
                                                              data::Part part) {
  const kernels::FlushToZero as_workers;  // part of the numerics
  return impl_->measure(members, part);
}

}  // namespace lanista::runtime
