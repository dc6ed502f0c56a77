// Messages for mistakes with a likely meaning, and defaults of settings that are not given.
#include <gtest/gtest.h>

#include "lanista/io/studyfile/study_file.h"
#include "support/io/studyfile/test_support.h"

namespace lanista::studyfile {
namespace {

using testing::errors_of;

TEST(ErrorHints, NamesFullKeyOfUniqueOtherSection) {
  EXPECT_EQ(
      errors_of("seed: 3"),
      "s.yaml:1:1: seed: unknown key 'seed'; the seed of everything random is run.seed, for instance run: {seed: 1}");
  EXPECT_EQ(errors_of("train: {batch: 16}"),
            "s.yaml:1:9: train.batch: unknown key 'batch'; the number of samples in a training step is data.batch, for "
            "instance data: {batch: 32}");
  EXPECT_EQ(errors_of("mutate: [widen]"),
            "s.yaml:1:1: mutate: unknown key 'mutate' here; it is space.mutate; write space: {mutate: …}");
  EXPECT_EQ(errors_of("population: 9"),
            "s.yaml:1:1: population: unknown key 'population' here; it is strategy.population; write strategy: "
            "{population: …}");
  EXPECT_EQ(errors_of("train: {goal: minimize val_loss}"),
            "s.yaml:1:9: train.goal: unknown key 'goal'; what is optimised is goal at the top level, for instance "
            "goal: maximize val_accuracy");
  EXPECT_EQ(errors_of("train: {implied: none}"),
            "s.yaml:1:9: train.implied: unknown key 'implied' here; it is at the top level");
  // Two sections have this key, so the message does not choose one.
  EXPECT_EQ(errors_of("steps: 3").find("here; it is"), std::string::npos) << errors_of("steps: 3");
  EXPECT_NE(errors_of("steps: 3").find("unknown key 'steps'; "), std::string::npos) << errors_of("steps: 3");
}

TEST(ErrorHints, SuggestQuotesForSourceWithBraces) {
  EXPECT_EQ(errors_of("name: a\ndata: {source: csv:x?target=y, batch: 3}"),
            "s.yaml:2:21: is not YAML: a text with a '?' needs quotes here; quote the source: \"csv:x?target=y\"");
  EXPECT_EQ(errors_of("data: {source: \"csv:x?target=y\", batch: 3}"), "");
  EXPECT_EQ(errors_of("data:\n  source: csv:x?target=y"), "");
}

TEST(StudyName, DefaultsToSourceName) {
  const auto name = [](const std::string& text) { return read_study(text, "s.yaml")->name; };
  EXPECT_EQ(name(""), "digits");
  EXPECT_EQ(name("data: {source: \"csv:own/points.csv.gz?target=kind\"}"), "points");
  EXPECT_EQ(name("name: mine\ndata: {source: \"csv:points.csv\"}"), "mine");
  EXPECT_EQ(read_study(default_study(), "default", {{"data.source", "csv:flats.csv"}})->name, "flats");

  EXPECT_EQ(default_study_name("npy:a/x_train.npy,a/y.npy"), "x-train");
  EXPECT_EQ(default_study_name("folder:pictures/cats and dogs/"), "cats-and-dogs");
  EXPECT_EQ(default_study_name("synthetic:spirals?rows=9"), "spirals");
  EXPECT_EQ(default_study_name("csv:../\xc3\xa9t\xc3\xa9\x1b[31m.csv"), "t-31m");
  EXPECT_EQ(default_study_name("csv:..."), "csv");
  EXPECT_EQ(default_study_name("csv:" + std::string(300, 'a')).size(), 40U);
  // Any result must be a valid name of a study.
  for (const char* source : {"", ":", "?", "csv:", "csv:-.csv", "\xff", "???:?", "a,b"}) {
    EXPECT_TRUE(read_study("name: " + default_study_name(source), "s.yaml").ok()) << source;
  }
}

}  // namespace
}  // namespace lanista::studyfile
