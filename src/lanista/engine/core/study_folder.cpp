#include "lanista/engine/core/study_folder.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "lanista/base/frame.h"
#include "lanista/io/store/log.h"

namespace lanista::engine {
namespace {

constexpr std::string_view kReadmeText =
    "This folder is a study of lanista.\n"
    "\n"
    "  log/                   all decisions and measurements, append-only\n"
    "  config.resolved.yaml   the study file with all defaults written out, input for `lanista run`\n"
    "  ckpt/                  weights of the best trials and checkpoints of running ones (safetensors)\n"
    "  best/                  the winner: model.graph, weights.safetensors, package.json\n"
    "  assessment.json        how the winner predicts the validation rows, for the report (contains some targets)\n"
    "  control/               requests: an empty file `pause`, `stop` or `stop-trial-<n>` here\n"
    "\n"
    "Resume after a pause, a crash or a kill:   lanista resume <this folder>\n"
    "Show it:                                   lanista show <this folder>\n"
    "The folder may be moved and copied while no process works on it.\n";

bool has_records(FileSystem& fs, const std::string& folder) {
  const auto records = store::read_log(fs, folder);
  return records ? !records->empty() : records.error().code != Code::kNotFound;
}

/// Whether a file without a complete record may be the beginning of a log: a torn header record, or bytes that a power
/// loss left. Other text is a file of the user.
bool may_be_torn_log(std::string_view bytes) {
  if (std::ranges::all_of(bytes, [](char c) { return c == 0; })) return true;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  // Too few bytes to decide exactly: text has no control characters, the length of a record often has.
  const auto is_control = [](char c) { return c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r'; };
  if (bytes.size() < 4) return std::ranges::any_of(bytes, is_control);
  constexpr std::array<unsigned, 5> kRest{0, static_cast<unsigned>(store::RecordType::kHeader), 0, 0,
                                          0};  // from byte 3
  for (std::size_t at = 3; at < std::min(bytes.size(), kFrameHeader); ++at) {
    if (byte(at) != kRest[at - 3]) return false;
  }
  return true;
}

}  // namespace

Result<void> check_new_folder(FileSystem& fs, const std::string& folder) {
  if (!fs.exists(folder)) return {};
  if (has_records(fs, folder)) {
    return Error{Code::kAlreadyExists, "a study is already there; continue it with: lanista resume " + folder, folder};
  }
  if (const auto log = fs.read(folder + "/log/000001.log"); log && !may_be_torn_log(*log)) {
    return Error{Code::kAlreadyExists, "is a file that is no log of a study; choose another folder for the study",
                 folder + "/log/000001.log"};
  }
  LANISTA_ASSIGN(const std::vector<std::string> names, fs.list(folder));
  static const std::set<std::string, std::less<>> kOurs{"log", "ckpt", "control", "README.txt", "config.resolved.yaml"};
  const bool is_own_file = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    const bool temporary = name.starts_with("README.txt") || name.starts_with("config.resolved.yaml");
    return temporary || kOurs.contains(name);
  });
  if (!is_own_file) {
    return Error{Code::kAlreadyExists, "the folder exists and is not empty; choose another one for the study", folder};
  }
  return {};
}

Result<void> check_own_paths(FileSystem& fs, const std::string& folder) {
  constexpr std::array kFolders{"log", "ckpt", "control", "best", "best/members"};
  constexpr std::array kFiles{"log/lock",
                              "log/000001.log",
                              "control/crash.marks",
                              "config.resolved.yaml",
                              "README.txt",
                              "assessment.json",
                              "report.html",
                              "best/package.json",
                              "best/model.graph",
                              "best/model.onnx",
                              "best/weights.safetensors"};
  const auto check = [&](const std::string& name, FileKind allowed, const std::string& allowed_text) -> Result<void> {
    const std::string path = folder + "/" + name;
    const FileKind kind = fs.kind(path);
    if (kind == allowed || kind == FileKind::kNothing) return {};
    const std::string found = kind == FileKind::kLink     ? "a symbolic link"
                              : kind == FileKind::kFolder ? "a folder"
                              : kind == FileKind::kFile   ? "a file"
                                                          : "a FIFO, a socket, a device or another user's file";
    return Error{Code::kDataLoss, "is " + found + "; allowed in a study: " + allowed_text, path};
  };
  for (const char* name : kFolders) LANISTA_TRY(check(name, FileKind::kFolder, "a folder"));
  for (const char* name : kFiles) LANISTA_TRY(check(name, FileKind::kFile, "a regular file of this user"));
  return {};
}

Result<void> create_study_layout(FileSystem& fs, const std::string& folder, const std::string& config_text) {
  for (const char* name : {"/control", "/ckpt"}) LANISTA_TRY(make_durable_folder(fs, folder + name));
  for (const char* name : {"", "/control", "/best", "/best/members"}) LANISTA_TRY(remove_leftovers(fs, folder + name));
  if (!fs.exists(folder + "/config.resolved.yaml")) {
    LANISTA_TRY(write_atomically(fs, folder + "/config.resolved.yaml", config_text));
  }
  if (!fs.exists(folder + "/README.txt")) LANISTA_TRY(write_atomically(fs, folder + "/README.txt", kReadmeText));
  return {};
}

}  // namespace lanista::engine
