#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lanista/engine/core/study_engine.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/study_zoo.h"
#include "support/base/sanitizer.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine::testing {

inline const FakeOptions kOptions{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6, .nan_one_in = 6};

/// Studies with a strategy that no configuration names.
struct CustomStudy {
  study::StudyConfig config;
  std::function<std::unique_ptr<search::Strategy>(const std::shared_ptr<const mutate::ModelSpace>&)> make;

  Result<RunResult> run_study(Bench& bench, std::uint64_t seed) const { return run_study(bench, seed, bench.disk); }
  Result<RunResult> run_study(Bench& bench, std::uint64_t seed, FileSystem& fs) const {
    FakeOptions options = kOptions;
    options.seed = seed;
    options.workers = static_cast<std::int64_t>(seed % 3) + 1;
    FakeExecutor fake = bench.executor(fs, options);
    return run_study(bench.services(fs, fake));
  }
  std::optional<study::ZooSnapshot> zoo_moment(const Services& services) const {
    if (config.train.start.from != study::kStartZoo) return std::nullopt;
    return StudyZoo::begin(zoo_location(config, *services.data, kFolder),
                           config.train.start.zoo_tasks == study::kRelatedTasks,
                           static_cast<std::int64_t>(services.clock->unix_time()));
  }
  /// A study with any executor and any data.
  Result<RunResult> run_study(const Services& services) const {
    FileSystem& fs = *services.fs;
    const auto models = *make_model_space(config, *services.data, "", fs);
    auto log = store::LogWriter::open(fs, *services.clock, kFolder);
    log->set_body_check(check_body);
    StudyState state;
    std::vector<study::Event> past;
    if (log->existing().empty()) {
      LANISTA_TRY(
          log->append(store::RecordType::kHeader, header_body(config, studyfile::write_study(config), *services.data,
                                                              *models, "", {}, {}, {}, zoo_moment(services))));
      LANISTA_TRY(replay_records(state, *store::read_log(fs, kFolder), [](const study::Event&) {}));
    } else {
      LANISTA_TRY(replay_records(state, log->existing(), [&](const study::Event& event) { past.push_back(event); }));
    }
    return StudyEngine(kFolder, services, *std::move(log), std::move(state), models, make(models), past).run();
  }
};

/// A study with the strategy that its configuration names.
inline CustomStudy as_configured(study::StudyConfig config) {
  return {config, [config](const auto& models) { return *make_strategy(config, models); }};
}

/// Runs the study with several seeds of the executor, which change workers and arrivals, and expects equal ends.
inline void expect_independent_of_workers(const CustomStudy& study, std::uint64_t runs) {
  std::set<std::string> ends;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    Bench bench;
    ASSERT_TRUE(study.run_study(bench, seed).ok());
    ends.insert(bench.canonical());
  }
  EXPECT_EQ(ends.size(), 1U);
}

/// The first difference between two exports, or an empty text.
inline std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  if (at == a.size() && at == b.size()) return "";
  const std::size_t line = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
  return a.substr(line, 300) + "\n  in place of\n" + b.substr(std::min(line, b.size()), 300);
}

/// Resumes the study at every `step`-th moment and expects an equal end. A sanitizer needs ten times as long, so it
/// checks a fifth of these moments.
inline void expect_resumes_from_every_change(const CustomStudy& study, std::size_t step) {
  if (LANISTA_SANITIZED) step *= 5;
  Bench reference;
  std::vector<Files> snapshots;
  WatchedFileSystem fs(reference.disk);
  fs.on_change = [&, changes = std::size_t{0}]() mutable {
    if (changes++ % step == 0) snapshots.push_back(reference.disk.files());
  };
  const auto end = study.run_study(reference, 0, fs);
  ASSERT_TRUE(end.ok()) << end.error().text();
  ASSERT_GT(snapshots.size() * step, 10U);
  std::uint64_t seed = 0;
  for (const Files& files : snapshots) {
    Bench bench;
    put_all(bench.disk, files);
    const auto summary = study.run_study(bench, ++seed);
    ASSERT_TRUE(summary.ok()) << summary.error().text();
    ASSERT_EQ(first_difference(bench.canonical(), reference.canonical()), "") << "moment " << seed * step;
  }
}

}  // namespace lanista::engine::testing
