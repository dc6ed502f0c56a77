#include "lanista/engine/local/parked_state.h"

namespace lanista::runtime {
namespace {

constexpr const char* kMark = "parked_trial";

}  // namespace

Result<ParkedState> ParkedState::put(store::CheckpointStore& files, TrialId trial, train::TrainerState state) {
  // Addresses are hashes of the content: the mark keeps this file apart from a checkpoint of the same step, and from
  // what another executor parks of the trial.
  state.facts[kMark] = std::to_string(trial.value) + " " + files.unique_word();
  LANISTA_ASSIGN(std::string address,
                 files.put({std::move(state.tensors), std::move(state.facts), std::move(state.kept)}));
  return ParkedState(files, std::move(address));
}

ParkedState& ParkedState::operator=(ParkedState&& other) noexcept {
  std::swap(files_, other.files_);
  std::swap(address_, other.address_);
  return *this;
}

// A file that cannot be removed is cleared away by the next resume, as after a crash.
ParkedState::~ParkedState() {
  if (!address_.empty()) static_cast<void>(files_->remove(address_));
}

Result<train::TrainerState> ParkedState::get() const {
  LANISTA_ASSIGN(store::Checkpoint stored, files_->get(address_));
  stored.facts.erase(kMark);
  return train::TrainerState{std::move(stored.tensors), std::move(stored.facts), std::move(stored.kept)};
}

}  // namespace lanista::runtime
