#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lanista/exec/program/machine.h"

namespace lanista::runtime {

/// A machine whose steps are done at several places, one of which may be lost at any time (nn::PlacesLost). The step
/// under way is then done again, by a machine for the places that are left, down to one; where no such machine has
/// room, by the same, whose lost place is another's by then. Once all lanes were empty, it has all places again. States
/// are as they were after their last whole step, so nobody sees it but by the time it takes. A place that is lost too
/// often without a step ends in what it threw.
class PipelineMachine final : public nn::Machine {
 public:
  /// The same program for so many places, to the same bits.
  using Make = std::function<Result<std::unique_ptr<nn::Machine>>(std::int64_t places)>;
  PipelineMachine(std::unique_ptr<nn::Machine> machine, std::int64_t places, Make make);

  std::int64_t bytes() const override { return machine_->bytes(); }
  std::string describe() const override { return machine_->describe(); }
  Result<nn::LaneState> make_state(std::uint64_t seed) const override { return machine_->make_state(seed); }
  void attach(std::int64_t lane, nn::LaneState&& state) override;
  nn::LaneState detach(std::int64_t lane) override { return machine_->detach(lane); }
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t seed) override {
    return machine_->clone(from, to, seed);
  }
  std::int64_t step_count(std::int64_t lane) const override { return machine_->step_count(lane); }
  std::vector<Tensor> copy_out(std::int64_t lane) const override { return machine_->copy_out(lane); }
  void run(const nn::Chunk& chunk, std::span<nn::LaneEnd> ends) override;
  void wait() override {}
  std::optional<nn::StepTimes> take_step_times() override { return machine_->take_step_times(); }
  Result<nn::LaneGradients> make_gradients() const override { return machine_->make_gradients(); }
  double gradients(std::int64_t lane, const nn::Batch& batch, std::int64_t total, const nn::LaneHyper& hyper,
                   nn::LaneGradients& out, bool add) override;
  void commit(std::int64_t lane, const nn::LaneGradients& gradients, const nn::LaneHyper& hyper) override {
    machine_->commit(lane, gradients, hyper);
  }
  void renew_buffers(std::int64_t lane, const nn::LaneGradients& from) override { machine_->renew_buffers(lane, from); }
  double gradient_square(std::int64_t lane, const nn::LaneGradients& gradients,
                         const nn::LaneHyper& hyper) const override {
    return machine_->gradient_square(lane, gradients, hyper);
  }
  void predict(std::int64_t lane, const nn::Batch& batch, nn::PredictionsOut out) override {
    machine_->predict(lane, batch, out);
  }
  void evaluate(const nn::BatchSource& batches, std::span<nn::LaneMetrics> lanes) override {
    machine_->evaluate(batches, lanes);
  }
  void losses(std::int64_t lane, const nn::Batch& batch, double label_smoothing, std::span<double> out) override {
    machine_->losses(lane, batch, label_smoothing, out);
  }
  void rehearse(const nn::Batch& batch, const nn::LaneHyper& hyper, const std::function<void()>& done) override {
    machine_->rehearse(batch, hyper, done);
  }

 private:
  void step(const nn::Chunk& chunk, std::int64_t number, std::span<nn::LaneEnd> ends);
  bool replan();
  void take(std::unique_ptr<nn::Machine> machine, std::int64_t places);
  void learn_order();
  nn::LaneHyper own(const nn::LaneHyper& hyper, std::vector<double>& numbers) const;

  std::unique_ptr<nn::Machine> machine_;
  const std::int64_t wanted_;
  std::int64_t places_;
  Make make_;
  int lost_ = 0;                    // since the last step that was done
  std::vector<std::size_t> order_;  // of the present machine's numbers of a lane among those that callers know
  // Of a step:
  std::vector<std::uint8_t> active_;
  std::vector<nn::LaneEnd> ends_;
  std::vector<nn::LaneHyper> hyper_;
  std::vector<std::vector<double>> numbers_;
};

}  // namespace lanista::runtime
