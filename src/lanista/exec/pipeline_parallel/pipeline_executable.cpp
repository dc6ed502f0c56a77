#include "lanista/exec/pipeline_parallel/pipeline_executable.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/pipeline_parallel/stages.h"

namespace lanista::runtime {
namespace {

constexpr int kMaxLosses = 8;  // without a finished step in between

bool is_loss(const std::exception_ptr& failure) {
  if (!failure) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const program::RankLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

PipelineExecutable::PipelineExecutable(std::unique_ptr<program::Executable> executable, std::int64_t ranks,
                                       Compile make)
    : Executable(executable->properties()),
      executable_(std::move(executable)),
      num_wanted_ranks_(ranks),
      ranks_(ranks),
      compile_(std::move(make)) {
  const auto lanes = static_cast<std::size_t>(properties().lanes);
  active_.resize(lanes);
  results_.resize(lanes);
  hyper_.resize(lanes);
  lane_attrs_.resize(lanes);
  match_lane_attrs();
}

void PipelineExecutable::attach(std::int64_t lane, program::LaneState&& state) {
  bool is_empty = ranks_ < num_wanted_ranks_;
  for (std::int64_t other = 0; is_empty && other < properties().lanes; ++other)
    is_empty = executable_->steps().step_count(other) < 0;
  if (is_empty) {
    if (auto made = compile_(num_wanted_ranks_)) set_executable(*std::move(made), num_wanted_ranks_);
  }
  executable_->lanes().attach(lane, std::move(state));
}

void PipelineExecutable::run(const program::Chunk& chunk, std::span<program::LaneResult> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (chunk.active[i] != 0) results[i] = {.loss_sum = results[i].loss_sum, .failure = {}};
  }
  for (std::int64_t number = 0; number < chunk.steps; ++number) step(chunk, number, results);
}

// Runs one step of all lanes. Lanes that lost a rank repeat it.
void PipelineExecutable::step(const program::Chunk& chunk, std::int64_t number,
                              std::span<program::LaneResult> results) {
  const program::StepInput step_input = chunk.step_input(number);
  for (std::size_t i = 0; i < results.size(); ++i)
    active_[i] = chunk.active[i] != 0 && results[i].steps == number ? 1 : 0;
  while (std::ranges::count(active_, 1) > 0) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      results_[i] = {.loss_sum = results[i].loss_sum, .failure = {}};
      hyper_[i] = in_executable_order(step_input.hyper[i], lane_attrs_[i]);
    }
    executable_->steps().run({.steps = 1,
                              .active = active_,
                              .step_input =
                                  [&](std::int64_t) {
                                    return program::StepInput{step_input.batches, hyper_};
                                  },
                              .communicator = chunk.communicator,
                              .needs_gradient_norm = chunk.needs_gradient_norm},
                             results_);
    executable_->steps().wait();
    bool is_lost = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (active_[i] == 0) continue;
      active_[i] = is_loss(results_[i].failure) ? 1 : 0;
      is_lost = is_lost || active_[i] != 0;
      program::LaneResult& end = results[i];
      end.loss_sum = results_[i].loss_sum;
      end.failure = results_[i].failure;
      if (results_[i].steps == 0) continue;
      num_losses_ = 0;
      end.loss = results_[i].loss;
      end.squared_gradient_norm = results_[i].squared_gradient_norm;
      ++end.steps;
      if (results_[i].first_nonfinite_step >= 0 && end.first_nonfinite_step < 0) end.first_nonfinite_step = number;
    }
    if (is_lost && !replan()) return;
  }
}

double PipelineExecutable::gradients(std::int64_t lane, const program::Batch& batch, std::int64_t total,
                                     const program::LaneHyper& hyper, program::LaneGradients& out, bool add) {
  while (true) {
    try {
      const double loss = executable_->gradient_runner().gradients(
          lane, batch, total, in_executable_order(hyper, lane_attrs_[0]), out, add);
      num_losses_ = 0;
      return loss;
    } catch (const program::RankLost&) {
      if (!replan()) throw;
    }
  }
}

// Compiles for the remaining ranks. Returns false after too many losses.
bool PipelineExecutable::replan() {
  if (++num_losses_ > kMaxLosses) return false;
  for (std::int64_t ranks = ranks_ - 1; ranks >= 1; --ranks) {
    auto made = compile_(ranks);
    if (!made) continue;
    set_executable(*std::move(made), ranks);
    return true;
  }
  return true;
}

void PipelineExecutable::set_executable(std::unique_ptr<program::Executable> executable, std::int64_t ranks) {
  for (std::int64_t lane = 0; lane < properties().lanes; ++lane) {
    if (executable_->steps().step_count(lane) >= 0) executable->lanes().attach(lane, executable_->lanes().detach(lane));
  }
  executable_ = std::move(executable);
  ranks_ = ranks;
  match_lane_attrs();
}

// Finds the order of this plan's lane attributes among those that callers use.
void PipelineExecutable::match_lane_attrs() {
  order_.clear();
  const auto& known = properties().lane_attrs;
  for (const program::LaneAttr& each : executable_->properties().lane_attrs) {
    const auto found = std::ranges::find_if(
        known, [&](const program::LaneAttr& other) { return other.node == each.node && other.attr == each.attr; });
    LANISTA_CHECK(found != known.end(), "another plan of a model has other lane attributes");
    order_.push_back(static_cast<std::size_t>(found - known.begin()));
  }
}

program::LaneHyper PipelineExecutable::in_executable_order(const program::LaneHyper& hyper,
                                                           std::vector<double>& lane_attrs) const {
  if (hyper.lane_attrs.empty()) return hyper;
  lane_attrs.clear();
  for (const std::size_t at : order_) lane_attrs.push_back(hyper.lane_attrs[at]);
  program::LaneHyper out = hyper;
  out.lane_attrs = lane_attrs;
  return out;
}

}  // namespace lanista::runtime
