#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/lane_gradients.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/plan.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/exec/program/chunk.h"

namespace lanista::nn {

/// What is known of a machine once it is made.
struct ExecutableProperties {
  std::int64_t lanes = 0;
  std::int64_t prediction_size = 0;  ///< elements of one prediction
  bool trains = true;                ///< false: it predicts, and no more
  std::shared_ptr<const StateFormat> state_format;
  std::vector<LaneAttr> lane_attrs;
  std::vector<PlanLine> plan;
  std::int64_t shards = 1;       ///< of a step's batch
  std::int64_t shard_bytes = 0;  ///< that ranks which share a step tell each other of a shard
};

/// Predictions, in canonical order.
using PredictionBuffer = std::variant<std::span<float>, std::span<double>>;

/// A compiled program on some device: the only thing that knows its kernels, layouts and memory. Lanes begin empty.
/// States come and go as host values; while one is seated, the device may have it where it likes, and nobody else has
/// it. To come and go may be dear: whoever has seats keeps states in them (train::LaneSlots). The caller has checked that
/// lanes exist, are empty or taken as they must be, and that states are of the machine's kind. One thread at a time.
class Executable {
 public:
  explicit Executable(ExecutableProperties properties) : properties_(std::move(properties)) {}
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const ExecutableProperties& properties() const { return properties_; }
  virtual std::int64_t bytes() const = 0;
  virtual std::string describe() const = 0;

  virtual Result<LaneState> make_state(std::uint64_t trial_seed) const = 0;
  /// Where lanes take memory as they are taken: so many may be, without want of it, until this is called again. Errors:
  /// kResourceExhausted.
  virtual Result<void> reserve_lanes(std::int64_t lanes) {
    static_cast<void>(lanes);
    return {};
  }
  /// If it throws, the state is the caller's as before.
  virtual void attach(std::int64_t lane, LaneState&& state) = 0;
  /// Cannot fail: a machine that has states elsewhere keeps the host's memory of each as long as it has the state.
  virtual LaneState detach(std::int64_t lane) = 0;
  /// A seated state's copy goes into an empty lane, for another trial: its masks are its own from here on. Errors:
  /// kResourceExhausted; then the lane is empty still.
  virtual Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) = 0;
  /// Steps that a seated state has done; -1 of an empty lane.
  virtual std::int64_t step_count(std::int64_t lane) const = 0;
  /// LaneState::extract of a seated state.
  virtual std::vector<Tensor> extract_state(std::int64_t lane) const = 0;

  /// Begins steps of the active lanes, whose ends, one a lane, hold after wait() what became of them; others' are
  /// left alone. `chunk`, all it refers to, and `results` live until then.
  virtual void run(const Chunk& chunk, std::span<LaneResult> results) = 0;
  /// Until they are done.
  virtual void wait() = 0;

  /// A step in stages as it was, once behind the first ones; of others, and from then on, nothing.
  virtual std::optional<StepTimes> take_step_times() { return std::nullopt; }

  virtual Result<LaneGradients> make_gradients() const = 0;
  virtual double gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                           LaneGradients& out, bool add) = 0;
  virtual void commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) = 0;
  virtual void renew_buffers(std::int64_t lane, const LaneGradients& from) = 0;
  virtual double squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) const = 0;
  virtual void predict(std::int64_t lane, const Batch& batch, PredictionBuffer out) = 0;
  /// Adds what is asked of lanes' predictions to their sums, over all batches. Predictions need not leave the device.
  virtual void evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes) = 0;
  virtual void losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out) = 0;
  virtual void profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) = 0;

 private:
  ExecutableProperties properties_;
};

}  // namespace lanista::nn
