#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/engine.h"
#include "lanista/io/studyfile/study_file.h"
#include "support/engine/core/fake_executor.h"

namespace lanista::engine::testing {

inline const std::string kFolder = "/studies/one";

/// Forwards every call, and reports it before it happens.
class WatchedFileSystem final : public FileSystem {
 public:
  explicit WatchedFileSystem(FileSystem& inner) : inner_(inner) {}
  std::function<void()> on_change;                  ///< Called before a change of a file or a name.
  std::function<void(const std::string&)> on_list;  ///< Called before a folder is listed.

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override {
    LANISTA_ASSIGN(auto file, (changes(), inner_.open_append(path)));
    return std::unique_ptr<AppendFile>(std::make_unique<File>(*this, std::move(file)));
  }
  Result<std::string> read(const std::string& path, std::uint64_t offset) override { return inner_.read(path, offset); }
  Result<void> write_file(const std::string& path, std::span<const std::byte> data) override {
    return changes(), inner_.write_file(path, data);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return changes(), inner_.rename(from, to);
  }
  Result<void> sync_folder(const std::string& path) override { return inner_.sync_folder(path); }
  Result<void> truncate(const std::string& path, std::uint64_t size) override {
    return changes(), inner_.truncate(path, size);
  }
  Result<void> remove(const std::string& path) override { return changes(), inner_.remove(path); }
  Result<void> make_folder(const std::string& path) override { return changes(), inner_.make_folder(path); }
  Result<std::vector<std::string>> list(const std::string& folder) override {
    if (on_list) on_list(folder);
    return inner_.list(folder);
  }
  bool exists(const std::string& path) override { return inner_.exists(path); }
  FileKind kind(const std::string& path) override { return inner_.kind(path); }
  Result<std::uint64_t> size(const std::string& path) override { return inner_.size(path); }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override { return inner_.lock(path); }

 private:
  class File final : public AppendFile {
   public:
    File(WatchedFileSystem& fs, std::unique_ptr<AppendFile> inner) : fs_(fs), inner_(std::move(inner)) {}
    Result<void> append(std::span<const std::byte> data) override { return fs_.changes(), inner_->append(data); }
    Result<void> sync() override { return inner_->sync(); }

   private:
    WatchedFileSystem& fs_;
    std::unique_ptr<AppendFile> inner_;
  };
  void changes() {
    if (on_change) on_change();
  }
  FileSystem& inner_;
};

/// A copy of the files on a disk, for another disk.
using Files = std::map<std::string, std::string>;
inline void put_all(MemoryFileSystem& disk, const Files& files) {
  for (const auto& [path, bytes] : files) disk.put(path, bytes);
}

/// All files of a study's best/.
inline Files best_files(const MemoryFileSystem& disk) {
  Files out;
  for (const auto& [path, bytes] : disk.files()) {
    if (path.starts_with(kFolder + "/best/")) out[path] = bytes;
  }
  return out;
}

/// A study's files as a kill left them before there was a winner.
inline void copy_except_best(const MemoryFileSystem& from, MemoryFileSystem& to) {
  for (const auto& [path, bytes] : from.files()) {
    if (!path.starts_with(kFolder + "/best/")) to.put(path, bytes);
  }
}

/// Forwards every call; a test defines exceptions.
class ForwardingExecutor : public Executor {
 public:
  explicit ForwardingExecutor(Executor& inner) : inner_(inner) {}
  Result<void> start(const Job& job) override { return inner_.start(job); }
  void command(const Command& command) override { inner_.command(command); }
  std::optional<Report> next(double seconds) override { return inner_.next(seconds); }
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override {
    return inner_.measure(members, part);
  }

 private:
  Executor& inner_;
};

/// A strategy that repeats one proposal.
class RepeatingStrategy final : public search::Strategy {
 public:
  explicit RepeatingStrategy(study::Proposal proposal) : proposal_(std::move(proposal)) {}
  std::string_view name() const override { return "stubborn"; }
  Result<search::Suggestion> suggest(const search::Capacity&) const override {
    return search::Suggestion{search::Suggestion::Kind::kGroup, {0, {search::NewTrial{proposal_}}}};
  }
  void observe(const study::Event& event) override {
    if (std::holds_alternative<study::Ended>(event)) ++ended;
  }
  search::TrialVerdict verdict(TrialId) const override { return {}; }
  int ended = 0;  ///< Ended trials.

 private:
  study::Proposal proposal_;
};

/// The parts of a study that are equal in two runs: the canonical export, and the winner's weights if it has a winner.
struct Fingerprint {
  std::string canonical, weights;
  bool operator==(const Fingerprint&) const = default;
};
inline Result<Fingerprint> fingerprint(FileSystem& fs) {
  LANISTA_ASSIGN(const auto records, store::read_log(fs, kFolder));
  const auto weights = fs.read(kFolder + "/best/weights.safetensors");
  return Fingerprint{store::canonical_export(records), weights ? *weights : ""};
}

inline data::DataSpec small_data() {
  data::DataSpec data;
  data.name = "tiny";
  data.source = "synthetic:tiny";
  data.features = {{6}};
  data.classes = 3;
  data.labels = {"a", "b", "c"};
  data.rows = 20;
  data.split_rows = {14, 3, 3};
  data.hash = hash_text("tiny");
  return data;
}

/// The configuration as it is after it was written and read as a study file.
inline study::StudyConfig resolved(const study::StudyConfig& config) {
  auto read = studyfile::read_study(studyfile::write_study(config), "tiny.yaml");
  LANISTA_CHECK(read.ok(), read ? "" : read.error().text());
  return *std::move(read);
}

/// Three rungs, evolution after six random trials, two mutators, conditional hyper-parameters.
inline study::StudyConfig small_study(std::int64_t trials = 14) {
  study::StudyConfig config;
  config.name = "tiny";
  config.data.source = "synthetic:tiny";
  config.data.batch = 8;
  config.model.base = {"builtin:small-mlp"};
  config.space.mutate = {{"widen", Options::object()}, {"deepen", Options::object()}};
  const auto must = [](const Result<void>& result) { LANISTA_CHECK(result.ok(), "the test's own space"); };
  must(config.space.params.add(
      {"optimizer", space::Categorical{{space::Value(std::string("sgd")), space::Value(std::string("adam"))}}, {}}));
  const std::vector<space::Parameter::Condition> sgd{{"optimizer", {space::Value(std::string("sgd"))}}};
  const std::vector<space::Parameter::Condition> adam{{"optimizer", {space::Value(std::string("adam"))}}};
  must(config.space.params.add({"lr", space::FloatRange{0.01, 0.5, 0, true}, sgd}));
  must(config.space.params.add({"momentum", space::FloatRange{0, 0.9, 0, false}, sgd}));
  must(config.space.params.add({"lr", space::FloatRange{0.0001, 0.01, 0, true}, adam}));
  config.train.length.epochs = 4;
  config.strategy = {"evolution", 3, {{"population", 6}, {"tournament", 3}}};
  config.stop = {"asha", {{"rungs", {1, 2}}, {"eta", 2}}};
  config.budget = {trials, {}, {}};
  config.run.seed = 7;
  config.keep.top = 2;
  return resolved(config);
}

/// A study in memory with everything around it.
struct Bench {
  MemoryFileSystem disk;
  VirtualClock clock;
  MemorySink sink;
  data::DataSpec data = small_data();
  nlohmann::json numerics = {{"class", "test"}, {"threads", 1}};
  std::atomic<int> pause = 0;
  Observer observer;
  plan::Machine machine;
  std::vector<TrainingDevice> devices;  // below two: one device
  std::vector<plan::DeviceSpeed> speeds;
  int num_device_measurements = 0;  // number of device measurements

  Services services(FileSystem& fs, Executor& executor) {
    const auto measure = [this](const Job&) {
      ++num_device_measurements;
      return Result(speeds);
    };
    return {&fs, &clock, &sink, &executor, &data, graph::builtin_ops(), &pause, observer, machine, devices, measure};
  }
  FakeExecutor executor(FileSystem& fs, FakeOptions options) {
    options.clock = &clock;
    return FakeExecutor(options, store::CheckpointStore(fs, kFolder));
  }
  std::string canonical() {
    const auto records = store::read_log(disk, kFolder);
    return records ? store::canonical_export(*records) : records.error().text();
  }
  /// Runs a new study; returns the error of create or run.
  Result<RunResult> run(const study::StudyConfig& config, const FakeOptions& options) {
    return run(config, options, disk);
  }
  Result<RunResult> run(const study::StudyConfig& config, const FakeOptions& options, FileSystem& fs) {
    FakeExecutor fake = executor(fs, options);
    return run(config, fake, fs);
  }
  /// Runs a new study, or resumes it, with another executor.
  Result<RunResult> run(const study::StudyConfig& config, Executor& executor, FileSystem& fs, bool resumes = false) {
    auto engine =
        resumes ? Engine::resume(kFolder, {}, numerics, services(fs, executor))
                : Engine::create(kFolder, config, studyfile::write_study(config), numerics, services(fs, executor));
    if (!engine) return std::move(engine).error();
    return (*engine)->run();
  }
  Result<RunResult> resume(const FakeOptions& options, const Engine::Extension& extension = {}) {
    FakeExecutor fake = executor(disk, options);
    auto engine = Engine::resume(kFolder, extension, numerics, services(disk, fake));
    if (!engine) return std::move(engine).error();
    return (*engine)->run();
  }
  StudyView view() {
    const auto records = store::read_log(disk, kFolder);
    LANISTA_CHECK(records.ok(), "the test's own log");
    auto view = fold(*records);
    LANISTA_CHECK(view.ok(), view ? "" : view.error().text());
    return *std::move(view);
  }
};

/// Runs a study on the disk of `bench`. Returns its files before each change, as a kill leaves them, and at the end.
inline std::vector<Files> snapshots_of(Bench& bench, const std::function<Result<RunResult>(FileSystem&)>& run) {
  std::vector<Files> snapshots;
  WatchedFileSystem fs(bench.disk);
  fs.on_change = [&] { snapshots.push_back(bench.disk.files()); };
  const auto summary = run(fs);
  LANISTA_CHECK(summary.ok(), summary ? "" : summary.error().text());
  snapshots.push_back(bench.disk.files());
  return snapshots;
}

inline const std::string kLog = kFolder + "/log/000001.log";

/// Returns the snapshots in which the log has more records than in the one before.
inline std::vector<Files> with_new_records(std::vector<Files> snapshots) {
  std::size_t before = 0;
  std::erase_if(snapshots, [&](const Files& files) {
    const auto log = files.find(kLog);
    const std::size_t size = log == files.end() ? 0 : log->second.size();
    return std::exchange(before, size) == size;
  });
  return snapshots;
}

/// Returns with_new_records(), each followed by itself with the first bytes of the next record.
inline std::vector<Files> with_torn_records(const std::vector<Files>& snapshots) {
  const std::string& whole = snapshots.back().at(kLog);
  std::vector<Files> cuts;
  for (Files& files : with_new_records(snapshots)) {
    const std::size_t torn = std::min(whole.size() - 1, files.at(kLog).size() + 5);
    cuts.push_back(files);
    cuts.push_back(std::move(files));
    cuts.back().at(kLog) = whole.substr(0, torn);
  }
  return cuts;
}

}  // namespace lanista::engine::testing
