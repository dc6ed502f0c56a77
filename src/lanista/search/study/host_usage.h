#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

// Where workers of a study ran that were begun elsewhere, and which trials moved there; or, of a study of several
// devices, on which of them. Of others there is nothing to tell.
namespace lanista::study {

struct HostUsage {
  std::string name;
  std::int64_t present = 0;  ///< workers
  std::int64_t lost = 0;     ///< workers
  double share = 0;          ///< of the time that workers worked, wherever they were
  bool is_device = false;    ///< of this machine: its workers are threads, which do not come and go
};
/// By name. O(n log n) in the spans.
std::vector<HostUsage> host_usage(const StudyView& view);
/// "node2: 3 workers, 48 % of the work, 1 worker lost"; of a study that has ended without those that are there.
std::string host_text(const HostUsage& use, bool has_ended);

/// The device that trains a trial, or trained it last; empty: the study has one for all, or nobody worked on it.
std::string device_of(const StudyView& view, const TrialView& trial);

/// Where a worker runs that is there; empty: here, it is not there, or nobody said.
std::string host_of(const WorkerHistory& workers, std::int64_t worker);
/// "worker 1 on node2", or "worker 1".
std::string worker_text(std::int64_t worker, const std::string& host);

/// A trial's moves, in their order.
std::vector<WorkerHistory::Move> moves_of(const StudyView& view, TrialId trial);
/// "from worker 1 on node2 to worker 3 on node4: at most 1.2 s of its work lost"
std::string move_text(const WorkerHistory::Move& move);

struct MoveCounts {
  std::int64_t moves = 0;
  std::int64_t trials = 0;  ///< that moved
  double seconds = 0;       ///< of work, lost at most, all in all
};
MoveCounts move_counts(const StudyView& view);
/// "3 trials moved 4 times, at most 2.5 s of work lost"; empty: none did.
std::string moves_text(const MoveCounts& counts);

}  // namespace lanista::study
