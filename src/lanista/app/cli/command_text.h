#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lanista::cli {

/// An option of a verb, as completions and the manual show it.
struct OptionText {
  std::vector<std::string> names;  ///< "--quiet", "-q"; one name if positional.
  bool positional = false;         ///< True: it has no dash and is found by its position.
  bool takes_value = false;        ///< True: the option needs a value; always false if positional.
  std::string value;  ///< Type and range of the value, "INT: 1 to 64", or its allowed values; empty: no value.
  std::string help;   ///< Purpose in one sentence.
  std::vector<std::string> allowed;  ///< The fixed set of allowed values; empty: there is no such set.
};

/// A verb, or the program itself.
struct VerbText {
  std::vector<std::string> path;    ///< Words of the verb: {"data", "check"}; empty: the program.
  std::string help;                 ///< Purpose in one sentence.
  std::string footer;               ///< Text with examples, at the end of the help.
  std::vector<OptionText> options;  ///< Options and positional arguments of the verb.
  std::vector<std::string> verbs;   ///< Names of the verbs directly below it.
};

/// Returns the verbs of a command tree, the program first, then each verb before those below it. Hidden verbs are left
/// out.
std::vector<VerbText> command_text(const CLI::App& app);

}  // namespace lanista::cli
