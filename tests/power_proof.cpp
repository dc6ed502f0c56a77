// Power cuts lose nothing that was synced. A study ends before one call of its file system, and the disk loses bytes or
// names that were not synced. The study then resumes, and must end with the result of an undisturbed study.
//
// usage: power_proof fake|real CUTS [SEED]
//
//   fake  simulated training with a checkpoint in each second epoch
//
//   real  worker threads with a checkpoint in each step
//
//   CUTS  number of calls before which the power is cut, once for each kind of loss
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>

#include "lanista/engine/core/package.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/study_process.h"

namespace lanista {
namespace {

using engine::testing::Fingerprint;
using engine::testing::kFolder;

const std::string kLog = kFolder + "/log/000001.log";
const std::string kBest = kFolder + "/best";

/// A study without its disk. Each call runs one process.
class StudyWorld {
 public:
  virtual ~StudyWorld() = default;
  Result<engine::RunResult> run(FileSystem& fs, std::uint64_t seed) { return work(fs, seed, true); }
  Result<engine::RunResult> resume(FileSystem& fs, std::uint64_t seed) { return work(fs, seed, false); }
  /// Resumes the study, or starts it again if it does not exist yet.
  Result<engine::RunResult> continue_study(FileSystem& fs, std::uint64_t seed) {
    auto began = run(fs, seed);
    if (began || began.error().code != Code::kAlreadyExists) return began;
    return resume(fs, seed);
  }
  int checkpoints_lost() const {
    int lost = 0;
    for (const LogEvent& event : sink_.events()) lost += event.event == "checkpoint_lost";
    return lost;
  }

 protected:
  virtual Result<engine::RunResult> work(FileSystem& fs, std::uint64_t seed, bool anew) = 0;
  MemorySink sink_;
};

class FakeWorld final : public StudyWorld {
 private:
  Result<engine::RunResult> work(FileSystem& fs, std::uint64_t seed, bool anew) override {
    engine::FakeOptions options{.seed = seed,
                                .workers = static_cast<std::int64_t>(seed % 3) + 1,
                                .checkpoint_one_in = 2,
                                .fail_one_in = 6,
                                .nan_one_in = 6};
    VirtualClock clock;
    options.clock = &clock;
    engine::FakeExecutor executor(options, store::CheckpointStore(fs, kFolder));
    const nlohmann::json numerics{{"class", "test"}};
    const engine::Services services{&fs, &clock, &sink_, &executor, &data_, graph::builtin_ops(), nullptr, {}};
    LANISTA_ASSIGN(const auto engine,
                   anew ? engine::Engine::create(kFolder, config_, studyfile::write_study(config_), numerics, services)
                        : engine::Engine::resume(kFolder, {}, numerics, services));
    return engine->run();
  }

  study::StudyConfig config_ = engine::testing::small_study(8);
  data::DataSpec data_ = engine::testing::small_data();
};

class RealWorld final : public StudyWorld {
 private:
  Result<engine::RunResult> work(FileSystem& fs, std::uint64_t seed, bool anew) override {
    runtime::testing::StudyProcess process(
        fs, {.folder = kFolder, .trials = 5, .workers = static_cast<std::int64_t>(seed % 3) + 1, .sink = &sink_});
    return anew ? process.run() : process.resume();
  }
};

/// Returns the fingerprint of a study with a winner that can be read.
Result<Fingerprint> fingerprint(FileSystem& fs) {
  LANISTA_TRY(engine::read_package(fs, kBest, graph::builtin_ops()));
  return engine::testing::fingerprint(fs);
}

enum class Loss { kNothing, kBytes, kNames, kSampled };
constexpr std::array<const char*, 4> kLosses{"nothing", "bytes", "names", "bytes and names"};

/// Applies a loss to the disk. Returns what is wrong with the study on it, or "".
std::string cut_power(MemoryFileSystem& disk, Loss loss, Rng rng) {
  const std::string promised = disk.synced(kLog);
  if (loss == Loss::kBytes) disk.simulate_power_loss(PowerLoss::kBytes, rng);
  if (loss == Loss::kNames) disk.simulate_power_loss(PowerLoss::kNames, rng);
  if (loss == Loss::kSampled) disk.simulate_power_loss(PowerLoss::kSampled, rng);

  const auto records = store::read_log(disk, kFolder);
  if (!records) {
    return records.error().code == Code::kNotFound && promised.empty() ? "" : "log: " + records.error().text();
  }
  MemoryFileSystem before;
  before.put(kLog, promised);
  const auto synced = store::read_log(before, kFolder);
  if (!synced) return "what was synced cannot be read: " + synced.error().text();
  for (std::size_t i = 0; i < synced->size(); ++i) {
    if (i >= records->size() || (*records)[i].body != (*synced)[i].body) {
      return "record " + std::to_string(i) + " was synced and is lost";
    }
  }
  if (records->empty()) return "";
  const auto view = engine::fold(*records);
  if (!view) return "log: " + view.error().text();
  const auto best = engine::read_package(disk, kBest, graph::builtin_ops());
  if (view->winner && !best) return "the study has ended, and its winner is not there: " + best.error().text();
  if (best && !view->end_reason) {
    const auto winner = best->facts.at("trial").get<std::size_t>();
    if (winner > view->trials.size() || !view->trials[winner - 1].outcome) return "best/ is of a trial that is unknown";
  }
  return "";
}

/// Runs one study with a power cut before call `at`. Returns what is wrong, or "".
std::string check_power_cut(StudyWorld& world, const Fingerprint& expected, std::int64_t at, Loss loss, Rng rng) {
  MemoryFileSystem disk;
  const auto cut_off = [&](std::int64_t call, bool torn, bool anew) {
    FaultyFileSystem faulty(disk, {.at = call, .sticky = true, .torn = torn, .error = {Code::kIo, "no power", ""}});
    return anew ? world.run(faulty, rng.next()) : world.continue_study(faulty, rng.next());
  };
  static_cast<void>(cut_off(at, rng.below(2) == 0, true));
  if (auto wrong = cut_power(disk, loss, rng.split("first")); !wrong.empty()) return wrong;
  for (std::uint64_t repeated = rng.below(3); repeated > 0; --repeated) {  // more cuts while it resumes
    static_cast<void>(cut_off(static_cast<std::int64_t>(rng.below(80)), rng.below(2) == 0, false));
    if (auto wrong = cut_power(disk, loss, rng.split(repeated)); !wrong.empty()) return "second cut: " + wrong;
  }
  const auto ended = world.continue_study(disk, rng.next());
  if (!ended) return "cannot be resumed: " + ended.error().text();
  // A study that has ended loses nothing in a later cut.
  if (auto wrong = cut_power(disk, loss, rng.split("last")); !wrong.empty()) return "at the end: " + wrong;
  const auto found = fingerprint(disk);
  if (!found) return "at the end: " + found.error().text();
  if (*found != expected) return found->canonical != expected.canonical ? "another canonical export" : "other weights";
  return "";
}

int prove(StudyWorld& world, std::int64_t cuts, std::uint64_t seed) {
  MemoryFileSystem undisturbed;
  FaultyFileSystem counting(undisturbed, {});
  const auto whole = world.run(counting, 0);
  LANISTA_CHECK(whole.ok(), whole ? "" : whole.error().text());
  const auto expected = fingerprint(undisturbed);
  LANISTA_CHECK(expected.ok(), expected ? "" : expected.error().text());
  std::printf("a study of %lld calls\n", static_cast<long long>(counting.calls()));

  int failed = 0;
  std::int64_t done = 0;
  for (std::int64_t cut = 0; cut < cuts; ++cut) {
    for (std::size_t loss = 0; loss < kLosses.size(); ++loss) {
      const Rng rng = Rng(seed).split(static_cast<std::uint64_t>(cut)).split(loss);
      // Cuts are spread over all calls, so that a short run covers each part of a study.
      const std::int64_t at = (cut * counting.calls() + counting.calls() / 2) / cuts % counting.calls();
      const std::string wrong = check_power_cut(world, *expected, at, static_cast<Loss>(loss), rng);
      ++done;
      if (wrong.empty()) continue;
      if (++failed <= 10) {
        std::printf("cut %lld, before call %lld, loss of %s: %s\n", static_cast<long long>(cut),
                    static_cast<long long>(at), kLosses[loss], wrong.c_str());
      }
    }
  }
  const int lost = world.checkpoints_lost();
  std::printf("%lld power cuts, %d went wrong, %d checkpoints lost\n", static_cast<long long>(done), failed, lost);
  return failed == 0 && lost == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  std::int64_t cuts = 0;
  std::uint64_t seed = 1;
  const auto number = [&](int at, auto& value) {
    const std::string_view text = at < argc ? argv[at] : "";
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  };
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if ((kind != "fake" && kind != "real") || !number(2, cuts) || cuts < 1 || (argc > 3 && !number(3, seed))) {
    std::fprintf(stderr, "usage: power_proof fake|real CUTS [SEED]\n");
    return 2;
  }
  std::unique_ptr<lanista::StudyWorld> world;
  if (kind == "fake") {
    world = std::make_unique<lanista::FakeWorld>();
  } else {
    world = std::make_unique<lanista::RealWorld>();
  }
  return lanista::prove(*world, cuts, seed);
}
