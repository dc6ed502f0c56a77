#include "lanista/engine/core/executor.h"

namespace lanista::engine {

Result<void> check_fork_state(const Job& job) {
  if (!job.fork || !job.checkpoint.empty()) return {};
  return Error{
      Code::kNotFound,
      "its state is lost, and it cannot start again: it was forked from trial " + std::to_string(job.fork->from.value),
      ""};
}

namespace {

struct TrialOf {
  std::optional<TrialId> operator()(const EpochReport& report) const { return report.measurement.trial; }
  std::optional<TrialId> operator()(const AllPausedReport&) const { return std::nullopt; }
  std::optional<TrialId> operator()(const ExecutorErrorReport&) const { return std::nullopt; }
  std::optional<TrialId> operator()(const WorkerReport&) const { return std::nullopt; }
  template <class Other>
  std::optional<TrialId> operator()(const Other& report) const {
    return report.trial;
  }
};

}  // namespace

std::optional<TrialId> trial_of(const Report& report) { return std::visit(TrialOf{}, report); }

}  // namespace lanista::engine
