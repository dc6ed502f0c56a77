#include "support/exec/program/counting_backend.h"

#include <atomic>
#include <new>
#include <utility>

namespace lanista::program::testing {

struct CountingBackend::CallLog {
  std::mutex mutex;
  Counts counts;
  bool refuses = false;
};

class CountingExecutable final : public SingleObjectExecutable {
 public:
  CountingExecutable(std::unique_ptr<Executable> inner, std::shared_ptr<CountingBackend::CallLog> call_log)
      : SingleObjectExecutable(inner->properties()), inner_(std::move(inner)), call_log_(std::move(call_log)) {}

  std::int64_t bytes() const override { return inner_->memory().bytes(); }
  std::string describe() const override { return inner_->describe(); }
  Result<LaneState> make_state(std::uint64_t trial_seed) const override {
    return inner_->memory().make_state(trial_seed);
  }
  void attach(std::int64_t lane, LaneState&& state) override {
    const Inside inside(*this);
    {
      const std::lock_guard lock(call_log_->mutex);
      if (std::exchange(call_log_->refuses, false)) throw std::bad_alloc();
      ++call_log_->counts.attached[state.seed()];
    }
    inner_->lanes().attach(lane, std::move(state));
  }
  LaneState detach(std::int64_t lane) override {
    const Inside inside(*this);
    LaneState state = inner_->lanes().detach(lane);
    if (state) {
      const std::lock_guard lock(call_log_->mutex);
      ++call_log_->counts.detached[state.seed()];
    }
    return state;
  }
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) override {
    const Inside inside(*this);
    {
      const std::lock_guard lock(call_log_->mutex);
      ++call_log_->counts.clones;
    }
    return inner_->lanes().clone(from, to, trial_seed);
  }
  std::int64_t step_count(std::int64_t lane) const override {
    const Inside inside(*this);
    return inner_->steps().step_count(lane);
  }
  std::vector<Tensor> extract_state(std::int64_t lane) const override {
    const Inside inside(*this);
    return inner_->lanes().extract_state(lane);
  }
  void run(const Chunk& chunk, std::span<LaneResult> results) override {
    const Inside inside(*this);
    inner_->steps().run(chunk, results);
  }
  void wait() override {
    const Inside inside(*this);
    inner_->steps().wait();
  }
  Result<LaneGradients> make_gradients() const override { return inner_->memory().make_gradients(); }
  double gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                   LaneGradients& out, bool add) override {
    const Inside inside(*this);
    return inner_->gradient_runner().gradients(lane, batch, total, hyper, out, add);
  }
  void commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) override {
    const Inside inside(*this);
    inner_->gradient_runner().commit(lane, gradients, hyper);
  }
  void renew_buffers(std::int64_t lane, const LaneGradients& from) override {
    const Inside inside(*this);
    inner_->gradient_runner().renew_buffers(lane, from);
  }
  double squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients,
                               const LaneHyper& hyper) const override {
    const Inside inside(*this);
    return inner_->gradient_runner().squared_gradient_norm(lane, gradients, hyper);
  }
  void predict(std::int64_t lane, const Batch& batch, PredictionBuffer out) override {
    const Inside inside(*this);
    inner_->evaluator().predict(lane, batch, out);
  }
  void evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes) override {
    const Inside inside(*this);
    inner_->evaluator().evaluate(batches, lanes);
  }
  void losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out) override {
    const Inside inside(*this);
    inner_->evaluator().losses(lane, batch, label_smoothing, out);
  }
  void profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) override {
    const Inside inside(*this);
    inner_->evaluator().profile_step(batch, hyper, done);
  }

 private:
  /// A call that has not returned yet.
  class Inside {
   public:
    explicit Inside(const CountingExecutable& executable) : executable_(executable) {
      if (executable_.calls_.fetch_add(1) == 0) return;
      const std::lock_guard lock(executable_.call_log_->mutex);
      ++executable_.call_log_->counts.concurrent_calls;
    }
    ~Inside() { executable_.calls_.fetch_sub(1); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    const CountingExecutable& executable_;
  };

  std::unique_ptr<Executable> inner_;
  std::shared_ptr<CountingBackend::CallLog> call_log_;
  mutable std::atomic<int> calls_ = 0;
};

CountingBackend::CountingBackend(const Backend& inner) : inner_(inner), call_log_(std::make_shared<CallLog>()) {}
CountingBackend::~CountingBackend() = default;

Result<std::unique_ptr<Executable>> CountingBackend::compile(const autodiff::TrainingStep* train,
                                                             const autodiff::InferenceStep& infer,
                                                             const ProgramOptions& options) const {
  LANISTA_ASSIGN(auto inner, inner_.compile(train, infer, options));
  return std::unique_ptr<Executable>(std::make_unique<CountingExecutable>(std::move(inner), call_log_));
}

Counts CountingBackend::counts() const {
  const std::lock_guard lock(call_log_->mutex);
  return call_log_->counts;
}

void CountingBackend::fail_next_attach() {
  const std::lock_guard lock(call_log_->mutex);
  call_log_->refuses = true;
}

}  // namespace lanista::program::testing
