#include "lanista/engine/core/follower.h"

#include "lanista/engine/core/study_state.h"

namespace lanista::engine {

Follower::Follower(FileSystem& fs, const std::string& folder)
    : log_(fs, folder), state_(std::make_unique<StudyState>()) {}
Follower::Follower(Follower&&) noexcept = default;
Follower& Follower::operator=(Follower&&) noexcept = default;
Follower::~Follower() = default;

Result<Follower> Follower::open(FileSystem& fs, const std::string& folder) {
  Follower out(fs, folder);
  LANISTA_TRY(out.refresh());
  return out;
}

const study::StudyView& Follower::view() const { return state_->view; }

Result<bool> Follower::refresh() {
  LANISTA_ASSIGN(const auto records, log_.more());
  if (records.empty() && records_ > 0) return false;
  LANISTA_TRY(fold_all(
      *state_, records, [](const study::Event&) {}, records_));
  records_ += records.size();
  return true;
}

}  // namespace lanista::engine
