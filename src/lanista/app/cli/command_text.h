#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lanista::cli {

/// An option of a verb, as completions and the manual show it.
struct OptionText {
  std::vector<std::string> names;    ///< "--quiet", "-q"; one name if positional
  bool positional = false;           ///< whether it has no dash
  bool takes_value = false;          ///< whether the option needs a value
  std::string value;                 ///< type and range of the value: "INT: 1 to 64"; empty: no value
  std::string help;                  ///< one sentence
  std::vector<std::string> allowed;  ///< the allowed words; empty: any text
};

/// A verb, or the program itself.
struct VerbText {
  std::vector<std::string> path;  ///< words of the verb: {"data", "check"}; empty: the program
  std::string help;               ///< one sentence
  std::string footer;             ///< examples
  std::vector<OptionText> options;
  std::vector<std::string> verbs;  ///< names of the verbs below it
};

/// The verbs of a command tree in order, the program first. Hidden verbs are left out.
std::vector<VerbText> command_text(const CLI::App& app);

}  // namespace lanista::cli
