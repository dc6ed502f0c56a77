#include "lanista/runtime/trial_slot.h"

namespace lanista::runtime {

Digest state_hash(const train::TrainerState& state) {
  Hasher hasher;
  for (const auto& tensor : state.tensors) {
    hasher.text(tensor.name);
    for (const std::int64_t dim : tensor.shape) hasher.number(dim);
    hasher.bytes(tensor.bytes);
  }
  return hasher.finish();
}

Result<std::map<std::string, double>> test_weights(const train::TrainerInput& input, const train::TrainerState& state) {
  LANISTA_ASSIGN(auto trainer, train::Trainer::create(input));
  LANISTA_TRY(trainer.restore(state));
  return trainer.evaluate(data::Part::kTest, "test_");
}

}  // namespace lanista::runtime
