#include "lanista/engine/core/study_follower.h"

#include "lanista/engine/core/study_state.h"

namespace lanista::engine {

StudyFollower::StudyFollower(FileSystem& fs, const std::string& folder)
    : log_(fs, folder), state_(std::make_unique<StudyState>()) {}
StudyFollower::StudyFollower(StudyFollower&&) noexcept = default;
StudyFollower& StudyFollower::operator=(StudyFollower&&) noexcept = default;
StudyFollower::~StudyFollower() = default;

Result<StudyFollower> StudyFollower::open(FileSystem& fs, const std::string& folder) {
  StudyFollower out(fs, folder);
  LANISTA_TRY(out.refresh());
  return out;
}

const study::StudyView& StudyFollower::view() const { return state_->view; }

Result<bool> StudyFollower::refresh() {
  LANISTA_ASSIGN(const auto records, log_.read_new_records());
  if (records.empty() && records_ > 0) return false;
  LANISTA_TRY(replay_records(
      *state_, records, [](const study::Event&) {}, records_));
  records_ += records.size();
  return true;
}

}  // namespace lanista::engine
