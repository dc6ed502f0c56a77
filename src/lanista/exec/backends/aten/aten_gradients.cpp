// Split steps, which compute and commit gradients separately, and the profiled step.
#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_recorded_step.h"

namespace lanista::device {

double AtenExecutable::gradients(std::int64_t lane, const program::Batch& batch, std::int64_t total,
                                 const program::LaneHyper& hyper, program::LaneGradients& out, bool add) {
  const AtenScope scope(*queue_);
  check_hyper(hyper);
  check_batch(batch, true);
  LANISTA_CHECK(total >= batch.size,
                "a batch of " + std::to_string(batch.size) + " samples in a step of " + std::to_string(total));
  const LaneBatches fed{.lanes = {lane, 1}, .size = batch.size, .of = {&batch}, .shared = true};
  const std::uint8_t active = 1;
  const auto step = make_recorded_step(shape_of(fed, {&hyper, 1}));
  step->frames[0].total = total;
  step->inputs.prepare();
  fill(*step, 0, fed, {&hyper, 1}, {&active, 1}, 0);
  step->inputs.send();
  const StepResults of = collect_results(fed.lanes, compute_step({*step}));
  const auto deliver = [&](void* to, const Tensor& from, bool adds) {
    Tensor host = at::from_blob(to, {from.size(1)}, real_.device(at::kCPU));
    adds ? host.add_(from.squeeze(0).cpu()) : host.copy_(from.squeeze(0));
  };
  const bool vector_width = state_format_->is_double();
  deliver(vector_width ? static_cast<void*>(out.gradients<double>()) : out.gradients<float>(), of.gradients, add);
  deliver(vector_width ? static_cast<void*>(out.new_buffers<double>()) : out.new_buffers<float>(), of.buffers, false);
  return row_sum(of.losses.to(at::kDouble)).item<double>();
}

void AtenExecutable::commit(std::int64_t lane, const program::LaneGradients& gradients,
                            const program::LaneHyper& hyper) {
  const AtenScope scope(*queue_);
  const auto to_device = [&](void* from, std::int64_t elements) {
    return at::from_blob(from, {1, elements}, real_.device(at::kCPU)).to(real_);
  };
  const bool vector_width = state_format_->is_double();
  const program::StateLayout& layout = state_format_->layout();
  const StepResults of{.losses = {},
                       .gradients = to_device(vector_width ? static_cast<void*>(gradients.gradients<double>())
                                                           : gradients.gradients<float>(),
                                              layout.parameters),
                       .buffers = to_device(vector_width ? static_cast<void*>(gradients.new_buffers<double>())
                                                         : gradients.new_buffers<float>(),
                                            layout.buffers)};
  const LaneBatches fed{.lanes = {lane, 1}, .size = 1, .of = {nullptr}, .shared = true};
  const auto step = make_recorded_step(shape_of(fed, {&hyper, 1}));
  const std::uint8_t active = 1;
  step->inputs.prepare();
  fill(*step, 0, fed, {&hyper, 1}, {&active, 1}, 0);
  step->inputs.send();
  device_.kernels() != nullptr ? commit_with_lane_kernels({*step}, of) : commit_lanes({*step}, of, {});
  count_steps(fed.lanes, {&active, 1});
}

void AtenExecutable::renew_buffers(std::int64_t lane, const program::LaneGradients& from) {
  const AtenScope scope(*queue_);
  const program::StateLayout& layout = state_format_->layout();
  void* const values =
      state_format_->is_double() ? static_cast<void*>(from.new_buffers<double>()) : from.new_buffers<float>();
  const Tensor all = at::from_blob(values, {1, layout.buffers}, real_.device(at::kCPU));
  for (const program::Range& run : layout.renewed) {
    state_part({lane, 1}, 1, layout.buffers).narrow(1, run.begin, run.count).copy_(all.narrow(1, run.begin, run.count));
  }
}

void AtenExecutable::profile_step(const program::Batch& batch, const program::LaneHyper& hyper,
                                  const std::function<void()>& done) {
  const AtenScope scope(*queue_);
  check_batch(batch, true);
  const LaneBatches fed{.lanes = {0, 1}, .size = batch.size, .of = {&batch}, .shared = true};
  const std::uint8_t active = 1;
  const auto step = make_recorded_step(shape_of(fed, {&hyper, 1}));
  step->inputs.prepare();
  fill(*step, 0, fed, {&hyper, 1}, {&active, 1}, 0);
  step->inputs.send();
  const auto waited = [&] {
    queue_->synchronise();
    done();
  };
  const StepResults of = collect_results(fed.lanes, compute_step({*step}, waited));
  device_.kernels() != nullptr ? commit_with_lane_kernels({*step}, of) : commit_lanes({*step}, of, {});
  count_steps(fed.lanes, {&active, 1});
  waited();
  Values values;
  bind_state(fed.lanes, infer_.state, values);
  values[infer_.input] = read(step->inputs, step->shape, StepInputBuffer::kFeatures);
  predict_.run(step->frames[0], values, waited);
}

}  // namespace lanista::device
