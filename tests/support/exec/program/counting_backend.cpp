#include "support/exec/program/counting_backend.h"

#include <atomic>
#include <new>
#include <utility>

namespace lanista::nn::testing {

struct CountingBackend::Book {
  std::mutex mutex;
  Counts counts;
  bool refuses = false;
};

class CountingMachine final : public Machine {
 public:
  CountingMachine(std::unique_ptr<Machine> behind, std::shared_ptr<CountingBackend::Book> book)
      : Machine(behind->facts()), behind_(std::move(behind)), book_(std::move(book)) {}

  std::int64_t bytes() const override { return behind_->bytes(); }
  std::string describe() const override { return behind_->describe(); }
  Result<LaneState> make_state(std::uint64_t trial_seed) const override { return behind_->make_state(trial_seed); }
  void attach(std::int64_t lane, LaneState&& state) override {
    const Inside inside(*this);
    {
      const std::lock_guard lock(book_->mutex);
      if (std::exchange(book_->refuses, false)) throw std::bad_alloc();
      ++book_->counts.attached[state.seed()];
    }
    behind_->attach(lane, std::move(state));
  }
  LaneState detach(std::int64_t lane) override {
    const Inside inside(*this);
    LaneState state = behind_->detach(lane);
    if (state) {
      const std::lock_guard lock(book_->mutex);
      ++book_->counts.detached[state.seed()];
    }
    return state;
  }
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) override {
    const Inside inside(*this);
    {
      const std::lock_guard lock(book_->mutex);
      ++book_->counts.clones;
    }
    return behind_->clone(from, to, trial_seed);
  }
  std::int64_t step_count(std::int64_t lane) const override {
    const Inside inside(*this);
    return behind_->step_count(lane);
  }
  std::vector<Tensor> copy_out(std::int64_t lane) const override {
    const Inside inside(*this);
    return behind_->copy_out(lane);
  }
  void run(const Chunk& chunk, std::span<LaneEnd> ends) override {
    const Inside inside(*this);
    behind_->run(chunk, ends);
  }
  void wait() override {
    const Inside inside(*this);
    behind_->wait();
  }
  Result<LaneGradients> make_gradients() const override { return behind_->make_gradients(); }
  double gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                   LaneGradients& out, bool add) override {
    const Inside inside(*this);
    return behind_->gradients(lane, batch, total, hyper, out, add);
  }
  void commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) override {
    const Inside inside(*this);
    behind_->commit(lane, gradients, hyper);
  }
  void renew_buffers(std::int64_t lane, const LaneGradients& from) override {
    const Inside inside(*this);
    behind_->renew_buffers(lane, from);
  }
  double gradient_square(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) const override {
    const Inside inside(*this);
    return behind_->gradient_square(lane, gradients, hyper);
  }
  void predict(std::int64_t lane, const Batch& batch, PredictionsOut out) override {
    const Inside inside(*this);
    behind_->predict(lane, batch, out);
  }
  void evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes) override {
    const Inside inside(*this);
    behind_->evaluate(batches, lanes);
  }
  void losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out) override {
    const Inside inside(*this);
    behind_->losses(lane, batch, label_smoothing, out);
  }
  void rehearse(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) override {
    const Inside inside(*this);
    behind_->rehearse(batch, hyper, done);
  }

 private:
  /// A call under way.
  class Inside {
   public:
    explicit Inside(const CountingMachine& machine) : machine_(machine) {
      if (machine_.calls_.fetch_add(1) == 0) return;
      const std::lock_guard lock(machine_.book_->mutex);
      ++machine_.book_->counts.meetings;
    }
    ~Inside() { machine_.calls_.fetch_sub(1); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    const CountingMachine& machine_;
  };

  std::unique_ptr<Machine> behind_;
  std::shared_ptr<CountingBackend::Book> book_;
  mutable std::atomic<int> calls_ = 0;
};

CountingBackend::CountingBackend(const Backend& behind) : behind_(behind), book_(std::make_shared<Book>()) {}
CountingBackend::~CountingBackend() = default;

Result<std::unique_ptr<Machine>> CountingBackend::compile(const step::TrainingStep* train,
                                                          const step::InferenceStep& infer,
                                                          const ProgramOptions& options) const {
  LANISTA_ASSIGN(auto behind, behind_.compile(train, infer, options));
  return std::unique_ptr<Machine>(std::make_unique<CountingMachine>(std::move(behind), book_));
}

Counts CountingBackend::counts() const {
  const std::lock_guard lock(book_->mutex);
  return book_->counts;
}

void CountingBackend::refuse_next() {
  const std::lock_guard lock(book_->mutex);
  book_->refuses = true;
}

}  // namespace lanista::nn::testing
