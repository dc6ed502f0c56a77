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
}  // namespace wide

/// Where one who trains a trial (it leads) meets helpers of other processes or threads, for an epoch at a time: a file
/// that all of them map, in memory, in a folder that only this user can enter (PrivateFolder). The leader waits for
/// nobody who is not there when an epoch begins, and a helper answers for nothing: its state is a copy. Whoever dies
/// lets go of its lock on the file, as the system sees to it, and those who wait for it have PeerLost; so has whoever
/// waits for one that has left the epoch, or is silent for 20 seconds. Every number in the file is checked before it is
/// used, against the program of whoever reads it. After an epoch that failed there is a new file: what a lost one may
/// still write, nobody reads.
class DataParallelLeader {
 public:
  static constexpr std::int64_t kMaxHelpers = 7;

  /// `path` is a file name in a PrivateFolder. Nothing is made before begin(). The file goes with this value.
  explicit DataParallelLeader(std::string path);
  ~DataParallelLeader();
  DataParallelLeader(const DataParallelLeader&) = delete;
  DataParallelLeader& operator=(const DataParallelLeader&) = delete;

  const std::string& path() const { return path_; }
  /// Takes the helpers that are ready, at most as many as the program has shards for, into an epoch that begins with
  /// what `state()` gives. Null: nobody is ready; who reads the path from now on may be. Errors: kIo (no file: why),
  /// kFailedPrecondition (the folder is not private), kResourceExhausted (no memory), those of `state`.
  Result<nn::ShardCommunicator*> begin(const nn::Program& program, const std::function<Result<std::string>()>& state);
  /// The epoch is over: whole, or else helpers are let go in the midst of it.
  void end(bool is_complete);
  bool has_lost_peer() const;  ///< has somebody who took part failed?

 private:
  void remove_file();

  std::string path_;
  std::unique_ptr<data_parallel::SessionPath> file_location_;  // of the file; null: there is none
  std::unique_ptr<data_parallel::SharedRegion> region_;
  std::unique_ptr<data_parallel::RankRounds> rank_rounds_;
  std::uint32_t epoch_ = 0;
};

/// A helper's place. It is ready while it waits.
class DataParallelHelper {
 public:
  /// Errors: kNotFound (nobody leads there now, or all seats are taken), kFailedPrecondition (the folder or the file is
  /// not private to this user), kDataLoss (the file is too short), kIo (why).
  static Result<std::unique_ptr<DataParallelHelper>> join(const std::string& path);
  ~DataParallelHelper();
  DataParallelHelper(const DataParallelHelper&) = delete;
  DataParallelHelper& operator=(const DataParallelHelper&) = delete;

  /// Waits until an epoch of this program begins; the state that it begins with. None: `should_stop()` (asked every 5 ms),
  /// or the leader has gone. Error: kDataLoss (a number of the epoch is wrong: which, and what is allowed).
  Result<std::optional<std::string>> wait(const nn::Program& program, const std::function<bool()>& should_stop);
  nn::ShardCommunicator& peers();  ///< of the epoch that began last
  bool has_lost_peer() const;

 private:
  DataParallelHelper(std::unique_ptr<data_parallel::SharedRegion> region, std::int64_t slot);

  std::unique_ptr<data_parallel::SharedRegion> region_;
  std::unique_ptr<data_parallel::RankRounds> rank_rounds_;
  std::int64_t slot_;
};

}  // namespace lanista::train
