#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lanista::cli {

/// An option of a verb, for texts made from the command tree.
struct OptionText {
  std::vector<std::string> names;  ///< "--quiet", "-q"; a positional's one name
  bool positional = false;
  bool takes_value = false;  ///< whether the option needs a value
  std::string value;         ///< type and range of the value: "INT: 1 to 64"; empty: no value
  std::string help;
  std::vector<std::string> allowed;  ///< the only words that fit; empty: any
};

/// A verb, or a verb's own verb ("data check"), or with an empty path the program.
struct VerbText {
  std::vector<std::string> path;
  std::string help, footer;
  std::vector<OptionText> options;
  std::vector<std::string> verbs;  ///< names of those below it
};

/// The command tree in order, the program first.
std::vector<VerbText> command_text(const CLI::App& app);

}  // namespace lanista::cli
