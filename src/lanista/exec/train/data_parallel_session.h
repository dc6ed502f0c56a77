#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/program/shard_communicator.h"

namespace lanista::train {

namespace data_parallel {
class SharedRegion;
class RankRounds;
struct SessionPath;
}  // namespace data_parallel

/// The leader of a data-parallel session: it trains a trial with helpers, other processes or threads, one epoch at a
/// time.
///
/// All map one file in a folder that only this user can enter (PrivateFolder). An epoch begins with the helpers that
/// are ready then. A helper's state is a copy, so its loss costs nothing but time.
///
/// The system releases the lock of a process that ends, and ranks that wait for it throw PeerLost. The same happens if
/// a rank leaves the epoch or is silent for 20 seconds. Each side checks every number in the file against its own
/// program. After a failed epoch there is a new file, so late writes of a lost process have no effect.
class DataParallelLeader {
 public:
  static constexpr std::int64_t kMaxHelpers = 7;  ///< Most helpers of one leader.

  /// `path` is a file in a PrivateFolder. The file is created by begin(), and deleted by the destructor or after a
  /// failed epoch.
  explicit DataParallelLeader(std::string path);
  ~DataParallelLeader();
  DataParallelLeader(const DataParallelLeader&) = delete;
  DataParallelLeader& operator=(const DataParallelLeader&) = delete;

  /// The path of the session's file, which helpers join.
  const std::string& path() const { return path_; }
  /// Begins an epoch with the helpers that are ready, at most Program::shards() - 1 of them. The last epoch must have
  /// ended.
  ///
  /// Returns the exchange with the helpers, valid until end(). `state()` gives the serialised state with which they
  /// begin. Null if no helper is ready, as in the first call, which creates the file; helpers may join from then on.
  /// Also null if a helper left meanwhile: the file is deleted, and the next call creates another.
  /// Errors: kInvalidArgument or kNotFound (the path has no folder), kFailedPrecondition (the folder is not private),
  /// kIo (a file operation), kResourceExhausted (no memory), those of `state`.
  Result<program::ShardCommunicator*> begin(const program::Program& program,
                                            const std::function<Result<std::string>()>& state);
  /// Ends the epoch; does nothing without one. If it is not complete or has_lost_peer(), waiting helpers are released
  /// with PeerLost, and the file is deleted.
  void end(bool is_complete);
  bool has_lost_peer() const;  ///< True: a helper of the current epoch has failed.

 private:
  void remove_file();

  std::string path_;
  std::unique_ptr<data_parallel::SessionPath> file_location_;  // null: there is no file
  std::unique_ptr<data_parallel::SharedRegion> region_;
  std::unique_ptr<data_parallel::RankRounds> rank_rounds_;
  std::uint32_t epoch_ = 0;
};

/// A helper of a data-parallel session. It is ready for an epoch while it waits in wait(). One thread.
class DataParallelHelper {
 public:
  /// Takes a free slot of the session with this file. Errors: kNotFound (no file or leader, or all slots are taken),
  /// kInvalidArgument (a path without folder), kFailedPrecondition (folder or file are not private to this user),
  /// kDataLoss (the file is too short), kIo (a file operation, with its reason).
  static Result<std::unique_ptr<DataParallelHelper>> join(const std::string& path);
  ~DataParallelHelper();  ///< Leaves the epoch: ranks that wait for this helper throw PeerLost.
  DataParallelHelper(const DataParallelHelper&) = delete;
  DataParallelHelper& operator=(const DataParallelHelper&) = delete;

  /// Waits until an epoch of this program begins, and returns the leader's serialised state, from which it begins.
  ///
  /// Nothing if `should_stop()`, called about every 5 ms, returns true, if the leader is gone, or if the epoch has
  /// ended already. Errors: kDataLoss (a number of the epoch is wrong: which, and what is allowed), kResourceExhausted,
  /// kIo.
  Result<std::optional<std::string>> wait(const program::Program& program, const std::function<bool()>& should_stop);
  /// The exchange with the other ranks of the epoch; valid until the next wait(). Requires that wait() returned a
  /// state.
  program::ShardCommunicator& peers();
  bool has_lost_peer() const;  ///< True: another rank of the epoch that wait() began last has failed.

 private:
  DataParallelHelper(std::unique_ptr<data_parallel::SharedRegion> region, std::int64_t slot);

  std::unique_ptr<data_parallel::SharedRegion> region_;
  std::unique_ptr<data_parallel::RankRounds> rank_rounds_;
  std::int64_t slot_;
};

}  // namespace lanista::train
