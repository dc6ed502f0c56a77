#pragma once

#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/cut.h"
#include "lanista/exec/program/section.h"
#include "lanista/exec/pipeline_parallel/stage_board.h"
#include "lanista/exec/pipeline_parallel/stage_clock.h"
#include "lanista/exec/pipeline_parallel/stage_cut.h"
#include "lanista/exec/pipeline_parallel/stage_share.h"
#include "lanista/exec/program/state_layout.h"
#include "lanista/exec/program/team.h"

namespace lanista::nn {

/// The compute section of a step in stages, each pass of which is a list of prepared calls, and the threads or
/// processes that go through their lists. What a micro-batch leaves behind from its forward to its backward pass lies
/// in a slot of the stage; there are as many as the plan says. A stage copies what it reads of others into its own slot
/// as its forward pass begins, and its gradients into theirs as its backward pass ends: both slots are held then,
/// whatever else is under way, since nobody passes backward before all who wait for it have.
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

  /// Of slots and scratch; where places are processes, of those at the first place and of what all of them read.
  std::int64_t bytes() const { return own_bytes_; }
  /// The memory that all places see, and what those that do not see it tell each other.
  const StageMap& map() const { return map_; }
  /// Asks for its memory and begins its threads. Throws std::bad_alloc, std::system_error.
  void start();
  /// One of the places of another process's steps, whose memory that is, until `leaves`, which is asked now and then.
  void serve(std::byte* memory, std::size_t place, const std::function<bool()>& leaves, StageLine* line);

  /// All of it that is not calls: lines in the order of `rehearse`, numbers of a lane, whether masks are drawn.
  const Section<T>& facts() const { return facts_; }

  /// Gradients of the batch that `run` was fed, summed in micro-batch order: written to `out`, or added to it; `beside`
  /// has the same size. New buffers go where `run` says. The sum of losses. What a call throws reaches the caller, from
  /// another process its words alone. Throws PlacesLost.
  double sum(const RunContext<T>& run, T* out, T* beside, bool add);
  /// A step as it was, once some of them have been timed; not again.
  std::optional<StepTimes> take_times() { return clock_.take(); }
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
  // What places that do not see this memory are told behind a forward pass.
  struct Sent {
    Place from;
    std::int64_t sample_bytes = 0;
    std::vector<std::uint32_t> places;
  };
  struct Work {
    std::uint32_t place = 0;
    std::vector<Sent> sent;
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
  class Planner;

  StageRun() = default;
  void begin(const StageStep<T>& step, std::byte* memory, StageLine* line);
  void tell_step();
  void tell_values(std::uint32_t stage, std::int64_t micro);
  void tell_results(std::size_t place);
  void tell_bytes(std::uint32_t place, const void* from, std::int64_t bytes);
  void take(const StageStep<T>& step, std::span<const double> numbers);
  void time_step();
  void sum_here();
  void sum_with_others();
  void go(std::size_t place, const std::function<void()>& watch);
  bool exists(const StagePass& pass) const;
  void await(const StagePass& pass, const std::function<void()>& watch);
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
  double& loss_sum() const { return *reinterpret_cast<double*>(block_ + loss_offset_); }
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
  std::int64_t own_bytes_ = 0;
  StageMap map_;
  std::shared_ptr<StagePlaces> elsewhere_;  // null: places are threads
  StageShare<T> share_;                     // where they are not
  StageClock clock_;
  std::vector<typename StageShare<T>::Read> reads_;  // of each place
  std::int64_t loss_offset_ = 0, clock_offset_ = 0, share_offset_ = 0;
  std::int64_t samples_ = 0;    // of a batch, at most
  AlignedBytes memory_;         // of threads
  std::vector<T> last_losses_;  // of what others' memory held
  std::unique_ptr<Team> team_;

  StageStep<T> step_;
  std::byte* block_ = nullptr;        // the memory that all places of the step see
  StageBoard board_;                  // at its beginning
  StageLine* line_ = nullptr;         // to places that do not see it
  std::vector<std::int64_t> bounds_;  // samples before each piece, and all
  std::int64_t used_ = 0;             // pieces that have samples
  std::mutex mutex_;
  std::exception_ptr failure_;  // under the mutex
};

}  // namespace lanista::nn
