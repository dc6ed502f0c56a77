#include "bench/cell_population.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/backends/cuda_blocks/block_executable.h"
#include "lanista/exec/kernels/flush_to_zero.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kStepsPerSlice = 8;  // steps of a model before the next model trains
constexpr std::size_t kMaxThreads = 8;      // threads for executables that do not run in one launch

/// An executable of one lane, with its chunk and its result.
struct CellModel {
  std::unique_ptr<program::Executable> executable;
  program::LaneHyper hyper;
  program::Chunk chunk;
  program::LaneResult result;
};

/// Cells as executables of one lane.

class CellPopulation final : public Population {
 public:
  CellPopulation(std::vector<CellModel> members, std::shared_ptr<const CaseBatch> batch, double seconds)
      : members_(std::move(members)), batch_(std::move(batch)), view_(batch_->view()), seconds_(seconds) {
    for (CellModel& each : members_) {
      each.chunk.active = {&kActive, 1};
      each.chunk.step_input = [this, &each](std::int64_t) { return program::StepInput{{&view_, 1}, {&each.hyper, 1}}; };
    }
  }

  std::int64_t models() const override { return std::ssize(members_); }
  std::vector<double> step() override {
    run(1);
    std::vector<double> losses;
    for (const CellModel& each : members_) losses.push_back(each.result.loss);
    return losses;
  }
  void run(std::int64_t steps) override {
    for (CellModel& each : members_) {
      each.chunk.steps = steps;
      each.result = {.failure = {}};
    }
    if (dynamic_cast<device::BlockExecutable*>(members_.front().executable.get()) != nullptr) {
      std::vector<device::LaunchPart> parts;
      for (CellModel& each : members_) parts.push_back({each.executable.get(), &each.chunk, {&each.result, 1}});
      device::run_in_one_launch(parts);
    } else {
      run_by_threads();
    }
    for (const CellModel& each : members_) {
      if (each.result.failure) std::rethrow_exception(each.result.failure);
    }
  }
  std::int64_t bytes() const override {
    std::int64_t bytes = 0;
    for (const CellModel& each : members_) bytes += each.executable->memory().bytes();
    return bytes;
  }
  double compile_seconds() const override { return seconds_; }

 private:
  static constexpr std::uint8_t kActive = 1;

  // Runs the chunks on threads, each of which runs its share of the executables one after the other.
  void run_by_threads() {
    const std::size_t count = std::min({kMaxThreads, members_.size(), static_cast<std::size_t>(host_cores())});
    std::vector<std::exception_ptr> thrown(count);
    {
      std::vector<std::jthread> threads;
      for (std::size_t first = 0; first < count; ++first) {
        threads.emplace_back([&, first] {
          const kernels::FlushToZero as_workers;
          try {
            for (std::size_t i = first; i < members_.size(); i += count) {
              members_[i].executable->steps().run(members_[i].chunk, {&members_[i].result, 1});
              members_[i].executable->steps().wait();
            }
          } catch (...) {
            thrown[first] = std::current_exception();
          }
        });
      }
    }
    for (const std::exception_ptr& each : thrown) {
      if (each) std::rethrow_exception(each);
    }
  }

  std::vector<CellModel> members_;
  std::shared_ptr<const CaseBatch> batch_;
  program::Batch view_;
  double seconds_;
};

}  // namespace

Result<std::unique_ptr<Population>> cells_on(const program::Backend& backend, std::span<const Cell> cells,
                                             const std::shared_ptr<const CaseBatch>& batch) {
  const auto ops = autodiff::training_ops(graph::builtin_ops());
  std::vector<CellModel> members(cells.size());
  double seconds = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Case c = cell_case(cells[i]);
    LANISTA_ASSIGN(const auto train, autodiff::derive_training_step(c.model, {}, ops));
    LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(c.model, ops));
    const double begin = now_seconds();
    LANISTA_ASSIGN(members[i].executable,
                   backend.compile(&train, infer, {.lanes = 1, .max_batch = c.batch, .backend = &backend}));
    const auto model = static_cast<std::int64_t>(i);
    LANISTA_ASSIGN(program::LaneState state, members[i].executable->memory().make_state(model_seed(model)));
    members[i].executable->lanes().attach(0, std::move(state));
    seconds += now_seconds() - begin;
    members[i].hyper = model_hyper(c, model);
  }
  return std::unique_ptr<Population>(std::make_unique<CellPopulation>(std::move(members), batch, seconds));
}

Result<std::vector<LanistaProgram>> cells_on_host(std::span<const Cell> cells,
                                                  const std::shared_ptr<const CaseBatch>& batch) {
  std::vector<LanistaProgram> programs;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    LANISTA_ASSIGN(auto program,
                   LanistaProgram::make(cell_case(cells[i]), {.first = static_cast<std::int64_t>(i)}, batch));
    programs.push_back(std::move(program));
  }
  return programs;
}

std::vector<RepeatedWork> work_per_core(std::vector<LanistaProgram>& programs, std::int64_t cores) {
  const std::size_t count = std::min(programs.size(), static_cast<std::size_t>(cores));
  std::vector<RepeatedWork> works;
  for (std::size_t first = 0; first < count; ++first) {
    std::vector<LanistaProgram*> share;
    for (std::size_t i = first; i < programs.size(); i += count) share.push_back(&programs[i]);
    works.push_back({[share] {
                       for (LanistaProgram* program : share) {
                         for (std::int64_t step = 0; step < kStepsPerSlice; ++step) program->step();
                       }
                     },
                     static_cast<double>(std::ssize(share) * kStepsPerSlice)});
  }
  return works;
}

}  // namespace lanista::bench
