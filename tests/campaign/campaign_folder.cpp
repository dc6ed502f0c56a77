#include "campaign/campaign_folder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lanista/base/digest.h"

namespace lanista::campaign {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBlobs = R"yaml(
name: blobs
model: {base: builtin:small-mlp}
space: {mutate: [widen, swap_op, deepen], params: {lr: log(0.01, 0.3), momentum: [0, 0.9]}}
train: {epochs: 6}
data: {source: "synthetic:blobs?rows=400&classes=3&features=6&seed=1", batch: 16}
strategy: {name: evolution, population: 4, slots: 4}
stop: {rule: asha, rungs: [1, 3]}
budget: {trials: 14}
keep: {top: 2, checkpoint_every: 0s}
)yaml";

constexpr const char* kTable = R"yaml(
name: table
model: {base: builtin:small-mlp}
space: {params: {lr: log(0.01, 0.3), optimizer: [sgd, adam], batch: [8, 16]}}
train: {epochs: 5}
data: {source: "csv:rows.csv?target=y", batch: 16}
strategy: {name: tpe, slots: 3, repeat: 2}
budget: {trials: 12}
keep: {top: 3, checkpoint_every: 0.01s}
)yaml";

constexpr const char* kDigits = R"yaml(
name: digits
model: {base: builtin:small-cnn}
space: {mutate: [widen, add_skip, remove], params: {lr: log(0.001, 0.1)}}
train: {epochs: 2}
strategy: {name: nsga2, population: 4, slots: 4}
goal: [maximize val_accuracy, minimize params]
budget: {trials: 8}
keep: {top: 2, checkpoint_every: 0.02s}
)yaml";

constexpr std::array kStudies{kBlobs, kTable, kDigits};

std::string rows() {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 160; ++i) {
    text += std::to_string(i % 17) + "," + std::to_string(i * i % 23) + "," + std::to_string(i % 17 + i % 3) + "\n";
  }
  return text;
}

}  // namespace

CampaignFolder::CampaignFolder() {
  const char* asked = std::getenv("TMPDIR");
  const char* otherwise = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";  // fsync in memory returns at once
  std::string name = std::string(asked != nullptr ? asked : otherwise) + "/campaign-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  fs::permissions(name, fs::perms::all);  // for users without rights
  folder_ = name;
}

CampaignFolder::~CampaignFolder() { remove_all(folder_); }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void copy_folder(const std::string& from, const std::string& to) {
  remove_all(to);
  fs::create_directories(fs::absolute(to).parent_path());
  fs::copy(from, to, fs::copy_options::recursive);
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string fingerprint(const std::string& lanista, const std::string& study) {
  const ProcessResult shown = run({.command = {lanista, "show", study, "--canonical"}});
  if (shown.code != 0 || shown.signal != 0 || shown.is_timed_out || shown.output.empty()) return "";
  const std::string weights = read_file(study + "/best/weights.safetensors");
  return shown.output + "weights " + hash_bytes(std::as_bytes(std::span(weights))).hex();
}

std::size_t kinds_of_small_studies() { return kStudies.size(); }

std::vector<std::string> small_study(const std::string& lanista, const CampaignFolder& campaign_folder,
                                     std::size_t number, const std::string& folder) {
  number %= kStudies.size();
  const std::string file = campaign_folder.path("study-" + std::to_string(number) + ".yaml");
  if (!fs::exists(file)) {
    write_file(file, kStudies[number]);
    write_file(campaign_folder.path("rows.csv"), rows());
  }
  return {lanista, "run", file, "--quiet", "--out", folder};
}

std::string first_line(const std::string& text, std::size_t most) {
  return text.substr(0, std::min(text.find('\n'), most));
}

void CheckCounts::count_failure(const std::string& what, const ProcessResult* ended) {
  ++failed_;
  std::printf("FAILED: %s\n", what.c_str());
  if (ended != nullptr) std::printf("  exit %d: %s\n", ended->code, first_line(ended->errors).c_str());
  std::fflush(stdout);
}

void CheckCounts::take(const std::string& what, const std::string& wrong, const ProcessResult* ended) {
  if (wrong.empty()) return count_success();
  count_failure(what + ": " + wrong, ended);
}

}  // namespace lanista::campaign
