#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

// Use of the hosts of a study with remote workers, and of the devices of a study with several devices. Other studies
// have neither.
namespace lanista::study {

/// Workers and share of the work of one host, or of one device.
struct HostUsage {
  std::string name;          ///< Name of the host or of the device.
  std::int64_t present = 0;  ///< Number of workers that are connected now.
  std::int64_t lost = 0;     ///< Number of workers that were lost so far.
  double share = 0;          ///< Share of the busy time of all workers of the study, 0 to 1.
  bool is_device = false;    ///< True for a device of this machine, with threads as workers.
};
/// Returns the use of each host or device, sorted by name. Empty: the study has neither. O(n log n) for n spans.
std::vector<HostUsage> host_usage(const StudyView& view);
/// Returns "node2: 3 workers, 48 % of the work, 1 worker lost". The number of connected workers is left out for a
/// device, and if `has_ended`.
std::string host_text(const HostUsage& use, bool has_ended);

/// Returns the name of the device that trains a trial, or trained it last. Empty: all trials have one device, or no
/// worker has trained it.
std::string device_of(const StudyView& view, const TrialView& trial);

/// Returns the host name of the connected worker with this number. Empty: this machine, not connected, or not recorded.
std::string host_of(const WorkerHistory& workers, std::int64_t worker);
/// Returns "worker 1 on node2", or "worker 1" for an empty host.
std::string worker_text(std::int64_t worker, const std::string& host);

/// Returns the moves of a trial from lost workers to others, the first one first.
std::vector<WorkerHistory::Move> moves_of(const StudyView& view, TrialId trial);
/// Returns "from worker 1 on node2 to worker 3 on node4: at most 1.2 s of its work lost". If no worker reported on the
/// trial since, it is "to none so far".
std::string move_text(const WorkerHistory::Move& move);

/// Totals of the moves of a study.
struct MoveCounts {
  std::int64_t moves = 0;   ///< Number of moves.
  std::int64_t trials = 0;  ///< Trials that moved at least once.
  double seconds = 0;       ///< Upper bound of the work lost by all moves, in seconds.
};
/// Returns the totals of all moves of a study.
MoveCounts move_counts(const StudyView& view);
/// Returns "3 trials moved 4 times, at most 2.5 s of work lost". Empty: no trial moved.
std::string moves_text(const MoveCounts& counts);

}  // namespace lanista::study
