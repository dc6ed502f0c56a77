#include "lanista/engine/core/moved_data.h"

#include <memory>
#include <string_view>
#include <vector>

#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/io/store/log.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::engine {
namespace {

constexpr std::size_t kMaxSourceBytes = 64 << 10;

std::string file_of(const std::string& folder) { return folder + "/" + kMovedDataFile; }

Result<data::Dataset> open(const study::StudyConfig& config, const std::string& folder, FileSystem& fs) {
  return data::open(config.data, folder, fs, config.strategy.repeat);
}

/// The hash of the data in the header of the log.
Result<std::string> stored_hash(const std::string& folder, FileSystem& fs) {
  LANISTA_ASSIGN(const std::vector<store::Record> records, store::read_log(fs, folder));
  if (records.empty()) return Error{Code::kDataLoss, "the study's log holds no header", folder};
  StudyState state;
  LANISTA_TRY(replay_records(state, {records.front()}, [](const study::Event&) {}));
  return state.view.data.value("hash", "");
}

}  // namespace

Result<data::Dataset> open_study_data(study::StudyConfig& config, const std::string& folder, FileSystem& fs) {
  if (const std::string file = file_of(folder); fs.exists(file)) {
    LANISTA_ASSIGN(const std::uint64_t bytes, fs.size(file));
    if (bytes > kMaxSourceBytes) return Error{Code::kDataLoss, "is no source of data: it is too long", file};
    LANISTA_ASSIGN(std::string source, fs.read(file));
    while (source.ends_with('\n')) source.pop_back();
    config.data.source = std::move(source);
  }
  auto data = open(config, folder, fs);
  if (data || (data.error().code != Code::kNotFound && data.error().code != Code::kIo)) return data;
  Error error = std::move(data).error();
  error.message += "; if the data have moved, run: lanista resume " + folder +
                   " --set data.source=SOURCE, with their new place; their content must be the same";
  return error;
}

Result<void> move_study_data(const study::StudyConfig& config, const std::string& folder, const std::string& source,
                             FileSystem& fs) {
  study::StudyConfig moved;  // the other paths of the study stay
  moved.data = config.data;
  moved.data.source = source;
  moved.strategy.repeat = config.strategy.repeat;
  LANISTA_TRY(studyfile::rebase_paths(moved, ".", folder));
  LANISTA_ASSIGN(const data::Dataset data, open(moved, folder, fs));
  LANISTA_ASSIGN(const std::string expected, stored_hash(folder, fs));
  if (data.spec().hash.hex() != expected) {
    return Error{Code::kFailedPrecondition,
                 source + " has other data than the study: their hash is " + data.spec().hash.hex() +
                     ", the study began with " + expected + " from " + config.data.source,
                 "--set data.source"};
  }
  const std::shared_ptr<FileSystem> confined = fs.confined_to(folder);
  return write_atomically(*confined, file_of(folder), std::string_view(moved.data.source + "\n"));
}

}  // namespace lanista::engine
