#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// Source of a study's data, and the hash by which a worker checks that it has the same data.
struct DataSource {
  std::string source = "builtin:digits";             ///< As in the study file.
  std::string folder = ".";                          ///< Start of relative paths.
  std::array<double, 3> split{0.7, 0.15, 0.15};      ///< Shares of training, validation and test rows.
  std::string normalize = "auto", targets = "auto";  ///< As in the study file.
  study::ClassWeights class_weights;                 ///< As in the study file.
  std::optional<std::int64_t> folds = {};            ///< Number of folds; absent: one split.
  std::int64_t repetitions = 1;                      ///< Repetitions of the folds.
  std::optional<Digest> hash;                        ///< DataSpec::hash; absent: not checked.

  /// The configuration for data::open.
  study::DataConfig config() const;
  bool operator==(const DataSource&) const = default;
};

/// Everything that a worker must know before its first job, except what belongs to a process: devices and operators of
/// the caller. It can be sent as a message.
struct WorkerConfig {
  std::string study_folder;                    ///< Folder with the checkpoint store and control/.
  DataSource data;                             ///< The data set.
  std::string isa;                             ///< Instruction level; empty: the best available.
  std::string numeric_class;                   ///< Numeric class of the study; empty: that of the level.
  std::int64_t workers = 0;                    ///< Threads; 0: one per core.
  std::int64_t lanes = 0;                      ///< Most trials in one step; 0: chosen by time.
  std::int64_t width = 1;                      ///< Most workers of one trial; 0: chosen by time.
  std::int64_t pipeline = 1;                   ///< Pipeline ranks of a worker; 0: chosen by time.
  bool pipeline_processes = false;             ///< Ranks except the first are processes, not threads.
  std::vector<std::string> pipeline_hosts;     ///< Their hosts, in turn; empty: this host, with shared memory.
  std::vector<std::string> pipeline_programs;  ///< Path of lanista on each host.
  double link_us = 0, link_gb_per_second = 0;  ///< Latency and bandwidth of their links for plans; 0: not counted.
  std::int64_t memory_bytes = 0;               ///< Memory of all programs; 0: three quarters of the machine's.
  std::vector<std::string> metrics;            ///< As in the study file.
  double checkpoint_every = 30;                ///< Seconds between checkpoints.
  bool crash_marks = true;  ///< Record running trials at a crash; needs a study folder on the real disk.

  bool operator==(const WorkerConfig&) const = default;
};

/// The text of a configuration: a JSON object in one line of UTF-8. Numbers keep all bits; text that is not UTF-8 is
/// replaced. Thread-safe.
std::string encode(const WorkerConfig& worker_config);

/// Reads a configuration. Thread-safe. Errors: kDataLoss (the text is invalid or larger than a record may be).
Result<WorkerConfig> decode_worker_config(std::string_view text);

}  // namespace lanista::engine
