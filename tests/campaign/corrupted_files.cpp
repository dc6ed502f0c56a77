#include "campaign/corrupted_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "campaign/campaign_folder.h"
#include "campaign/corrupt_bytes.h"
#include "lanista/base/rng.h"

namespace lanista::campaign {
namespace {

namespace fs = std::filesystem;
using Command = std::vector<std::string>;

constexpr rlim_t kMaxMemory = rlim_t{4} << 30;

/// Files of one kind with the commands that read them. In commands, @ is replaced by the folder and % by the file.
struct Kind {
  std::string name;
  std::string folder;
  std::vector<std::string> files;
  std::vector<Command> readers;
  bool is_forged = false;  ///< logs with correct checksums
  bool is_flawed = false;  ///< some of the unchanged files are invalid
};

std::vector<std::string> names_in(const std::string& folder, const std::string& suffix) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name.ends_with(suffix)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string quoted_rows() {
  std::string text = "id;\"a; b\";size;kind\r\n";
  for (int i = 0; i < 90; ++i) {
    text += std::to_string(i) + (i % 4 == 0 ? ";\"x;\"\"y\"\"\";" : ";plain;") +
            (i % 9 == 0 ? "NA" : std::to_string(i * 0.5)) + (i % 2 == 0 ? ";left\r\n" : ";right\r\n");
  }
  return text;
}

std::string cifar_batch() {
  std::string bytes;
  for (int image = 0; image < 40; ++image) {
    bytes += static_cast<char>(image % 10);
    for (int i = 0; i < 3072; ++i) bytes += static_cast<char>(i * image);
  }
  return bytes;
}

class Campaign {
 public:
  Campaign(const std::string& lanista, const std::string& source, std::uint64_t seed)
      : lanista_(lanista), source_(source), rng_(Rng(seed).split("mutants")) {}

  bool run(std::int64_t count) {
    if (!prepare()) return false;
    for (std::int64_t number = 0; number < count; ++number) {
      const Kind& kind = kinds_[static_cast<std::size_t>(number) % kinds_.size()];
      verdicts_.take("file " + std::to_string(number) + " (" + kind.name + ")",
                     read(kind, rng_.split(static_cast<std::uint64_t>(number))), &last_);
    }
    std::printf("changed files: %lld of %zu kinds, %lld processes (", static_cast<long long>(verdicts_.all()),
                kinds_.size(), static_cast<long long>(processes_));
    for (const auto& [code, times] : codes_) std::printf(" exit %d: %lld", code, static_cast<long long>(times));
    std::printf(" ); the longest call ran for %.1f s\n  %lld failed\n", longest_,
                static_cast<long long>(verdicts_.failures()));
    return verdicts_.failures() == 0;
  }

 private:
  bool make(Command command) {
    command.insert(command.begin(), lanista_);
    last_ = campaign::run({.command = command, .folder = campaign_folder_.folder(), .seconds = 60});
    if (last_.code == 0 && last_.signal == 0) return true;
    verdicts_.count_failure("preparing with " + command[1], &last_);
    return false;
  }

  bool prepare() {
    const std::string table = campaign_folder_.path("table");
    const Command study = small_study(lanista_, campaign_folder_, 1, table);
    if (!make({study.begin() + 1, study.end()})) return false;
    const Command digits{
        "data",   "export", "builtin:digits",     "--part", "test", "--npy", "npy", "--idx", "idx", "--folder",
        "images", "--csv",  "table-of-digits.csv"};
    if (!make(digits)) return false;
    kinds_ = models();
    for (auto& kind : logs()) kinds_.push_back(std::move(kind));
    for (auto& kind : data()) kinds_.push_back(std::move(kind));
    return std::ranges::all_of(kinds_, [this](const Kind& kind) { return kind.is_flawed || is_sound(kind); });
  }

  /// Returns whether the commands accept the unchanged files; a change of a refused file would test nothing.
  bool is_sound(const Kind& kind) {
    const std::string folder = campaign_folder_.path("sound");
    copy_folder(kind.folder, folder);
    for (Command command : kind.readers) {
      for (auto& word : command) substitute_names(word, folder, folder + "/" + kind.files.front());
      std::string wrong = call(command);
      if (wrong.empty() && last_.code != 0) wrong = "exit " + std::to_string(last_.code);
      if (wrong.empty()) continue;
      verdicts_.count_failure(kind.name + " unchanged, " + command.front() + ": " + wrong, &last_);
      return false;
    }
    return true;
  }

  std::vector<Kind> models() {
    std::vector<Kind> kinds;
    const std::string examples = source_ + "/examples";
    kinds.push_back({"study file",
                     examples,
                     names_in(examples, ".yaml"),
                     {{"check", "%"}, {"run", "%", "--dry-run", "--out", "@/out"}, {"plan", "%", "--trials", "3"}}});
    const std::string best = campaign_folder_.path("table/best");
    const std::string onnx = campaign_folder_.path("seeds-onnx");
    copy_folder(source_ + "/fuzz/corpus/onnx", onnx);
    for (const auto& name : names_in(onnx, "")) fs::rename(onnx + "/" + name, onnx + "/" + name + ".onnx");
    write_file(onnx + "/best.onnx", read_file(best + "/model.onnx"));
    write_file(onnx + "/rows.csv", read_file(campaign_folder_.path("rows.csv")));
    kinds.push_back({.name = "ONNX for fuzzers",
                     .folder = onnx,
                     .files = names_in(onnx, ".onnx"),
                     .readers = {{"check", "%"}, {"run", "--dry-run", "--set", "model.base=%", "--out", "@/out"}},
                     .is_flawed = true});
    const Command base{"run", "--dry-run", "--set", "model.base=%", "--set", "data.source=csv:@/rows.csv?target=y"};
    kinds.push_back({"ONNX", onnx, {"best.onnx"}, {{"check", "%"}, base, {"check", "%"}}});
    write_file(best + "/new.csv", read_file(campaign_folder_.path("rows.csv")));
    const std::vector<Command> uses{{"predict", "@", "@/new.csv"},
                                    {"eval", "@", "@/new.csv"},
                                    {"export", "@", "--onnx", "@/again.onnx", "--cpp", "@/model.cpp"},
                                    {"export", "@", "--safetensors", "@/again.safetensors", "--package", "@/again"}};
    kinds.push_back({"package", best, {"package.json", "model.graph"}, uses});
    kinds.push_back({"weights", best, {"weights.safetensors"}, uses});
    kinds.push_back({"new data", best, {"new.csv"}, {{"predict", "@", "%"}, {"eval", "@", "%"}}});
    return kinds;
  }

  std::vector<Kind> logs() {
    const std::string study = campaign_folder_.path("table");
    write_file(campaign_folder_.path("seeds-study/rows.csv"), read_file(campaign_folder_.path("rows.csv")));
    copy_folder(study, campaign_folder_.path("seeds-study/table"));
    const std::vector<Command> readers{{"status", "@/table"},
                                       {"show", "@/table"},
                                       {"show", "@/table#3"},
                                       {"show", "@/table", "--canonical"},
                                       {"report", "@/table", "--out", "@/page.html"},
                                       {"export", "@/table", "--csv", "@/t.csv", "--jsonl", "@/t.jsonl",
                                        "--measurements", "@/m.csv", "--optuna", "@/o"},
                                       {"export", "@/table", "--tensorboard", "@/tb", "--trace", "@/trace.json"},
                                       {"resume", "@/table", "--quiet", "--trials", "2"}};
    const std::string log = "table/log/000001.log";
    std::vector<std::string> checkpoints;
    for (const auto& name : names_in(study + "/ckpt", "")) checkpoints.push_back("table/ckpt/" + name);
    const std::string folder = campaign_folder_.path("seeds-study");
    return {{"log", folder, {log}, readers},
            {"forged log", folder, {log}, readers, true},
            {"forged log again", folder, {log}, readers, true},
            {"checkpoint",
             folder,
             checkpoints,
             {{"export", "@/table#", "--onnx", "@/1.onnx"}, {"resume", "@/table", "--quiet", "--trials", "1"}}}};
  }

  std::vector<Kind> data() {
    std::vector<Kind> kinds;
    const std::string csv = campaign_folder_.path("csv");
    write_file(csv + "/rows.csv", read_file(campaign_folder_.path("rows.csv")));
    write_file(csv + "/quoted.csv", quoted_rows());
    kinds.push_back({"csv",
                     csv,
                     {"rows.csv", "quoted.csv"},
                     {{"data", "check", "csv:%"},
                      {"data", "export", "csv:%", "--csv", "@/out.csv"},
                      {"data", "rows", "csv:%", "--part", "test"},
                      {"run", "--dry-run", "--set", "data.source=csv:%", "--set", "model.base=builtin:small-mlp"}}});
    const std::string arrays = campaign_folder_.path("npy");
    kinds.push_back({"npy", arrays, {"x.npy", "y.npy"}, {{"data", "check", "npy:@/x.npy,@/y.npy"}}});
    const std::string idx = campaign_folder_.path("idx");
    kinds.push_back({"idx", idx, names_in(idx, ""), {{"data", "check", "idx:@"}}});
    write_file(campaign_folder_.path("cifar/batch.bin"), cifar_batch());
    kinds.push_back({"cifar", campaign_folder_.path("cifar"), {"batch.bin"}, {{"data", "check", "cifar:@/batch.bin"}}});
    write_file(campaign_folder_.path("text/text.txt"), read_file(source_ + "/README.md"));
    kinds.push_back({"text", campaign_folder_.path("text"), {"text.txt"}, {{"data", "check", "tokens:%?context=8"}}});
    kinds.push_back(pictures());
    for (const char* name : {"npz", "npy", "csv"}) {
      const std::string folder = campaign_folder_.path(std::string("seeds-") + name);
      copy_folder(source_ + "/fuzz/corpus/" + name, folder);
      const std::string source = std::string(name) + (std::string(name) == "npy" ? ":%,%" : ":%");
      kinds.push_back({.name = std::string(name) + " for fuzzers",
                       .folder = folder,
                       .files = names_in(folder, ""),
                       .readers = {{"data", "check", source}},
                       .is_flawed = true});
    }
    return kinds;
  }

  Kind pictures() const {
    const std::string folder = campaign_folder_.path("pictures");
    std::vector<std::string> files;
    for (const char* name :
         {"colour", "grey16", "palette", "interlaced", "jpeg_colour", "jpeg_grey", "jpeg_progressive"}) {
      const std::string bytes = read_file(source_ + "/fuzz/corpus/image/" + name);
      const std::string end = std::string(name).starts_with("jpeg") ? ".jpg" : ".png";
      for (const char* label : {"a", "b", "c"}) write_file(folder + "/" + label + "/" + name + end, bytes);
      files.push_back(std::string("a/") + name + end);
    }
    return {"images",
            folder,
            files,
            {{"data", "check", "folder:@?size=8x8"}, {"data", "rows", "folder:@?size=4x4&color=grey"}}};
  }

  std::string read(const Kind& kind, Rng rng) {
    const std::string folder = campaign_folder_.path("mutant");
    copy_folder(kind.folder, folder);
    const std::string name = kind.files[rng.below(kind.files.size())];
    const std::string other = read_file(folder + "/" + kind.files[rng.below(kind.files.size())]);
    const std::string file = folder + "/" + name;
    const std::string intact = read_file(file);
    const std::string bytes = kind.is_forged ? forged_log(intact, rng) : corrupted_bytes(intact, other, rng);
    write_file(file, bytes);
    const std::size_t first = rng.below(kind.readers.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(kind.readers.size(), 3); ++i) {
      Command command = kind.readers[(first + i) % kind.readers.size()];
      const bool writes = command.front() == "resume";
      for (auto& word : command) substitute_names(word, folder, file);
      const std::string wrong = call(command);
      if (!wrong.empty()) return keep(folder, wrong, command);
      if (!writes && read_file(file) != bytes) return keep(folder, "changed the file", command);
      if (writes) break;
    }
    return "";
  }

  static void substitute_names(std::string& word, const std::string& folder, const std::string& file) {
    std::string out;
    for (const char c : word) out += c == '@' ? folder : c == '%' ? file : std::string(1, c);
    word = out;
  }

  std::string call(const Command& command) {
    ++processes_;
    ProcessOptions start{.command = command, .folder = campaign_folder_.folder(), .limits = {{RLIMIT_AS, kMaxMemory}}};
    start.command.insert(start.command.begin(), lanista_);
    last_ = campaign::run(start);
    longest_ = std::max(longest_, last_.seconds);
    ++codes_[last_.code];
    std::string wrong = find_misbehaviour(last_);
    if (wrong.empty() && last_.errors.find("out of memory") != std::string::npos) wrong = "needs too much memory";
    return wrong;
  }

  /// Copies a file that caused a failure to the current folder, and returns a text with its name.
  std::string keep(const std::string& folder, const std::string& wrong, const Command& command) {
    const std::string kept = "mutant-" + std::to_string(verdicts_.failures());
    copy_folder(folder, kept);
    std::string text = wrong + "; kept in " + kept + ":";
    for (const auto& word : command) text += " " + word;
    return text;
  }

  const CampaignFolder campaign_folder_;
  const std::string& lanista_;
  const std::string& source_;
  Rng rng_;
  std::vector<Kind> kinds_;
  CheckCounts verdicts_;
  ProcessResult last_;
  std::map<int, std::int64_t> codes_;
  std::int64_t processes_ = 0;
  double longest_ = 0;
};

}  // namespace

bool run_corrupted_files(const std::string& lanista, const std::string& source, std::int64_t count,
                         std::uint64_t seed) {
  return Campaign(lanista, source, seed).run(count);
}

}  // namespace lanista::campaign
