#include "lanista/runtime/trial_slot.h"


namespace lanista::runtime {

Result<std::shared_ptr<const train::StartWeights>> read_start(const store::CheckpointStore& files,
                                                              const engine::Job& job, const graph::OpTable& ops) {
  const study::Start& start = *job.start;
  auto stored = files.get(start.address);
  if (!stored) {
    return Error{stored.error().code,
                 "the state of " + study::start_text(start) + ", to start from, is lost: " + stored.error().message,
                 stored.error().where};
  }
  train::TrainerState state{std::move(stored->tensors), std::move(stored->facts), {}};
  if (job.transfer) return train::transfer_weights(std::move(state), *job.transfer, job.model, ops, job.trial_seed);
  return train::clone_weights(std::move(state), start.plan);
}

Digest state_hash(const train::TrainerState& state) {
  Hasher hasher;
  for (const auto* tensors : {&state.tensors, &state.kept}) {
    for (const auto& tensor : *tensors) {
      hasher.text(tensor.name);
      for (const std::int64_t dim : tensor.shape) hasher.number(dim);
      hasher.bytes(tensor.bytes);
    }
  }
  return hasher.finish();
}

}  // namespace lanista::runtime
