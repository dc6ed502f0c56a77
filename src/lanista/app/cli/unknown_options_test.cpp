#include "lanista/app/cli/unknown_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/app/cli/verbs.h"
#include "lanista/io/studyfile/foreign_words.h"

namespace lanista::cli {
namespace {

/// The text for a command line with unknown options.
std::string text_of(std::vector<std::string> arguments) {
  int code = 0;
  const auto app = command_tree(code);
  std::ranges::reverse(arguments);
  try {
    app->parse(arguments);
  } catch (const CLI::ParseError&) {
    return unknown_options_text(*app);
  }
  return "accepted";
}

TEST(UnknownOptions, NamesNearestOption) {
  EXPECT_EQ(text_of({"run", "--epoch", "3"}),
            "lanista: lanista run has no option '--epoch'; did you mean '--epochs'?\n");
  EXPECT_EQ(text_of({"run", "--Trials=3"}),
            "lanista: lanista run has no option '--Trials'; did you mean '--trials'?\n");
  EXPECT_EQ(text_of({"zoo", "match", "--wieghts"}).find("lanista: lanista zoo match has no option"), 0U);
}

TEST(UnknownOptions, LeadsFromWordsOfOtherTools) {
  EXPECT_EQ(text_of({"run", "--learning-rate", "0.1"}),
            "lanista: lanista run has no option '--learning-rate'; the learning rate is train.lr, for instance --set "
            "train.lr=0.01\n");
  EXPECT_EQ(text_of({"run", "--n_trials=20"}),
            "lanista: lanista run has no option '--n_trials'; the number of trials is --trials, for instance --trials "
            "60\n");
  EXPECT_EQ(text_of({"resume", "studies/digits-1", "--lr=0.1"}),
            "lanista: lanista resume has no option '--lr'; the learning rate is train.lr, for instance --set "
            "train.lr=0.01\n");
  EXPECT_EQ(text_of({"status", "--seed=1"}),
            "lanista: lanista status has no option '--seed'; the seed of everything random is run.seed of a study, for "
            "instance lanista run --set run.seed=1\n");
}

TEST(UnknownOptions, NamesSettingOfTheStudy) {
  EXPECT_EQ(text_of({"run", "--train.lr", "0.1"}),
            "lanista: lanista run has no option '--train.lr'; it is a setting of the study: --set train.lr=VALUE\n");
  EXPECT_EQ(text_of({"run", "--all_rows_at=3"}),
            "lanista: lanista run has no option '--all_rows_at'; it is a setting of the study: --set "
            "train.all_rows_at=VALUE\n");
}

TEST(UnknownOptions, NamesHelpForAnythingElse) {
  EXPECT_EQ(text_of({"run", "--zzz"}),
            "lanista: lanista run has no option '--zzz'; lanista run --help lists all options\n");
  EXPECT_EQ(text_of({"run", "a.yaml", "b.yaml"}), "") << "an argument, no option";
}

TEST(UnknownOptions, TableHasOptionsOfRun) {
  for (const studyfile::ForeignSetting& setting : studyfile::foreign_settings()) {
    if (setting.option.empty()) continue;
    int code = 0;
    const auto app = command_tree(code);
    const std::string name(setting.option.substr(0, setting.option.find(' ')));
    EXPECT_NE(app->get_subcommand("run")->get_option_no_throw(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace lanista::cli
