#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "lanista/app/cli/command_text.h"
#include "lanista/app/cli/completion.h"
#include "lanista/app/cli/manual.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

std::string path_of(const VerbText& verb) {
  std::string text;
  for (const auto& word : verb.path) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The output of the verb's --help.
std::string help_of(CLI::App& tree, const VerbText& verb) {
  CLI::App* app = &tree;
  for (const auto& word : verb.path) app = app->get_subcommand(word);
  return app->help();
}

class Command : public ::testing::Test {
 protected:
  int code_ = 0;
  std::unique_ptr<CLI::App> tree_ = command_tree(code_);
  std::vector<VerbText> verbs_ = command_text(*tree_);
};

TEST_F(Command, HelpOfEachVerbFitsOneScreen) {
  for (const auto& verb : verbs_) {
    if (path_of(verb) == "bench") continue;  // a separate program
    const std::string help = help_of(*tree_, verb);
    EXPECT_FALSE(verb.help.empty()) << path_of(verb);
    EXPECT_NE(help.find("examples:"), std::string::npos) << path_of(verb);
    EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 40) << path_of(verb);
    for (const auto& option : verb.options)
      EXPECT_FALSE(option.help.empty()) << path_of(verb) << " " << option.names[0];
  }
}

TEST_F(Command, TextsListExactlyTheOptionsOfHelp) {
  for (const auto& verb : verbs_) {
    std::set<std::string> in_help, in_text;
    std::istringstream words(help_of(*tree_, verb).substr(0, help_of(*tree_, verb).find("examples:")));
    for (std::string word; words >> word;) {
      for (std::size_t comma; (comma = word.find(',')) != std::string::npos; word = word.substr(comma + 1)) {
        if (word.starts_with("-")) in_help.insert(word.substr(0, comma));
      }
      if (word.starts_with("--") || (word.size() == 2 && word[0] == '-')) in_help.insert(word);
    }
    for (const auto& option : verb.options) {
      if (!option.positional) in_text.insert(option.names.begin(), option.names.end());
    }
    EXPECT_EQ(in_text, in_help) << path_of(verb);
  }
}

TEST_F(Command, EachShellCompletesAllVerbsAndOptions) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(*tree_, shell);
    for (const auto& verb : verbs_) {
      if (!verb.path.empty()) {
        EXPECT_NE(script.find(verb.path.back()), std::string::npos) << shell;
      }
      for (const auto& option : verb.options) {
        if (option.positional) continue;
        const std::string name = shell == "fish" ? "-l " + option.names[0].substr(2) : option.names[0];
        EXPECT_NE(script.find(name), std::string::npos) << shell << " " << path_of(verb) << " " << name;
      }
    }
  }
}

TEST_F(Command, ManualHasSectionForEachVerb) {
  const std::string manual = manual_page(*tree_);
  for (const auto& verb : verbs_) {
    if (verb.path.empty()) continue;
    EXPECT_NE(manual.find(".SS \"" + path_of(verb) + "\"\n"), std::string::npos) << path_of(verb);
  }
  EXPECT_EQ(manual.rfind(".TH LANISTA 1", 0), 0U);
}

}  // namespace
}  // namespace lanista::cli
