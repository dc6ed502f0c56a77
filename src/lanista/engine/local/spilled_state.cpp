#include "lanista/engine/local/spilled_state.h"

namespace lanista::runtime {
namespace {

constexpr const char* kMark = "parked_trial";

}  // namespace

Result<SpilledState> SpilledState::put(store::CheckpointStore& files, TrialId trial, train::TrainerState state) {
  // Addresses are hashes of the content. The mark makes this file differ from a checkpoint of the same step, and from
  // a state that another executor spills.
  state.facts[kMark] = std::to_string(trial.value) + " " + files.unique_token();
  LANISTA_ASSIGN(std::string address,
                 files.put({std::move(state.tensors), std::move(state.facts), std::move(state.kept)}));
  return SpilledState(files, std::move(address));
}

SpilledState& SpilledState::operator=(SpilledState&& other) noexcept {
  std::swap(files_, other.files_);
  std::swap(address_, other.address_);
  return *this;
}

// If the file cannot be removed, the next resume removes it, as after a crash.
SpilledState::~SpilledState() {
  if (!address_.empty()) static_cast<void>(files_->remove(address_));
}

Result<train::TrainerState> SpilledState::get() const {
  LANISTA_ASSIGN(store::Checkpoint stored, files_->get(address_));
  stored.facts.erase(kMark);
  return train::TrainerState{std::move(stored.tensors), std::move(stored.facts), std::move(stored.kept)};
}

}  // namespace lanista::runtime
