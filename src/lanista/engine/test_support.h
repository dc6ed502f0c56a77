#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/engine/engine.h"
#include "lanista/engine/fake_executor.h"
#include "lanista/engine/study_file.h"

namespace lanista::engine::testing {

/// Files in memory: tests look at thousands of crashes and must not wait for a disk.
class MemoryFileSystem final : public FileSystem {
 public:
  std::map<std::string, std::string> files;
  std::set<std::string> folders;
  std::function<void()> before_change;  ///< what a kill at this moment would leave behind is to be seen

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override {
    changes();
    files[path];
    return std::unique_ptr<AppendFile>(std::make_unique<File>(*this, path));
  }
  Result<std::string> read(const std::string& path, std::uint64_t offset) override {
    const auto it = files.find(path);
    if (it == files.end()) return Error{Code::kNotFound, "no such file", path};
    return it->second.substr(std::min<std::size_t>(offset, it->second.size()));
  }
  Result<void> write_file(const std::string& path, std::span<const std::byte> data) override {
    changes();
    files[path] = std::string(reinterpret_cast<const char*>(data.data()), data.size());
    return {};
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    changes();
    const auto it = files.find(from);
    if (it == files.end()) return Error{Code::kNotFound, "no such file", from};
    std::string content = std::move(it->second);
    files.erase(it);
    files[to] = std::move(content);
    return {};
  }
  Result<void> sync_folder(const std::string&) override { return {}; }
  Result<void> truncate(const std::string& path, std::uint64_t size) override {
    changes();
    files[path].resize(size);
    return {};
  }
  Result<void> remove(const std::string& path) override {
    changes();
    files.erase(path);
    return {};
  }
  Result<void> make_folder(const std::string& path) override {
    folders.insert(path);
    return {};
  }
  Result<std::vector<std::string>> list(const std::string& folder) override {
    std::set<std::string> names;
    const std::string prefix = folder + "/";
    const auto add = [&](const std::string& path) {
      if (!path.starts_with(prefix)) return;
      const std::string rest = path.substr(prefix.size());
      names.insert(rest.substr(0, rest.find('/')));
    };
    for (const auto& [path, content] : files) add(path);
    for (const std::string& path : folders) add(path);
    return std::vector<std::string>(names.begin(), names.end());
  }
  bool exists(const std::string& path) override {
    if (files.contains(path) || folders.contains(path)) return true;
    const auto below = files.lower_bound(path + "/");
    const auto folder = folders.lower_bound(path + "/");
    return (below != files.end() && below->first.starts_with(path + "/")) ||
           (folder != folders.end() && folder->starts_with(path + "/"));
  }
  Result<std::uint64_t> size(const std::string& path) override { return files[path].size(); }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    if (!locked_->insert(path).second) return Error{Code::kUnavailable, "somebody holds the lock", path};
    files[path];
    return std::unique_ptr<FileLock>(std::make_unique<Lock>(locked_, path));
  }

 private:
  void changes() {
    if (before_change) before_change();
  }
  class File final : public AppendFile {
   public:
    File(MemoryFileSystem& fs, std::string path) : fs_(fs), path_(std::move(path)) {}
    Result<void> append(std::span<const std::byte> data) override {
      fs_.changes();
      fs_.files[path_].append(reinterpret_cast<const char*>(data.data()), data.size());
      return {};
    }
    Result<void> sync() override { return {}; }

   private:
    MemoryFileSystem& fs_;
    std::string path_;
  };
  class Lock final : public FileLock {
   public:
    Lock(std::shared_ptr<std::set<std::string>> all, std::string path) : all_(std::move(all)), path_(std::move(path)) {}
    ~Lock() override { all_->erase(path_); }

   private:
    std::shared_ptr<std::set<std::string>> all_;
    std::string path_;
  };
  std::shared_ptr<std::set<std::string>> locked_ = std::make_shared<std::set<std::string>>();
};

inline const std::string kFolder = "/studies/one";

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
  config.train.epochs = 4;
  config.strategy = {"evolution", 3, {{"population", 6}, {"tournament", 3}}};
  config.stop = {"asha", {{"rungs", {1, 2}}, {"eta", 2}}};
  config.budget = {trials, {}, {}};
  config.run.seed = 7;
  config.keep.top = 2;
  auto resolved = read_study(write_study(config), "tiny.yaml");
  LANISTA_CHECK(resolved.ok(), resolved ? "" : resolved.error().text());
  return *std::move(resolved);
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

  Services services(FileSystem& fs, Executor& executor) {
    return {&fs, &clock, &sink, &executor, &data, graph::builtin_ops(), &pause, observer};
  }
  FakeExecutor executor(FileSystem& fs, FakeOptions options) {
    options.clock = &clock;
    return FakeExecutor(options, store::CheckpointStore(fs, kFolder));
  }
  std::string canonical() {
    const auto records = store::read_log(disk, kFolder);
    return records ? store::canonical_export(*records) : records.error().text();
  }
  /// Runs a new study to whatever end; the error of create or run.
  Result<Summary> run(const study::StudyConfig& config, const FakeOptions& options) {
    return run(config, options, disk);
  }
  Result<Summary> run(const study::StudyConfig& config, const FakeOptions& options, FileSystem& fs) {
    FakeExecutor fake = executor(fs, options);
    auto engine = Engine::create(kFolder, config, write_study(config), numerics, services(fs, fake));
    if (!engine) return std::move(engine).error();
    return (*engine)->run();
  }
  Result<Summary> resume(const FakeOptions& options, const Engine::Extension& extension = {}) {
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

}  // namespace lanista::engine::testing
