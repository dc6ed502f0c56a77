#include "campaign/log_damage.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "campaign/campaign_folder.h"
#include "lanista/base/clock.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/engine.h"
#include "lanista/io/store/log.h"

namespace lanista::campaign {
namespace {

constexpr const char* kStudy = R"yaml(
name: tiny
model: {base: builtin:small-mlp}
space: {params: {lr: log(0.01, 0.3)}}
train: {epochs: 2}
data: {source: "synthetic:blobs?rows=60&classes=2&features=3&seed=1", batch: 16}
strategy: {name: random, slots: 2}
budget: {trials: 4}
keep: {top: 1, checkpoint_every: 0s}
)yaml";

constexpr const char* kMemory = "study";
constexpr const char* kLog = "/log/000001.log";

/// A damaged log with a description of the damage.
struct Damage {
  std::string what, bytes;
};

Damage flipped(const std::string& log, std::size_t byte, unsigned bit) {
  std::string bytes = log;
  bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
  return {"bit " + std::to_string(bit) + " of byte " + std::to_string(byte), std::move(bytes)};
}

Damage cut(const std::string& log, std::size_t length) {
  return {"cut to " + std::to_string(length), log.substr(0, length)};
}

bool is_prefix(const std::vector<store::Record>& some, const std::vector<store::Record>& all) {
  if (some.size() > all.size()) return false;
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (some[i].type != all[i].type || some[i].body != all[i].body) return false;
  }
  return true;
}

/// Reads a damaged log, folds it, and opens it for writing. Returns what is wrong, or "".
std::string read_in_process(const Damage& damage, const std::string& log, const std::vector<store::Record>& all) {
  MemoryFileSystem disk;
  disk.put(std::string(kMemory) + kLog, damage.bytes);
  const auto records = store::read_log(disk, kMemory);
  if (records && !is_prefix(*records, all)) return "the records are not the first ones that were written";
  if (records && !records->empty()) {
    if (const auto view = engine::fold(*records); !view) return "a shorter log is refused: " + view.error().text();
  }
  if (!records && records.error().code != Code::kDataLoss && records.error().code != Code::kFailedPrecondition) {
    return "the error is " + std::string(code_name(records.error().code));
  }
  const RealClock clock;
  const auto writer = store::LogWriter::open(disk, clock, kMemory);
  const std::string after = *disk.read(std::string(kMemory) + kLog);
  if (writer.ok() != records.ok()) return "reader and writer disagree";
  if (!writer && after != damage.bytes) return "a refused log was changed";
  return writer && log.substr(0, after.size()) != after ? "the writer continues after damage" : "";
}

class Campaign {
 public:
  Campaign(const std::string& lanista, std::uint64_t seed) : lanista_(lanista), rng_(Rng(seed).split("log")) {}

  bool run(std::uint64_t stride) {
    if (!prepare()) return false;
    std::printf("log: %zu bytes\n", log_.size());
    for (std::size_t byte = 0; byte < log_.size(); ++byte) {
      for (unsigned bit = 0; bit < 8; ++bit) check_in_process(flipped(log_, byte, bit));
      check_in_process(cut(log_, byte));
    }
    const auto in_process = in_process_.all();
    for (std::size_t byte = 0; byte < log_.size(); byte += stride) {
      by_program(flipped(log_, byte, static_cast<unsigned>(rng_.below(8))), false);
      by_program(cut(log_, byte), true);
    }
    std::printf("  read in this process: %lld, %lld failed\n  by the program: %lld (%lld processes), %lld failed\n",
                static_cast<long long>(in_process), static_cast<long long>(in_process_.failures()),
                static_cast<long long>(program_.all()), static_cast<long long>(processes_),
                static_cast<long long>(program_.failures()));
    std::printf("  of these, %lld were resumed to the same end, %lld refused; the longest call ran for %.1f s\n",
                static_cast<long long>(num_repaired_), static_cast<long long>(refused_), longest_);
    return in_process_.failures() + program_.failures() == 0;
  }

 private:
  bool prepare() {
    write_file(campaign_folder_.path("tiny.yaml"), kStudy);
    intact_ = campaign_folder_.path("pristine");
    study_ = campaign_folder_.path("damaged");
    const ProcessResult ended = campaign::run({.command = {lanista_, "run", campaign_folder_.path("tiny.yaml"),
                                                           "--quiet", "--workers", "1", "--out", intact_}});
    fingerprint_ = fingerprint(lanista_, intact_);
    log_ = read_file(intact_ + kLog);
    MemoryFileSystem disk;
    disk.put(std::string(kMemory) + kLog, log_);
    if (auto records = store::read_log(disk, kMemory)) all_ = *std::move(records);
    if (!fingerprint_.empty() && !all_.empty()) return true;
    program_.count_failure("the study itself", &ended);
    return false;
  }

  void check_in_process(const Damage& damage) {
    in_process_.take("log, " + damage.what, read_in_process(damage, log_, all_));
  }

  void by_program(const Damage& damage, bool is_cut) {
    copy_folder(intact_, study_);
    write_file(study_ + kLog, damage.bytes);
    program_.take("log, " + damage.what, read_and_resume(damage, is_cut), &last_);
  }

  const ProcessResult& call(std::vector<std::string> arguments) {
    ++processes_;
    arguments.insert(arguments.begin(), lanista_);
    last_ = campaign::run({.command = std::move(arguments)});
    longest_ = std::max(longest_, last_.seconds);
    return last_;
  }

  std::string read_and_resume(const Damage& damage, bool is_cut) {
    const std::string page = campaign_folder_.path("page.html"), table = campaign_folder_.path("trials.csv");
    const std::vector<std::vector<std::string>> readers{{"status", study_},
                                                        {"show", study_},
                                                        {"show", study_ + "#1"},
                                                        {"report", study_, "--out", page},
                                                        {"status", study_},
                                                        {"show", study_ + "#2"},
                                                        {"export", study_, "--csv", table}};
    for (int i = 0; i < 2; ++i) {
      const auto& reader = readers[next_reader_++ % readers.size()];
      const std::string wrong = find_misbehaviour(call(reader));
      if (!wrong.empty()) return reader.front() + ": " + wrong;
      if (read_file(study_ + kLog) != damage.bytes) return reader.front() + " changed the log";
    }
    const ProcessResult& resumed = call({"resume", study_, "--quiet"});
    if (const std::string wrong = find_misbehaviour(resumed); !wrong.empty()) return "resume: " + wrong;
    if (resumed.code == 0) {
      ++num_repaired_;
      return fingerprint(lanista_, study_) == fingerprint_ ? "" : "ends differently";
    }
    ++refused_;
    if (resumed.code != 2 && resumed.code != 3) return "resume: exit " + std::to_string(resumed.code);
    // A log without a whole first record cannot be resumed.
    if (is_cut && damage.bytes.size() > first_record()) return "a cut log is refused";
    return is_cut || read_file(study_ + kLog) == damage.bytes ? "" : "a refused log was changed";
  }

  std::size_t first_record() const {
    std::size_t length = 0;
    for (std::size_t i = 4; i-- > 0;) length = length << 8 | static_cast<unsigned char>(log_[i]);
    return 8 + length + 4;
  }

  const CampaignFolder campaign_folder_;
  const std::string& lanista_;
  Rng rng_;
  std::string intact_, study_, fingerprint_, log_;
  std::vector<store::Record> all_;
  CheckCounts in_process_, program_;
  ProcessResult last_;
  std::size_t next_reader_ = 0;
  std::int64_t processes_ = 0, num_repaired_ = 0, refused_ = 0;
  double longest_ = 0;
};

}  // namespace

bool run_log_damage(const std::string& lanista, std::uint64_t stride, std::uint64_t seed) {
  return Campaign(lanista, seed).run(stride);
}

}  // namespace lanista::campaign
