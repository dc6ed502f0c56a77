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

/// Where a worker finds the study's data, how it prepares them, and the hash by which it checks that they are the same.
struct DataSource {
  std::string source = "builtin:digits";             ///< Name or path of the data, as data.source in the study file.
  std::string folder = ".";                          ///< Folder at which relative paths start.
  std::array<double, 3> split{0.7, 0.15, 0.15};      ///< Shares of training, validation and test rows, with sum 1.
  std::string normalize = "auto", targets = "auto";  ///< Settings data.normalize and data.targets of the study file.
  study::ClassWeights class_weights;                 ///< Setting data.class_weights of the study file.
  std::optional<std::int64_t> folds = {};            ///< Number of folds; absent: one split.
  std::int64_t repetitions = 1;                      ///< Number of repetitions of the folds.
  std::int64_t rules = study::kLatestRules;          ///< Rules of the study, by which the data are read.
  std::optional<Digest> hash;                        ///< Expected DataSpec::hash; absent: not checked.

  /// The configuration for data::open, without the repetitions and the hash.
  study::DataConfig config() const;
  bool operator==(const DataSource&) const = default;
};

/// Everything that a worker must have before its first job, except what belongs to a process: devices and operators of
/// the caller. It can be sent as a message.
struct WorkerConfig {
  std::string study_folder;         ///< Path of the study's folder, with ckpt/ and control/.
  DataSource data;                  ///< The data set.
  std::string isa;                  ///< Name of the instruction level; empty: the best of this CPU.
  std::string numeric_class;        ///< Numeric class that the study needs; empty: that of the level.
  std::int64_t workers = 0;         ///< Number of worker threads; 0: one for each core, divided by the pipeline ranks.
  std::int64_t lanes = 0;           ///< Most trials in one step; 0: chosen from measured times.
  std::int64_t width = 1;           ///< Most workers that share one trial's steps; 0: chosen from measured times.
  std::int64_t pipeline = 1;        ///< Number of pipeline ranks of a worker; 0: chosen from measured times.
  bool pipeline_processes = false;  ///< True: ranks except the first are processes; false: threads.
  /// Hosts of the ranks after the first, in turn; empty: this host, with shared memory.
  std::vector<std::string> pipeline_hosts;
  std::vector<std::string> pipeline_programs;  ///< Path of the program lanista on each of these hosts, in order.
  /// Latency (microseconds) and bandwidth (10^9 bytes a second) of the links between these hosts, for plans; 0: not
  /// counted.
  double link_us = 0, link_gb_per_second = 0;
  /// Limit of the memory of all programs, in bytes; 0: three quarters of the machine's.
  std::int64_t memory_bytes = 0;
  std::vector<std::string> metrics;  ///< Names of the metrics to measure, as in the study file.
  double checkpoint_every = 30;      ///< Seconds between two checkpoints of a trial.
  /// True: the running trials are recorded at a crash, which needs a study folder on the real disk.
  bool crash_marks = true;

  bool operator==(const WorkerConfig&) const = default;
};

/// The message text of a configuration: a JSON object in one line of UTF-8. Numbers keep all bits; invalid UTF-8 is
/// replaced. Thread-safe.
std::string encode(const WorkerConfig& worker_config);

/// Reads the text of encode(). Thread-safe. Errors: kDataLoss (the text is invalid or larger than a log record may be).
Result<WorkerConfig> decode_worker_config(std::string_view text);

}  // namespace lanista::engine
