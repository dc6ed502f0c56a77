#include "campaign/limits_cases.h"

#include <filesystem>

#include "lanista/base/frame.h"

namespace lanista::campaign {
namespace {

constexpr const char* kStudy = R"yaml(
name: exhibit
model: {base: builtin:small-mlp}
space: {mutate: [widen, swap_op], params: {lr: log(0.01, 0.3)}}
train: {epochs: 4}
data: {source: "csv:rows.csv?target=y", batch: 16}
strategy: {name: evolution, population: 3, slots: 4}
budget: {trials: 8}
run: {workers: 2}
keep: {top: 2, checkpoint_every: 0s}
)yaml";

std::string rows() {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 160; ++i) {
    text += std::to_string(i % 17) + "," + std::to_string(i * i % 23) + "," + (i % 17 + i % 3 > 9 ? "yes\n" : "no\n");
  }
  return text;
}

// Returns the first half of a log in whole records, as a kill leaves it.
std::string half_of(const std::string& log) {
  const DecodedFrames scan = decode_frames(log);
  const auto& middle = scan.frames[scan.frames.size() / 2];
  return log.substr(0, static_cast<std::size_t>(middle.payload.data() - log.data()) - kFrameHeader);
}

}  // namespace

const std::vector<LimitCall>& calls() {
  static const std::vector<LimitCall> all{
      {"run", {"run", "@/study.yaml", "--out", "@/new"}, "new", true},
      {"run --quiet", {"run", "@/study.yaml", "--out", "@/new", "--quiet"}, "new", true},
      {"run --json", {"run", "@/study.yaml", "--out", "@/new", "--json"}, "new", true},
      {"run --dry-run", {"run", "@/study.yaml", "--out", "@/new", "--dry-run"}},
      {"resume", {"resume", "@/half", "--quiet"}, "half", true},
      {"resume of what has ended", {"resume", "@/ended", "--quiet"}, "ended", true},
      {"resume --trials", {"resume", "@/ended", "--quiet", "--trials", "3"}, "ended", true},
      {"plan", {"plan", "@/study.yaml", "--trials", "3"}},
      {"plan --measure", {"plan", "@/study.yaml", "--trials", "2", "--measure"}},
      {"repeat", {"repeat", "@/ended#1", "--out", "@/again"}, "", true},
      {"status", {"status", "@/ended"}},
      {"status --json", {"status", "@/half", "--json"}},
      {"status of all", {"status"}},
      {"show", {"show", "@/ended"}},
      {"show --canonical", {"show", "@/ended", "--canonical"}},
      {"show #TRIAL", {"show", "@/ended#2"}},
      {"show --plan", {"show", "@/ended", "--plan"}, "ended"},
      {"report", {"report", "@/ended"}, "ended"},
      {"check", {"check", "@/study.yaml"}},
      {"check --schema", {"check", "--schema"}},
      {"check MODEL.onnx", {"check", "@/best/model.onnx"}},
      {"pause", {"pause", "@/half"}, "half"},
      {"stop", {"stop", "@/half", "1"}, "half"},
      {"predict", {"predict", "@/best", "@/rows.csv"}, "", true},
      {"predict --out", {"predict", "@/ended", "@/rows.csv", "--out", "@/predictions.csv"}, "", true},
      {"eval", {"eval", "@/best", "@/rows.csv"}, "", true},
      {"export of a model",
       {"export", "@/ended", "--onnx", "@/m.onnx", "--cpp", "@/m.cpp", "--safetensors", "@/m.st", "--package", "@/m"},
       "",
       true},
      {"export of a study",
       {"export", "@/ended", "--csv", "@/t.csv", "--jsonl", "@/t.jsonl", "--optuna", "@/t.log", "--trace", "@/t.json",
        "--measurements", "@/m.csv", "--tensorboard", "@/tb"}},
      {"data ls", {"data", "ls"}},
      {"data check", {"data", "check", "csv:@/rows.csv"}},
      {"data rows", {"data", "rows", "csv:@/rows.csv"}},
      {"data export",
       {"data", "export", "builtin:digits", "--part", "test", "--csv", "@/d.csv", "--npy", "@/npy", "--idx", "@/idx",
        "--folder", "@/pictures"}},
      {"doctor", {"doctor"}},
      {"completion", {"completion", "bash"}},
      {"man", {"man"}},
      {"--help", {"--help"}},
      {"--version", {"--version"}},
      {"an unknown verb", {"rnu"}},
  };
  return all;
}

bool make_fixtures(const std::string& lanista, const std::string& folder) {
  namespace fs = std::filesystem;
  write_file(folder + "/study.yaml", kStudy);
  write_file(folder + "/rows.csv", rows());
  const std::string ended = folder + "/ended";
  if (run({.command = {lanista, "run", folder + "/study.yaml", "--quiet", "--out", ended}, .seconds = 60}).code != 0) {
    return false;
  }
  copy_folder(ended + "/best", folder + "/best");
  copy_folder(ended, folder + "/half");
  fs::remove_all(folder + "/half/best");
  write_file(folder + "/half/log/000001.log", half_of(read_file(ended + "/log/000001.log")));
  copy_folder(ended, folder + "/studies/one");
  copy_folder(folder + "/half", folder + "/studies/two");
  return true;
}

}  // namespace lanista::campaign
