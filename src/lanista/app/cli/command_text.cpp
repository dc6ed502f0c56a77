#include "lanista/app/cli/command_text.h"

#include <algorithm>

namespace lanista::cli {
namespace {

// CLI11 keeps the members of IsMember only in its description: "{bash,zsh,fish}".
std::vector<std::string> allowed_words(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  const auto open = text.find('{'), close = text.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return CLI::detail::split(text.substr(open + 1, close - open - 1), ',');
}

/// "TEXT", "INT: 1 to 64", or "bash, zsh, fish".
std::string value_text(const CLI::Option& option) {
  std::string text;
  for (const std::string& word : allowed_words(option)) text += (text.empty() ? "" : ", ") + word;
  if (!text.empty()) return text;
  text = option.get_type_name();
  const auto colon = text.find(':');
  return colon == std::string::npos ? text : text.substr(0, colon) + ": " + text.substr(colon + 1);
}

OptionText option_text(const CLI::Option& option) {
  OptionText out;
  out.positional = !option.nonpositional();
  for (const auto& name : option.get_lnames()) out.names.push_back("--" + name);
  for (const auto& name : option.get_snames()) out.names.push_back("-" + name);
  if (out.positional) out.names = {option.get_name(true)};
  out.takes_value = !out.positional && option.get_items_expected_max() > 0;
  if (option.get_items_expected_max() > 0) out.value = value_text(option);
  out.help = option.get_description();
  out.allowed = allowed_words(option);
  return out;
}

void collect_verbs(const CLI::App& app, const std::vector<std::string>& path, std::vector<VerbText>& out) {
  VerbText verb{.path = path, .help = app.get_description(), .footer = app.get_footer(), .options = {}, .verbs = {}};
  for (const CLI::Option* option : app.get_options()) verb.options.push_back(option_text(*option));
  auto below = app.get_subcommands(nullptr);
  std::erase_if(below, [](const CLI::App* each) { return each->get_group().empty(); });  // no verbs for people
  for (const CLI::App* each : below) verb.verbs.push_back(each->get_name());
  out.push_back(std::move(verb));
  for (const CLI::App* each : below) {
    auto deeper = path;
    deeper.push_back(each->get_name());
    collect_verbs(*each, deeper, out);
  }
}

}  // namespace

std::vector<VerbText> command_text(const CLI::App& app) {
  std::vector<VerbText> out;
  collect_verbs(app, {}, out);
  return out;
}

}  // namespace lanista::cli
