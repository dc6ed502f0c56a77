#include "lanista/exec/train/lane_group.h"

#include <algorithm>
#include <new>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/train/causality.h"
#include "lanista/exec/train/evaluation.h"
#include "lanista/exec/train/run_updates.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::train {
namespace {

// Returns the error text of a call; empty without an error.
template <class Call>
std::string failure_of(const Call& call) {
  try {
    call();
    return {};
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace

LaneGroup::LaneGroup(const TrainerInput& like, program::Program program)
    : slots_(std::make_unique<LaneSlots>(std::move(program))),
      spec_(like.data->spec()),
      batch_(study::largest_batch(like.recipe)) {
  const auto lanes = static_cast<std::size_t>(this->lanes());
  buffers_.emplace_back(batch_, spec_);
  batches_.resize(lanes);
  hyper_.resize(lanes);
  active_.resize(lanes);
  lane_results_.resize(lanes);
  needs_gradient_norm_.resize(lanes);
  small_squares_.resize(lanes);
  batch_readers_.resize(lanes);
  states_.reserve(lanes);
}

Result<LaneGroup> LaneGroup::create(const TrainerInput& like, std::int64_t lanes) {
  LANISTA_ASSIGN(const auto train,
                 autodiff::derive_training_step(
                     like.model, autodiff::StepOptions{like.recipe.loss, like.recipe.optimizer}, *like.step_ops));
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(like.model, *like.step_ops));
  program::ProgramOptions options = program_options_of(like);
  options.lanes = lanes;
  LANISTA_ASSIGN(auto program, program::Program::compile(train, infer, options));
  LANISTA_TRY(check_predictions(program, like.data->spec()));
  LANISTA_TRY(check_causality(infer, like.data->spec(), program_options_of(like)));
  LaneGroup group(like, std::move(program));
  if (like.recipe.tune.name == study::kAdaptive) {
    LANISTA_ASSIGN(group.scratch_gradients_, group.program().make_gradients());
  }
  return group;
}

std::int64_t LaneGroup::advance(std::span<TrialRun* const> runs, std::int64_t max_updates,
                                std::span<StepResult> results, program::ShardCommunicator* communicator) {
  const std::int64_t steps = train_chunk(runs, max_updates, results, communicator);
  measure(runs, results);
  return steps;
}

StepResult LaneGroup::train_as_helper(TrialRun& run, std::int64_t max_updates,
                                      program::ShardCommunicator& communicator) {
  TrialRun* const one = &run;
  StepResult end;
  train_chunk({&one, 1}, max_updates, {&end, 1}, &communicator);
  return end;
}

std::int64_t LaneGroup::train_chunk(std::span<TrialRun* const> runs, std::int64_t max_updates,
                                    std::span<StepResult> results, program::ShardCommunicator* communicator) {
  LANISTA_CHECK(static_cast<std::int64_t>(runs.size()) <= lanes() && runs.size() == results.size() && max_updates >= 1,
                std::to_string(runs.size()) + " runs with " + std::to_string(results.size()) +
                    " results in a group of " + std::to_string(lanes()) + " lanes");
  std::ranges::fill(results, StepResult{});
  std::ranges::fill(active_, std::uint8_t{0});
  std::int64_t steps = max_updates;
  for (TrialRun* run : runs) {
    run->adapt_batch();
    steps = std::min(steps, max_updates_in_chunk(*run));
  }
  assign_lanes(runs);
  begin_passes(runs, results);
  select(runs, results);
  measure_gradient_noise(runs, results);
  train(runs, steps, results, communicator);
  return steps;
}

void LaneGroup::assign_lanes(std::span<TrialRun* const> runs) {
  states_.clear();
  for (TrialRun* run : runs) states_.push_back(&run->state_.run_state());
  slots_->assign_lanes(states_);
}

void LaneGroup::keep_only(std::span<TrialRun* const> runs) {
  states_.clear();
  for (TrialRun* run : runs) states_.push_back(&run->state_.run_state());
  slots_->evict_all_but(states_);
}

// Starts passes: runs at one data position share their order to the end of the chunk.
void LaneGroup::begin_passes(std::span<TrialRun* const> runs, std::span<StepResult> results) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    TrialRun& run = *runs[i];
    results[i].failure = failure_of([&] {
      run.begin_pass(runs.first(i));
      std::size_t other = 0;
      while (other < i && (active_[lane_of(*runs[other])] == 0 || !shares_batch(*runs[other], run))) ++other;
      batch_readers_[i] = other;
    });
    active_[lane_of(run)] = results[i].failure.empty() ? 1 : 0;
  }
}

// Lets runs with selection choose among the rows that they read, by losses in inference form with their own weights.
void LaneGroup::select(std::span<TrialRun* const> runs, std::span<StepResult> results) {
  std::vector<std::int64_t> requested;
  std::vector<double> losses;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    TrialRun& run = *runs[i];
    Selection& selection = run.rows_.selection();
    if (!selection || active_[lane_of(run)] == 0) continue;
    results[i].failure = failure_of([&] {
      const auto rows = rows_of(run, 0);
      const DataPosition position = run.updates().position();
      requested.clear();
      for (const std::size_t place : selection.requested_positions(position, rows)) requested.push_back(rows[place]);
      losses.resize(requested.size());
      if (!requested.empty()) {
        slots_->program().losses(run.state().run_state().lane(), read_batch(run, requested, buffers_[0]),
                                 run.updates().setting().label_smoothing, losses);
      }
      selection.add_batch(position, rows, losses);
    });
    active_[lane_of(run)] = results[i].failure.empty() ? 1 : 0;
  }
}

// Computes the gradient of the first rows for runs with a measured update, at the weights before that update.
void LaneGroup::measure_gradient_noise(std::span<TrialRun* const> runs, std::span<StepResult> results) {
  std::ranges::fill(needs_gradient_norm_, std::uint8_t{0});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    TrialRun& run = *runs[i];
    const std::size_t lane = lane_of(run);
    if (active_[lane] == 0 || !measures_gradient_noise(run)) continue;
    results[i].failure = failure_of([&] {
      const auto rows = rows_of(run, 0).first(static_cast<std::size_t>(run.settings().adapter()->small_rows()));
      const program::Batch batch = read_batch(run, rows, buffers_[0]);
      const program::LaneHyper hyper = hyper_of(run, 0);
      program::Program& program = slots_->program();
      program.gradients(run.state().run_state().lane(), batch, batch.size, hyper, scratch_gradients());
      small_squares_[lane] = program.squared_gradient_norm(run.state().run_state().lane(), scratch_gradients(), hyper);
    });
    active_[lane] = needs_gradient_norm_[lane] = results[i].failure.empty() ? 1 : 0;
  }
}

// Returns memory for gradients that update nothing.
program::LaneGradients& LaneGroup::scratch_gradients() {
  if (!scratch_gradients_) {
    auto made = slots_->program().make_gradients();
    if (!made) throw std::bad_alloc();
    scratch_gradients_ = *std::move(made);
  }
  return scratch_gradients_;
}

// Returns the input of the update that is `ahead` updates after the next.
program::StepInput LaneGroup::work_of(std::span<TrialRun* const> runs, std::int64_t ahead,
                                      std::span<const std::uint8_t> lanes) {
  std::size_t num_batches = 0;
  bool is_shared = !runs.empty();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t lane = lane_of(*runs[i]);
    is_shared = is_shared && lanes[lane] != 0 && batch_readers_[i] == 0;
    if (lanes[lane] == 0) continue;
    hyper_[lane] = hyper_of(*runs[i], ahead);
    const std::size_t reader = lane_of(*runs[batch_readers_[i]]);
    if (reader != lane && lanes[reader] != 0) {
      batches_[lane] = batches_[reader];
      continue;
    }
    if (num_batches == buffers_.size()) buffers_.emplace_back(batch_, spec_);
    const Selection& selection = runs[i]->rows().selection();
    const auto rows = selection ? selection.batch() : rows_of(*runs[i], ahead);
    batches_[lane] = read_batch(*runs[i], rows, buffers_[num_batches++]);
  }
  const std::span<const program::Batch> batches(batches_);
  return {is_shared ? batches.subspan(lane_of(*runs[0]), 1) : batches, hyper_};
}

program::Batch LaneGroup::read_batch(const TrialRun& run, std::span<const std::int64_t> rows,
                                     BatchBuffers& buffers) const {
  const TrialDefinition& trial = run.definition();
  const data::Dataset& data = *trial.input.data;
  const auto width = static_cast<std::size_t>(spec_.features.elements_per_sample());
  const std::span<const float> prepared = run.rows().prepared_features(rows, width);
  if (!prepared.empty()) return buffers.make_batch(data, rows, prepared);
  if (trial.augmenter.empty()) return buffers.fill(data, rows);
  return buffers.fill(data, rows, trial.augmenter, run.rows().seed(), trial.epochs.pass(run.progress().step_count()));
}

// Trains the active lanes. A lane that threw repeats its step once alone, and then waits for the next chunk.
void LaneGroup::train(std::span<TrialRun* const> runs, std::int64_t steps, std::span<StepResult> results,
                      program::ShardCommunicator* communicator) {
  program::Program& program = slots_->program();
  for (const TrialRun* run : runs)
    lane_results_[lane_of(*run)] = {.loss_sum = run->progress().loss_sum(), .failure = {}};
  const auto chunk_of = [&](std::int64_t count, std::int64_t first, std::span<const std::uint8_t> lanes,
                            program::ShardCommunicator* with) {
    return program::Chunk{
        .steps = count,
        .active = lanes,
        .step_input = [this, runs, first, lanes](std::int64_t step) { return work_of(runs, first + step, lanes); },
        .communicator = with,
        .needs_gradient_norm = needs_gradient_norm_};
  };
  // A run without a full batch counts its step without the program; it is no rank.
  std::vector<std::uint8_t> trains = active_;
  for (const TrialRun* run : runs) {
    if (const Selection& selection = run->rows().selection(); selection && selection.batch().empty())
      trains[lane_of(*run)] = 0;
  }
  program::ShardCommunicator* const all_peers =
      std::ranges::count(trains, std::uint8_t{1}) == 1 ? communicator : nullptr;
  const std::string all = failure_of([&] { program.run(chunk_of(steps, 0, trains, all_peers), lane_results_); });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t lane = lane_of(*runs[i]);
    if (active_[lane] == 0) continue;
    program::LaneResult& end = lane_results_[lane];
    if (trains[lane] == 0) {
      end.steps = steps;
    } else if (end.steps < steps && (end.failure || !all.empty())) {
      std::vector<std::uint8_t> alone(active_.size(), 0);
      alone[lane] = 1;
      const program::LaneResult before = std::exchange(end, {.loss_sum = end.loss_sum, .failure = {}});
      results[i].failure = failure_of([&] {
        program.run(chunk_of(1, before.steps, alone, nullptr), lane_results_);
        if (end.failure) std::rethrow_exception(std::exchange(end.failure, nullptr));
      });
      if (end.first_nonfinite_step >= 0) end.first_nonfinite_step = before.steps;
      if (before.first_nonfinite_step >= 0) end.first_nonfinite_step = before.first_nonfinite_step;
      end.steps += before.steps;
    }
    if (end.first_nonfinite_step >= 0)
      results[i].first_nonfinite_step =
          runs[i]->progress().step_count() + runs[i]->updates().steps_of(end.first_nonfinite_step);
    if (needs_gradient_norm_[lane] != 0 && end.steps > 0)
      runs[i]->record_gradient_noise(small_squares_[lane], end.squared_gradient_norm);
    const bool at_the_end = runs[i]->count_steps(end);
    results[i].epoch_ended = at_the_end && results[i].failure.empty();
  }
}

// Renews the running statistics of batch norm over all rows. They come from selected rows, or from another model, but
// predictions use all rows. Training does not read them.
void LaneGroup::recalibrate(TrialRun& run) {
  program::Program& program = slots_->program();
  const std::int64_t recalibration = recalibration_of(run);
  if (recalibration == 0 || program.state_format().layout().renewed.empty()) return;
  program::LaneGradients& scratch_gradients = this->scratch_gradients();
  const auto size = static_cast<std::size_t>(run.definition().input.recipe.batch);
  const std::span<const std::int64_t> rows = run.rows().order();
  const std::size_t batches = std::min(static_cast<std::size_t>(recalibration), rows.size() / size);
  for (std::size_t i = 0; i < batches; ++i) {
    const program::Batch batch = read_batch(run, rows.subspan(i * size, size), buffers_[0]);
    program.gradients(run.state().run_state().lane(), batch, batch.size, hyper_of(run, 0), scratch_gradients);
    program.renew_buffers(run.state().run_state().lane(), scratch_gradients);
  }
}

Result<std::map<std::string, double>> LaneGroup::measure_copy(const TrialRun& run) {
  LANISTA_ASSIGN(TrialRun copy, run.copy_with_state());
  copy.rows_.share_pass(run.rows());  // rows for the statistics
  std::map<std::string, double> metrics;
  const std::string failure = failure_of([&] {
    TrialRun* const one = &copy;
    assign_lanes({&one, 1});
    copy.begin_pass({});
    if (copy.rows().selection().recalibration() > 0) recalibrate(copy);
    metrics = evaluate(copy, data::Part::kValidation, "val_");
  });
  if (failure.empty()) return metrics;
  return Error{failure == "out of memory" ? Code::kResourceExhausted : Code::kInternal, failure, ""};
}

void LaneGroup::measure(std::span<TrialRun* const> runs, std::span<StepResult> results) {
  std::vector<TrialRun*> ended;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!results[i].epoch_ended) continue;
    if (recalibration_of(*runs[i]) > 0) {
      results[i].failure = failure_of([&] { recalibrate(*runs[i]); });
      results[i].epoch_ended = results[i].failure.empty();
    }
    if (results[i].epoch_ended) ended.push_back(runs[i]);
  }
  if (ended.empty()) return;
  // Lanes with the same rows are measured together; folds have rows of their own.
  std::vector<std::map<std::string, double>> metrics(ended.size());
  const auto failure = failure_of([&] {
    std::vector<std::uint8_t> measured(ended.size(), 0);
    for (std::size_t first = 0; first < ended.size(); ++first) {
      std::vector<TrialRun*> alike;
      std::vector<std::size_t> num_batches;
      for (std::size_t i = first; i < ended.size(); ++i) {
        if (measured[i] != 0 || ended[i]->definition().input.data != ended[first]->definition().input.data) continue;
        measured[i] = 1;
        alike.push_back(ended[i]);
        num_batches.push_back(i);
      }
      if (alike.empty()) continue;
      auto values = evaluate(alike, data::Part::kValidation, "val_");
      for (std::size_t i = 0; i < num_batches.size(); ++i) metrics[num_batches[i]] = std::move(values[i]);
    }
  });
  std::size_t next = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!results[i].epoch_ended) continue;
    TrialRun& run = *runs[i];
    const std::size_t place = next++;
    // One of them may have thrown: measure each alone.
    if (!failure.empty()) {
      results[i].failure = failure_of([&] { metrics[place] = evaluate(run, data::Part::kValidation, "val_"); });
      results[i].epoch_ended = results[i].failure.empty();
      if (!results[i].epoch_ended) continue;
    }
    results[i].failure = failure_of([&] { run.record_measurement(std::move(metrics[place])); });
    results[i].epoch_ended = results[i].failure.empty();
  }
}

std::map<std::string, double> LaneGroup::evaluate(TrialRun& run, data::Part part, const std::string& prefix) {
  TrialRun* const one = &run;
  return evaluate(std::span(&one, 1), part, prefix).front();
}

std::vector<std::map<std::string, double>> LaneGroup::evaluate(std::span<TrialRun* const> runs, data::Part part,
                                                               const std::string& prefix) {
  assign_lanes(runs);
  std::vector<Evaluation> evaluations;
  for (const TrialRun* run : runs) {
    evaluations.push_back(evaluation_of(run->definition().input));
  }
  std::vector<program::LaneMetrics> lanes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    lanes.push_back({.lane = runs[i]->state().run_state().lane(), .requested = &evaluations[i].requested()});
  }
  const data::Dataset& data = *runs[0]->definition().input.data;
  slots_->program().evaluate(buffers_[0].evaluation_batches(data, data.rows(part)), lanes);
  std::vector<std::map<std::string, double>> means;
  for (std::size_t i = 0; i < runs.size(); ++i) means.push_back(evaluations[i].values(lanes[i].sums, prefix));
  return means;
}

}  // namespace lanista::train
