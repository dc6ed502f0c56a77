#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/nn/aligned_bytes.h"
#include "lanista/nn/lane_state.h"
#include "lanista/nn/program.h"
#include "lanista/nn/section.h"
#include "lanista/nn/team.h"

namespace lanista::nn {

/// A Program of one element type; the members mean what they mean there.
template <class T>
class LaneProgram {
 public:
  static Result<LaneProgram> compile(const step::TrainingStep& train, const step::InferenceStep& infer,
                                     const ProgramOptions& options);

  std::int64_t lanes() const { return options_.lanes; }
  std::int64_t bytes() const;
  std::string describe() const;
  std::vector<PlanLine> plan() const;
  void rehearse(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done);
  LaneState& state(std::int64_t lane) { return states_[static_cast<std::size_t>(lane)]; }
  Result<LaneState> make_state(std::uint64_t trial_seed) const {
    return LaneState::make(kind_, trial_seed, options_.budget);
  }
  const StateKind& kind() const { return *kind_; }
  const std::vector<LaneNumber>& lane_numbers() const { return train_.numbers; }

  void train_step(std::span<const Batch> batches, std::span<const LaneHyper> hyper,
                  std::span<const std::uint8_t> active, std::span<double> loss);
  template <class Out>
  void predict(std::int64_t lane, const Batch& batch, std::span<Out> out);
  std::int64_t prediction_size() const { return prediction_count_.per_sample; }

 private:
  // A value that the batch brings, and the memory for it in program layout.
  struct Feed {
    Reorder reorder;
    bool tokens = false;      // whole numbers that travel as floats
    std::int64_t offset = 0;  // in a desk
    std::int64_t bytes = 0;   // none if the batch's own memory serves
    void plan(const graph::ValueType& type, std::int64_t max_batch);
  };
  struct Plan;

  LaneProgram(Plan plan, const ProgramOptions& options, MemoryBudget::Reservation reservation,
              std::vector<LaneState> states);
  void train_lane(RunContext<T>& run, std::int64_t lane, double& loss);
  void commit_lane(const RunContext<T>& run, std::int64_t lane);
  /// A thread's own arena, scratch, feeds, gradients and new buffer values.
  std::byte* desk(int thread) const { return memory_.data() + thread * desk_bytes_; }
  RunContext<T> context(std::int64_t lane, int thread) const;
  std::byte* feed(const Feed& feed, std::byte* desk, std::int64_t n, std::span<const float> values) const;
  void feed_features(RunContext<T>& run, std::byte* desk, const Batch& batch) const;
  void feed_batch(RunContext<T>& run, std::byte* desk, const Batch& batch) const;

  ProgramOptions options_;
  const kernels::Kernels<T>* kernels_;
  step::StepOptions step_options_;
  Section<T> train_, infer_;
  PlanLine commit_;
  Place loss_, prediction_;
  Reorder prediction_out_;
  Count prediction_count_;
  std::int64_t classes_ = 0;  // cross-entropy: labels are below this
  Feed input_, target_;
  std::int64_t scratch_offset_ = 0;
  std::int64_t gradient_offset_ = 0;
  std::int64_t new_buffer_offset_ = 0;
  std::int64_t desk_bytes_ = 0;
  MemoryBudget::Reservation reservation_;
  std::shared_ptr<const StateKind> kind_;
  std::vector<LaneState> states_;             // of each lane; none where it is empty
  std::vector<std::exception_ptr> failures_;  // of each lane in the step at hand
  AlignedBytes memory_;                       // desks
  Team team_;
};

}  // namespace lanista::nn
