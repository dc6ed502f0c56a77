#include "lanista/train/lane_group.h"

#include <algorithm>
#include <new>

#include "lanista/base/check.h"
#include "lanista/step/training_step.h"
#include "lanista/train/evaluation.h"

namespace lanista::train {
namespace {

// What went wrong in a call, or nothing.
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
    return "an exception of no known kind";
  }
}

/// The states of runs in the lanes of a program, as long as it lives.
class Seated {
 public:
  Seated(nn::Program& program, std::span<TrialRun* const> runs, nn::LaneState TrialRun::*state)
      : program_(program), runs_(runs), state_(state) {
    try {
      for (; seated_ < runs.size(); ++seated_) {
        program.attach(static_cast<std::int64_t>(seated_), std::move(runs[seated_]->*state));
      }
    } catch (...) {
      stand_up();
      throw;
    }
  }
  ~Seated() { stand_up(); }
  Seated(const Seated&) = delete;
  Seated& operator=(const Seated&) = delete;

 private:
  void stand_up() {
    for (; seated_ > 0; --seated_) {
      runs_[seated_ - 1]->*state_ = program_.detach(static_cast<std::int64_t>(seated_ - 1));
    }
  }

  nn::Program& program_;
  std::span<TrialRun* const> runs_;
  nn::LaneState TrialRun::*state_;
  std::size_t seated_ = 0;
};

}  // namespace

LaneGroup::LaneGroup(const TrainerInput& like, nn::Program program)
    : program_(std::move(program)), spec_(like.data->spec()), batch_(like.recipe.batch) {
  const auto lanes = static_cast<std::size_t>(program_.lanes());
  buffers_.emplace_back(batch_, spec_);
  batches_.resize(lanes);
  hyper_.resize(lanes);
  active_.resize(lanes);
  losses_.resize(lanes);
  predictions_.resize(static_cast<std::size_t>(batch_ * program_.prediction_size()));
}

Result<LaneGroup> LaneGroup::create(const TrainerInput& like, std::int64_t lanes) {
  LANISTA_ASSIGN(const auto train,
                 step::derive_training_step(like.model, step_options_of(like.recipe), *like.step_ops));
  LANISTA_ASSIGN(const auto infer, step::derive_inference_step(like.model, *like.step_ops));
  nn::ProgramOptions program_options;
  program_options.lanes = lanes;
  program_options.states = false;
  program_options.max_batch = like.recipe.batch;
  program_options.precision = like.recipe.precision == "float64" ? nn::Precision::kFloat64 : nn::Precision::kFloat32;
  program_options.isa = like.isa;
  program_options.budget = like.budget;
  program_options.operators = like.operators;
  program_options.step_ops = like.step_ops;
  LANISTA_ASSIGN(auto program, nn::Program::compile(train, infer, program_options));

  const auto& spec = like.data->spec();
  const std::int64_t wanted = spec.classes > 0 ? spec.classes : spec.target_size;
  if (program.prediction_size() != wanted) {
    return Error{Code::kInvalidArgument,
                 "the model gives " + std::to_string(program.prediction_size()) + " numbers a sample, data '" +
                     spec.name + "' wants " + std::to_string(wanted),
                 ""};
  }
  return LaneGroup(like, std::move(program));
}

void LaneGroup::step(std::span<TrialRun* const> runs, std::span<StepEnd> ends) {
  LANISTA_CHECK(static_cast<std::int64_t>(runs.size()) <= lanes() && runs.size() == ends.size(),
                std::to_string(runs.size()) + " runs with " + std::to_string(ends.size()) + " ends in a group of " +
                    std::to_string(lanes()) + " lanes");
  std::ranges::fill(ends, StepEnd{});
  std::ranges::fill(active_, std::uint8_t{0});
  read_batches(runs, ends);
  {
    const Seated seated(program_, runs, &TrialRun::state_);
    train(runs, ends);
  }
  measure(runs, ends);
}

void LaneGroup::read_batches(std::span<TrialRun* const> runs, std::span<StepEnd> ends) {
  std::size_t places = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    TrialRun& run = *runs[i];
    ends[i].failure = failure_of([&] {
      run.begin_epoch(runs.first(i));
      std::size_t other = 0;
      while (other < i && (active_[other] == 0 || !runs[other]->reads_with(run))) ++other;
      if (other < i) {
        batches_[i] = batches_[other];
        return;
      }
      if (places == buffers_.size()) buffers_.emplace_back(batch_, spec_);
      batches_[i] = read_batch(run, buffers_[places++]);
    });
    hyper_[i] = run.hyper();
    active_[i] = ends[i].failure.empty() ? 1 : 0;
  }
}

nn::Batch LaneGroup::read_batch(const TrialRun& run, BatchBuffers& buffers) const {
  const data::Dataset& data = *run.input_.data;
  const auto rows = run.next_rows();
  if (run.prepared_) {
    const auto width = static_cast<std::size_t>(spec_.features.elements_per_sample());
    const auto begin = static_cast<std::size_t>(rows.data() - run.order_->data());
    return buffers.with_features(data, rows,
                                 std::span(run.prepared_->features).subspan(begin * width, rows.size() * width));
  }
  if (run.augmenter_.empty()) return buffers.fill(data, rows);
  return buffers.fill(data, rows, run.augmenter_, run.input_.data_seed, run.epoch());
}

void LaneGroup::train(std::span<TrialRun* const> runs, std::span<StepEnd> ends) {
  bool is_shared = true;
  for (std::size_t i = 0; i < runs.size(); ++i)
    is_shared = is_shared && active_[i] != 0 && runs[i]->reads_with(*runs[0]);
  const auto batches = is_shared ? std::span(batches_).first(1) : std::span(batches_);
  const auto all = failure_of([&] { program_.train_step(batches, hyper_, active_, losses_); });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (active_[i] == 0) continue;
    const auto stood_still = [&] { return program_.step_count(static_cast<std::int64_t>(i)) == runs[i]->step_; };
    if (!all.empty() && stood_still()) {
      std::vector<std::uint8_t> alone(active_.size(), 0);
      alone[i] = 1;
      ends[i].failure = failure_of([&] { program_.train_step(batches, hyper_, alone, losses_); });
    }
    if (ends[i].failure.empty()) ends[i].epoch_ended = runs[i]->count_step(losses_[i], runs[i]->next_rows().size());
  }
}

void LaneGroup::measure(std::span<TrialRun* const> runs, std::span<StepEnd> ends) {
  std::vector<TrialRun*> ended;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (ends[i].epoch_ended) ended.push_back(runs[i]);
  }
  if (ended.empty()) return;
  std::vector<std::map<std::string, double>> metrics;
  const auto failure = failure_of([&] { metrics = evaluate(ended, data::Part::kValidation, "val_"); });
  std::size_t next = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!ends[i].epoch_ended) continue;
    TrialRun& run = *runs[i];
    const std::size_t place = next++;
    // One of them may have thrown: each for itself, then.
    if (!failure.empty()) {
      metrics.resize(ended.size());
      ends[i].failure = failure_of([&] { metrics[place] = evaluate(run, data::Part::kValidation, "val_"); });
      ends[i].epoch_ended = ends[i].failure.empty();
      if (!ends[i].epoch_ended) continue;
    }
    study::Measurement measurement;
    measurement.trial = run.trial();
    measurement.epoch = run.epoch();
    measurement.step = run.step_;
    measurement.metrics = std::move(metrics[place]);
    measurement.metrics["train_loss"] = run.loss_sum_ / static_cast<double>(run.train_rows().size());
    run.measurements_.push_back(std::move(measurement));
    run.loss_sum_ = 0;
    run.prepared_.reset();
  }
}

std::map<std::string, double> LaneGroup::evaluate(TrialRun& run, data::Part part, const std::string& prefix) {
  TrialRun* const one = &run;
  return evaluate(std::span(&one, 1), part, prefix).front();
}

std::vector<std::map<std::string, double>> LaneGroup::evaluate(std::span<TrialRun* const> runs, data::Part part,
                                                               const std::string& prefix) {
  const Seated seated(program_, runs, &TrialRun::state_);
  const auto width = static_cast<std::size_t>(program_.prediction_size());
  std::vector<Evaluation> sums;
  for (const TrialRun* run : runs) {
    sums.emplace_back(loss_of(run->input_.recipe), run->input_.metrics, program_.prediction_size(), run->input_.isa);
  }
  const data::Dataset& data = *runs[0]->input_.data;
  const auto& rows = data.rows(part);
  const auto chunk = static_cast<std::size_t>(batch_);
  for (std::size_t at = 0; at < rows.size(); at += chunk) {
    const auto wanted = std::span(rows).subspan(at, std::min(chunk, rows.size() - at));
    const nn::Batch batch = buffers_[0].fill(data, wanted);
    const auto used = std::span(predictions_).first(wanted.size() * width);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      program_.predict(static_cast<std::int64_t>(i), batch, used);
      sums[i].add(used, batch.labels, batch.targets);
    }
  }
  std::vector<std::map<std::string, double>> means;
  for (const Evaluation& sum : sums) means.push_back(sum.means(prefix));
  return means;
}

}  // namespace lanista::train
