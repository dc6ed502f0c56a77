#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "lanista/exec/backends/aten/aten_queue.h"
#include "lanista/exec/backends/aten/aten_section.h"
#include "lanista/exec/backends/aten/aten_update.h"
#include "lanista/exec/backends/aten/lane_kernels.h"
#include "lanista/exec/backends/aten/lane_products.h"
#include "lanista/exec/backends/aten/step_inputs.h"
#include "lanista/exec/program/backend.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::device {

/// Form A: a step of all lanes as calls of ATen. States lie as rows of one tensor, [lanes, bytes of StateKind], so that
/// to seat, evict or clone one is to copy a row; lanes that are masked or empty are computed where they lie between
/// others, and never written.
class AtenMachine final : public nn::Machine {
 public:
  /// Errors: kInvalidArgument (options), kUnimplemented (an operator without a form here, a batch in parts),
  /// kResourceExhausted.
  static Result<std::unique_ptr<nn::Machine>> compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                                      const nn::ProgramOptions& options, const AtenDevice& device);
  ~AtenMachine() override;

  std::int64_t bytes() const override;
  std::string describe() const override;
  Result<nn::LaneState> make_state(std::uint64_t trial_seed) const override;
  void attach(std::int64_t lane, nn::LaneState&& state) override;
  nn::LaneState detach(std::int64_t lane) override;
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) override;
  std::int64_t step_count(std::int64_t lane) const override;
  std::vector<lanista::Tensor> copy_out(std::int64_t lane) const override;
  void run(const nn::Chunk& chunk, std::span<nn::LaneEnd> ends) override;
  void wait() override;
  Result<nn::LaneGradients> make_gradients() const override;
  double gradients(std::int64_t lane, const nn::Batch& batch, std::int64_t total, const nn::LaneHyper& hyper,
                   nn::LaneGradients& out, bool add) override;
  void commit(std::int64_t lane, const nn::LaneGradients& gradients, const nn::LaneHyper& hyper) override;
  void renew_buffers(std::int64_t lane, const nn::LaneGradients& from) override;
  double gradient_square(std::int64_t lane, const nn::LaneGradients& gradients,
                         const nn::LaneHyper& hyper) const override;
  void predict(std::int64_t lane, const nn::Batch& batch, nn::PredictionsOut out) override;
  void evaluate(const nn::BatchSource& batches, std::span<nn::LaneMetrics> lanes) override;
  void losses(std::int64_t lane, const nn::Batch& batch, double label_smoothing, std::span<double> out) override;
  void rehearse(const nn::Batch& batch, const nn::LaneHyper& hyper, const std::function<void()>& done) override;

  /// Lanes that a launch takes: fewer than there are where memory ended.
  std::int64_t lanes_at_once() const { return at_once_; }
  /// That steps of chunks were told so far.
  std::int64_t bytes_up() const { return bytes_up_; }

 private:
  // Neighbouring lanes.
  struct Lanes {
    std::int64_t begin = 0, count = 0;
  };
  // What the batches of a step bring: one for all of these lanes, or one a lane; null where a lane has none here.
  struct Fed {
    Lanes lanes;
    std::int64_t size = 0;
    std::vector<const nn::Batch*> of;
    bool shared = false;
  };
  struct Computed {
    Tensor losses;     // [lanes, batch]
    Tensor gradients;  // [lanes, parameters]
    Tensor buffers;    // [lanes, buffers], where they are renewed
  };
  // Rows of totals_.
  enum Total { kLossSum, kLoss, kBadStep, kSquare, kTotals };
  struct Pending;
  struct Recorded;
  struct Step;
  struct Parts;

  AtenMachine(nn::MachineFacts facts, Parts parts, const nn::ProgramOptions& options, const AtenDevice& device);
  nn::LaneState& state_of(std::int64_t lane) { return states_[static_cast<std::size_t>(lane)]; }
  Tensor row_on_host(std::int64_t lane) const;
  Tensor part_of(const Lanes& lanes, std::size_t part, std::int64_t elements) const;
  void bind_state(const Lanes& lanes, const std::vector<step::StateTensor>& state, Values& values) const;
  Tensor piece_of(const Tensor& flat, const nn::StateItem& item) const;

  void check_batch(const nn::Batch& batch, bool trains) const;
  StepShape shape_of(const Fed& fed, std::span<const nn::LaneHyper> hyper) const;
  StepInputs::Layouts layouts_of(const StepShape& shape) const;
  std::unique_ptr<Recorded> make_recorded(const StepShape& shape, std::size_t steps = 1) const;
  std::unique_ptr<Recorded> record(const StepShape& shape);
  Recorded& recorded(const StepShape& shape);
  void fill(Recorded& step, std::size_t at, const Fed& fed, std::span<const nn::LaneHyper> hyper,
            std::span<const std::uint8_t> active, std::int64_t number) const;
  void fill_batches(StepInputs& inputs, std::size_t at, const Fed& fed, const AtenSamples* table) const;
  static std::int64_t token_of(float number);
  Tensor brought_up(const nn::SampleTable& table, const graph::ValueType& type,
                    std::span<const float> nn::Batch::*member) const;
  std::shared_ptr<const AtenSamples> bring_up(const nn::SampleTable& table) const;
  const AtenSamples* samples_of(const Fed& fed) const;
  static Tensor read(const StepInputs& inputs, const StepShape& shape, StepInputs::Region region, std::size_t at = 0);
  static Tensor fed_to(const StepInputs& inputs, StepInputs::Region region, std::int64_t lanes, std::size_t at = 0);
  void do_waiting();
  Values computed(const Step& step, const std::function<void()>& done = {}) const;
  Computed collected(const Lanes& lanes, const Values& values) const;
  void do_step(const Step& step);
  bool updates_at_once(const StepShape& shape) const;
  lane::Descended descended(const Step& step, std::int64_t piece, std::int64_t begin) const;
  std::map<graph::NodeId, LaneDescent> descents_of(const Step& step) const;
  void finish_by_kernels(const Step& step, const Values& values);
  void commit_by_kernels(const Step& step, const Computed& of);
  void renew_by_kernels(const Step& step, const lane::Stretches& of);
  /// What `note` has to say, if anything, is said meanwhile.
  void update_by_kernels(const Step& step, std::int64_t piece, const lane::Stretches& of, const Tensor& scale,
                         lane::Note* note = nullptr);
  void commit_lanes(const Step& step, const Computed& of, std::vector<std::pair<Tensor, Tensor>> writes);
  void count_steps(const Lanes& lanes, std::span<const std::uint8_t> active);
  UpdateHyper hyper_of(const Step& step, std::int64_t piece) const;
  std::vector<std::pair<Tensor, Tensor>> noted(const Step& step, const Computed& of);
  Tensor gradient_squares(const Step& step, const Tensor& gradients) const;
  bool lanes_are_twins();
  void look_at_lanes();
  std::string class_by_lanes() const;
  Tensor predictions(const Fed& fed) const;
  Tensor predictions_of(const Lanes& lanes, const nn::Batch& batch);
  void take_fewer(std::int64_t lanes);
  void train_step(const nn::StepWork& work, std::int64_t step);
  void train_lanes(const Lanes& lanes, std::span<const std::uint8_t> group, const nn::StepWork& work,
                   std::int64_t step);
  bool train_group(const Fed& fed, const nn::StepWork& work, std::vector<std::uint8_t> active, std::int64_t step);
  void check_hyper(const nn::LaneHyper& hyper) const;
  std::int64_t answer_size(const nn::Metrics& asked) const;

  nn::ProgramOptions options_;
  const AtenDevice& device_;
  std::unique_ptr<AtenQueue> queue_;
  at::TensorOptions real_;
  std::shared_ptr<const nn::StateKind> kind_;
  std::optional<step::TrainingStep> train_;
  step::InferenceStep infer_;
  AtenSection compute_, predict_;
  AtenUpdate update_ = nullptr;
  std::int64_t classes_ = 0, positions_ = 1, row_ = 1;
  std::int64_t planned_bytes_ = 0;  // of values, with all lanes
  MemoryBudget::Reservation reservation_;
  Tensor rows_;                        // [lanes, elements of a state]
  Tensor totals_;                      // double [kTotals, lanes] of the chunk under way
  std::vector<nn::LaneState> states_;  // the host's memory of each; none where a lane is empty
  std::unique_ptr<Pending> pending_;   // of a chunk under way
  std::map<StepShape, std::unique_ptr<Recorded>> recorded_;
  Recorded* waiting_ = nullptr;      // whose steps are filled and not done yet
  std::int64_t alone_ = 0;           // so many steps do not wait for others
  std::vector<std::int64_t> ahead_;  // of each lane: so many of its steps wait
  std::int64_t at_once_ = 1;
  std::int64_t bytes_up_ = 0;
  mutable std::map<const void*, std::shared_ptr<const AtenSamples>> tables_;  // null: not for this program
  bool twins_ = true;  // lanes have the same bits wherever they lie
};

}  // namespace lanista::device
