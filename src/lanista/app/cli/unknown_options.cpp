#include "lanista/app/cli/unknown_options.h"

#include <algorithm>
#include <set>
#include <vector>

#include "lanista/app/cli/terminal.h"
#include "lanista/base/edit_distance.h"
#include "lanista/io/studyfile/foreign_words.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::cli {
namespace {

using studyfile::ForeignSetting;

constexpr const char* kSet = "set";

std::vector<std::string> long_names(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The name of an option: "epochs" of "--epochs 9".
std::string name_of(std::string_view option) {
  const std::size_t begin = std::min(option.find_first_not_of('-'), option.size());
  return std::string(option.substr(begin, option.find_first_of(" =", begin) - begin));
}

std::string meant_text(const ForeignSetting& setting, const std::vector<std::string>& known) {
  const bool has_own = !setting.option.empty() && has(known, name_of(setting.option));
  const std::string what = std::string(setting.what) + " ";
  if (has_own) return what + "--" + name_of(setting.option) + ", for instance " + std::string(setting.option);
  if (setting.key.empty()) return what + "an option of another verb: " + example_option(setting, false);
  const std::string key(setting.key);
  if (has(known, kSet)) return what + key + ", for instance " + example_option(setting, false);
  return what + key + " of a study, for instance lanista run " + example_option(setting, false);
}

/// The setting of the study file that an option names: "train.lr", or "memory_gib" for run.memory_gib.
std::string key_meant(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const std::set<std::string> keys = studyfile::full_keys(dot == std::string::npos ? name : name.substr(dot + 1));
  if (dot != std::string::npos) return keys.contains(name) ? name : "";
  return keys.size() == 1 ? *keys.begin() : "";
}

std::string advice(const std::string& name, const std::vector<std::string>& known, const std::string& command) {
  const std::string near = nearest_name(name, known);
  const std::string did_you_mean = near.empty() ? "" : "did you mean '--" + near + "'?";
  if (!near.empty() && edit_distance(name, near) <= 1) return did_you_mean;
  std::string text;
  for (const ForeignSetting& each : studyfile::settings_meant_by(name)) {
    text += (text.empty() ? "" : "; ") + meant_text(each, known);
  }
  if (!text.empty()) return text;
  if (const std::string key = key_meant(name); !key.empty()) {
    return "it is a setting of the study: " + std::string(has(known, kSet) ? "" : "lanista run ") + "--set " + key +
           "=VALUE";
  }
  return did_you_mean.empty() ? command + " --help lists all options" : did_you_mean;
}

}  // namespace

std::string unknown_options_text(const CLI::App& app) {
  const CLI::App* verb = &app;
  std::string command = "lanista";
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    command += " " + verb->get_name();
  }
  const std::vector<std::string> known = long_names(*verb);
  std::string text;
  for (const std::string& argument : verb->remaining()) {
    const std::string name = name_of(argument);
    if (!argument.starts_with("-") || name.empty()) continue;
    const std::string option = argument.substr(0, argument.find('='));
    text +=
        "lanista: " + command + " has no option '" + printable(option) + "'; " + advice(name, known, command) + "\n";
  }
  return text;
}

}  // namespace lanista::cli
