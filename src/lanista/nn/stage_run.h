#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/nn/aligned_bytes.h"
#include "lanista/nn/cut.h"
#include "lanista/nn/section.h"
#include "lanista/nn/stage_cut.h"
#include "lanista/nn/state_layout.h"
#include "lanista/nn/team.h"

namespace lanista::nn {

/// The compute section of a step in stages, each pass of which is a list of prepared calls, and the threads that go
/// through their lists. What a micro-batch leaves behind from its forward to its backward pass lies in a slot of the
/// stage; there are as many as the plan says. A stage copies what it reads of others into its own slot as its forward
/// pass begins, and its gradients into theirs as its backward pass ends: both slots are held then, whatever else is
/// under way, since nobody passes backward before all who wait for it have.
template <class T>
class StageRun {
 public:
  struct Inputs {
    const Stages& stages;
    const StageCut& cut;
    const step::TrainingStep& train;
    const Lowered& lowered;
    const StateLayout& layout;
    SectionInputs<T> section;                          ///< as for a whole program; its max_batch is the program's
    std::int64_t input_stride = 0, target_stride = 0;  ///< bytes of a sample of what a batch brings
  };
  /// Errors: kUnimplemented (what cannot go from stage to stage), kResourceExhausted (Stages::place_bytes).
  static Result<std::unique_ptr<StageRun>> plan(const Inputs& inputs);

  std::int64_t bytes() const { return bytes_; }  ///< of slots and scratch
  /// Asks for its memory and begins its threads. Throws std::bad_alloc, std::system_error.
  void start();

  /// All of it that is not calls: lines in the order of `rehearse`, numbers of a lane, whether masks are drawn.
  const Section<T>& facts() const { return facts_; }

  /// Gradients of the batch that `run` was fed, summed in micro-batch order: written to `out`, or added to it; `beside`
  /// has the same size. New buffers go where `run` says. The sum of losses. What a call throws reaches the caller.
  double sum(const RunContext<T>& run, T* out, T* beside, bool add);
  /// Losses of the samples of the last micro-batch.
  const T* losses() const;
  /// The first micro-batch, all stages in order, with a call of `done` after every line.
  void rehearse(const RunContext<T>& run, T* out, const std::function<void()>& done);

 private:
  // What is copied with a micro-batch: from the maker's slot to the reader's.
  struct Transfer {
    std::uint32_t other = 0;
    Place from, to;
    std::int64_t sample_bytes = 0;
  };
  struct Work {
    std::array<std::vector<Run<T>>, 3> passes;
    std::array<std::vector<Range>, 3> gradients;  // that the pass gives
    std::vector<Range> renewed;
    std::vector<Transfer> arrivals, departures;
    std::vector<std::uint32_t> before, after;
    std::int64_t pieces = 1;  // of a micro-batch
    std::int64_t slots = 1, slot_bytes = 0, edge_offset = 0, offset = 0;
    std::int64_t scratch_offset = 0;
    std::size_t first_number = 0, numbers = 0;
    // Of the step under way.
    LaneHyper hyper;
    std::int64_t held = 0;
  };
  // Neighbouring samples of the batch under way.
  struct Samples {
    std::int64_t begin = 0, end = 0;
  };
  struct Step {
    RunContext<T> run;
    T* out = nullptr;
    T* beside = nullptr;
    bool add = false;
  };
  class Planner;

  StageRun() = default;
  void begin(const RunContext<T>& run, T* out, T* beside, bool add);
  void go(std::size_t place);
  bool exists(const StagePass& pass) const;
  void await(const StagePass& pass);
  void tell(const StagePass& pass);
  void perform(const StagePass& pass);
  void compute(std::uint32_t stage, std::int64_t micro, std::size_t pass, const std::function<void()>& done);
  void receive(std::uint32_t stage, std::int64_t micro);
  void hand_back(std::uint32_t stage, std::int64_t micro);
  void copy(const Transfer& transfer, bool gradient, std::uint32_t from, std::int64_t sender, std::uint32_t to,
            std::int64_t receiver);
  std::int64_t end_piece(std::uint32_t stage, std::int64_t micro) const;
  Samples samples(std::uint32_t stage, std::int64_t micro) const;
  std::byte* slot(std::uint32_t stage, std::int64_t micro) const;
  RunContext<T> context(std::uint32_t stage, std::int64_t micro) const;

  Cut cut_;
  std::vector<std::vector<StagePass>> places_;
  StageObserver* observer_ = nullptr;
  const kernels::Kernels<T>* kernels_ = nullptr;
  std::vector<Work> stages_;
  std::uint32_t last_ = 0;  // that has the loss
  Place loss_;
  Section<T> facts_;
  std::int64_t buffers_ = 0;  // elements
  std::int64_t buffer_offset_ = 0;
  std::int64_t input_stride_ = 0, target_stride_ = 0;
  std::int64_t bytes_ = 0;
  AlignedBytes memory_;
  std::unique_ptr<Team> team_;

  Step step_;
  double loss_sum_ = 0;
  std::vector<std::int64_t> bounds_;  // samples before each piece, and all
  std::int64_t used_ = 0;             // pieces that have samples
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> forward_, backward_;  // pieces that each stage has done, under the mutex
  std::exception_ptr failure_;                    // under the mutex
};

}  // namespace lanista::nn
