// The whole product below the command line, real training included, on a file system whose n-th write fails.
#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/engine.h"
#include "lanista/engine/fit.h"
#include "lanista/engine/study_file.h"
#include "lanista/runtime/worker_executor.h"

namespace lanista::runtime {
namespace {

constexpr const char* kStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, swap_op], params: {lr: log(0.01, 0.3)}}
train: {epochs: 2}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 2, slots: 2}
stop: {rule: asha, rungs: [1]}
budget: {trials: 4}
keep: {top: 1, checkpoint_every: 0s}
)yaml";
constexpr const char* kFolder = "study";

/// One process's worth of everything but the disk.
class Process {
 public:
  explicit Process(FileSystem& fs)
      : fs_(fs),
        config_(*engine::read_study(kStudy, "faults")),
        data_(*data::open(config_.data, ".", real_file_system())) {
    const auto fitted = engine::fit_to_data(config_, data_.spec());
    LANISTA_CHECK(fitted.ok(), "the test's own study file");
    WorkerOptions options;
    options.workers = 2;
    options.checkpoint_every = config_.keep.checkpoint_every;
    options.crash_marks = false;
    executor_ = WorkerExecutor::create(options, data_, nn::Operators(), fs_, clock_, kFolder);
  }

  Result<engine::Summary> run() {
    LANISTA_ASSIGN(const auto engine, engine::Engine::create(kFolder, config_, engine::write_study(config_),
                                                             numerics(kernels::best_isa()), services()));
    return engine->run();
  }
  Result<engine::Summary> resume() {
    LANISTA_ASSIGN(const auto engine, engine::Engine::resume(kFolder, {}, numerics(kernels::best_isa()), services()));
    return engine->run();
  }

 private:
  engine::Services services() {
    return {.fs = &fs_,
            .clock = &clock_,
            .sink = &sink_,
            .executor = executor_.get(),
            .data = &data_.spec(),
            .pause = nullptr,
            .observer = {}};
  }

  FileSystem& fs_;
  RealClock clock_;
  NullSink sink_;
  study::StudyConfig config_;
  data::Dataset data_;
  std::unique_ptr<WorkerExecutor> executor_;
};

struct Fingerprint {
  std::string canonical, weights;
  bool operator==(const Fingerprint&) const = default;
};
Fingerprint fingerprint(FileSystem& fs) {
  return {store::canonical_export(*store::read_log(fs, kFolder)),
          *fs.read(std::string(kFolder) + "/best/weights.safetensors")};
}

/// Resumes; begins again if the failure came before there was a study, as a user would.
Result<engine::Summary> go_on(MemoryFileSystem& disk) {
  auto resumed = Process(disk).resume();
  if (resumed || resumed.error().code != Code::kNotFound) return resumed;
  return Process(disk).run();
}

TEST(Faults, OfAnyWriteEndInACodedErrorAndAResumableStudy) {
  MemoryFileSystem undisturbed;
  const auto summary = Process(undisturbed).run();
  ASSERT_TRUE(summary) << summary.error().text();
  const Fingerprint wanted = fingerprint(undisturbed);

  int failed = 0;
  std::int64_t at = 0;
  for (;; ++at) {
    MemoryFileSystem disk;
    FaultyFileSystem faulty(disk, {.at = at,
                                   .sticky = at % 3 != 0,
                                   .torn = at % 2 == 0,
                                   .error = {Code::kResourceExhausted, "No space left on device", "disk"}});
    const auto first = Process(faulty).run();
    if (first && faulty.calls() <= at) break;  // it made fewer calls: every one has had its turn
    if (!first) {
      ++failed;
      EXPECT_NE(first.error().code, Code::kInternal) << at << ": " << first.error().text();
      EXPECT_FALSE(first.error().message.empty()) << at;
    }
    const auto second = go_on(disk);
    ASSERT_TRUE(second) << at << ": " << second.error().text();
    ASSERT_EQ(fingerprint(disk), wanted) << at;
    ASSERT_LT(at, 1000);
  }
  EXPECT_GT(at, 60);
  EXPECT_GT(failed, 50);
}

}  // namespace
}  // namespace lanista::runtime
