#include "lanista/runtime/trial_slot.h"


namespace lanista::runtime {

Result<std::shared_ptr<const train::StartWeights>> read_start(const store::CheckpointStore& files,
                                                              const study::Start& start) {
  auto stored = files.get(start.address);
  if (!stored) {
    return Error{stored.error().code,
                 "the state of " + study::start_text(start) + ", to start from, is lost: " + stored.error().message,
                 stored.error().where};
  }
  return train::clone_weights({std::move(stored->tensors), std::move(stored->facts), {}}, start.plan);
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
