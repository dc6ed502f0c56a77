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

/// Where a study's data come from, and how a worker knows that it has the same.
struct DataSource {
  std::string source = "builtin:digits";         ///< as in the study file
  std::string folder = ".";                      ///< that its relative paths are told from
  std::array<double, 3> split{0.7, 0.15, 0.15};  ///< train, validation, test
  std::string normalize = "auto", targets = "auto";
  study::ClassWeights class_weights;
  std::optional<std::int64_t> folds = {};  ///< that rows are dealt into, `repetitions` times
  std::int64_t repetitions = 1;
  std::optional<Digest> hash;  ///< DataSpec::hash; absent: whatever comes

  /// What data::open takes.
  study::DataConfig config() const;
  bool operator==(const DataSource&) const = default;
};

/// All that whoever trains for a study has to know before its first order; what differs from place to place (a device,
/// an operator of the caller) is none of it. A value that can be sent, as messages are.
struct WorkerConfig {
  std::string study_folder;  ///< of the checkpoint store, through which states travel, and of control/
  DataSource data;
  std::string isa;                   ///< level of instructions; empty: the best there is
  std::string numeric_class;         ///< of the study's numbers; empty: whatever that level gives
  std::int64_t workers = 0;          ///< threads; 0: one per core
  std::int64_t lanes = 0;            ///< trials that a worker trains together, at most; 0: as many as pay
  std::int64_t width = 1;            ///< workers that train one trial together, at most; 0: as it pays
  std::int64_t pipeline = 1;         ///< places of a worker that share a trial's step by operators; 0: as it pays
  bool pipeline_processes = false;   ///< places but the first are processes in the place of threads
  std::vector<std::string> pipeline_hosts;     ///< of those, in turn; none: they are here, and see the same memory
  std::vector<std::string> pipeline_programs;  ///< the path of lanista on each of them
  double link_us = 0, link_gb_per_second = 0;  ///< of the links to them, as plans count them; no speed: not at all
  std::int64_t memory_bytes = 0;     ///< of all programs; 0: three quarters of the machine's memory
  std::vector<std::string> metrics;  ///< as in the study file
  double checkpoint_every = 30;      ///< seconds
  bool crash_marks = true;           ///< needs a study folder on the real disk

  bool operator==(const WorkerConfig&) const = default;
};

/// In the form of messages: a JSON object in one line of UTF-8; numbers come back to the bit, text that is not UTF-8 is
/// replaced. Thread-safe.
std::string encode(const WorkerConfig& worker_config);

/// The inverse of encode. Errors: kDataLoss (no brief: what is missing or wrong; more than a record may hold).
Result<WorkerConfig> decode_worker_config(std::string_view text);

}  // namespace lanista::engine
