#include "lanista/app/cli/load.h"

#include <filesystem>

#include "lanista/base/file_system.h"
#include "lanista/base/parse_number.h"
#include "lanista/engine/core/engine.h"

namespace lanista::cli {
namespace {

Result<TrialId> pick_trial(const study::StudyView& view, const Target& target) {
  if (target.trial.empty() || target.trial == "best") {
    const auto ranked = study::ranking(view);
    if (ranked.empty()) return Error{Code::kNotFound, "no trial has finished yet", target.folder};
    return ranked.front();
  }
  const auto id = parse_number<std::uint32_t>(target.trial);
  if (id && *id > 0 && *id <= view.trials.size()) return TrialId{*id};
  return Error{Code::kNotFound,
               "there is no trial '" + target.trial + "'; allowed are best and a number; the study has " +
                   (view.trials.empty() ? "none" : "trials 1 to " + std::to_string(view.trials.size())),
               target.folder};
}

}  // namespace

std::string folder_of(const std::string& file) {
  const std::string parent = std::filesystem::path(file).parent_path().string();
  return parent.empty() ? "." : parent;
}

Result<study::StudyView> load_study(const std::string& folder) {
  LANISTA_ASSIGN(const auto records, store::read_log(real_file_system(), folder));
  return replay_log(records, folder);
}

Result<study::StudyView> replay_log(const std::vector<store::Record>& records, const std::string& folder) {
  auto view = engine::fold(records);
  if (view) return view;
  Error error = view.error();
  error.where = folder + "/" + (error.where.empty() ? "log" : error.where);  // "log, record 3"
  return error;
}

Target parse_target(const std::string& text) {
  const auto hash = text.rfind('#');
  // The name of a folder may contain '#', too.
  const bool is_folder = hash == std::string::npos || text.find('/', hash) != std::string::npos ||
                         (!real_file_system().exists(text.substr(0, hash)) && real_file_system().exists(text));
  if (is_folder) return {text, false, ""};
  return {text.substr(0, hash), true, text.substr(hash + 1)};
}

Result<LoadedTrial> load_trial(const std::string& target) {
  const Target parsed = parse_target(target);
  LoadedTrial out;
  out.folder = parsed.folder;
  out.ops = graph::builtin_ops();  // g++ 12 destroys members twice if a braced list throws
  LANISTA_ASSIGN(out.view, load_study(parsed.folder));
  LANISTA_ASSIGN(const TrialId id, pick_trial(out.view, parsed));
  out.index = id.value - 1;
  LANISTA_ASSIGN(out.model, study::trial_model(out.view, out.trial(), out.ops));
  return out;
}

std::string LoadedTrial::base_name() const {
  return view.models[static_cast<std::size_t>(trial().proposal.base)].value("name", "");
}

}  // namespace lanista::cli
