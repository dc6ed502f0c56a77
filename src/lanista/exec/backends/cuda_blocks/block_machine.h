#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lanista/exec/backends/cuda_blocks/block_device.h"
#include "lanista/exec/backends/cuda_blocks/block_program.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/machine.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::device {

/// Form B: a block a lane. Each lane that somebody sits in has a slab of the device's memory with its state, gradients
/// and values, and its block goes through the program's calls for a chunk of steps. Batches of a chunk go up together,
/// and a launch writes losses to the host. Predictions, and steps in halves, are the CPU's: a twin of one lane does
/// them on the state brought home.
class BlockMachine final : public nn::Machine {
 public:
  /// Errors: kInvalidArgument (options), kUnimplemented (an operator without a form, float64, a batch in parts),
  /// kResourceExhausted.
  static Result<std::unique_ptr<nn::Machine>> compile(BlockDevice& device, const step::TrainingStep* train,
                                                      const step::InferenceStep& infer,
                                                      const nn::ProgramOptions& options);

  ~BlockMachine() override;

  std::int64_t bytes() const override;
  Result<void> make_room(std::int64_t lanes) override;
  std::string describe() const override;
  Result<nn::LaneState> make_state(std::uint64_t trial_seed) const override;
  void attach(std::int64_t lane, nn::LaneState&& state) override;
  nn::LaneState detach(std::int64_t lane) override;
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) override;
  std::int64_t step_count(std::int64_t lane) const override;
  std::vector<Tensor> copy_out(std::int64_t lane) const override;
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

  /// Room for batches of a chunk, in bytes, if two steps need no more: a longer chunk goes in rounds.
  void stage_at_most(std::int64_t bytes) { most_staging_ = bytes; }
  std::int64_t rounds_so_far() const { return rounds_so_far_; }
  /// From here on calls of the first lane of a chunk are timed, one by one. For who looks for what a step spends.
  void time_calls();
  struct TimedCall {
    block::Call call;
    std::uint64_t cycles = 0;  ///< of the device, so far
  };
  std::vector<TimedCall> timed_calls() const;

 private:
  friend void run_population(std::span<const struct PopulationPart> parts);

  // A lane's steps of a round: those that went up together.
  struct Round {
    std::size_t lane = 0;
    std::vector<block::Step> steps;
    nn::LaneHyper hyper;      // of the last of them
    std::int64_t first = 0;   // of the chunk
    const float* losses = nullptr;  // one a step
  };
  struct Slab {
    BlockMemory memory;
    MemoryBudget::Reservation reservation;
  };
  struct Seat {
    nn::LaneState state;
    bool ahead = false;  // the device's bytes are newer than the host's
    Slab slab = {};      // while there is a state
  };
  // What a batch brings, once up.
  struct Fed {
    const void *input = nullptr, *target = nullptr;
    const block::i64* samples = nullptr;
    const float* weights = nullptr;
    int size = 0;
  };
  // Batches that machines of a population have sent up for the step at hand.
  struct Sent {
    nn::Batch batch;
    const BlockMachine* by = nullptr;
    Fed fed;
  };

  BlockMachine(nn::MachineFacts facts, BlockDevice& device, BlockProgram program, std::unique_ptr<nn::Machine> twin,
               const step::TrainingStep& train, const nn::ProgramOptions& options);
  Seat& seat(std::int64_t lane) const { return seats_[static_cast<std::size_t>(lane)]; }
  std::byte* slab(std::int64_t lane) const { return seat(lane).slab.memory.at(); }
  std::int64_t seated() const;
  Result<Slab> take_slab();
  void give_spare_back();
  void bring_home(std::int64_t lane) const;
  void send_out(std::int64_t lane) const;
  template <class F>
  void with_twin(std::int64_t lane, bool changes, const F& f) const;
  void run_on_twin(const nn::Chunk& chunk, std::span<nn::LaneEnd> ends);

  // A chunk in rounds: begin, then while it has steps left: open a round, take steps while they fit, close it, have its
  // lanes launched, settle.
  void begin(const nn::Chunk& chunk, std::span<nn::LaneEnd> ends);
  bool has_steps() const { return next_step_ < chunk_.steps; }
  void make_staging(std::int64_t lanes, std::int64_t most);
  void open_round(std::int64_t machines);  // that go together: their staging is had between them
  bool has_room() const;
  void take_step(std::vector<Sent>* sent);
  void close_round(std::vector<block::Lane>& lanes);
  void settle();
  void fail(const std::exception_ptr& why);

  void check_batch(const nn::Batch& batch) const;
  const void* put_features(const nn::Batch& batch);
  const void* put_target(const nn::Batch& batch);
  Fed put_batch(const nn::Batch& batch);
  Fed batch_up(const nn::Batch& batch, std::vector<Sent>* sent);
  bool reads_as(const BlockMachine& other) const;
  block::Step put_step(const Fed& fed, const nn::LaneHyper& hyper, std::int64_t done);
  template <class T>
  T* put(std::int64_t count, const T*& on_device);

  nn::ProgramOptions options_;
  BlockDevice* device_;
  BlockProgram program_;
  std::unique_ptr<nn::Machine> twin_;
  std::shared_ptr<const nn::StateKind> kind_;
  std::string optimizer_;
  nn::Reorder input_;
  nn::Reorder target_;
  bool tokens_ = false;
  std::int64_t classes_ = 0, positions_ = 1;
  std::int64_t sample_values_ = 1, target_values_ = 1;
  std::int64_t lane_bytes_ = 0;  // a step's part in the staging, of a lane, at most
  std::int64_t most_staging_ = std::int64_t{64} << 20, rounds_so_far_ = 0;
  BlockMemory calls_, staging_, staged_;  // staging, staged: while a chunk is under way; what of it went up
  BlockMemory clocks_;                    // of calls; none: nobody asks
  mutable std::vector<Seat> seats_;
  std::vector<Slab> spare_;  // for who comes
  std::int64_t room_ = 1;    // lanes that have a slab, at least

  // Of the chunk under way.
  nn::Chunk chunk_;
  std::span<nn::LaneEnd> ends_;
  std::vector<std::uint8_t> active_;
  std::int64_t next_step_ = 0, first_step_ = 0, used_ = 0, largest_step_ = 0;
  std::vector<Round> rounds_;
};

/// A machine with a chunk of its own.
struct PopulationPart {
  nn::Machine* machine = nullptr;
  const nn::Chunk* chunk = nullptr;
  std::span<nn::LaneEnd> ends = {};
};
/// The chunks of several machines of one block device, made by block backends, in one launch: lanes of different
/// structures side by side. Each machine's ends are as after Machine::run and wait. A batch that several of them are
/// given for the same step of a round, by the addresses of its numbers, goes up once: what lies there stays as it is
/// until all have been asked for that step.
void run_population(std::span<const PopulationPart> parts);

}  // namespace lanista::device
