#include "lanista/app/cli/stored_assessment.h"

#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/study_process.h"

namespace lanista::cli {
namespace {

using engine::testing::kFolder;

class StoredAssessment : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(runtime::testing::StudyProcess(disk_, {.folder = kFolder, .trials = 2}).run());
    view_ = *engine::fold(*store::read_log(disk_, kFolder));
    data_ = *data::open(view_.config.data, ".", real_file_system());
  }
  std::string file() { return *disk_.read(kFolder + "/assessment.json"); }
  Result<void> keep() { return write_assessment(disk_, kFolder, data_, true); }

  MemoryFileSystem disk_;
  study::StudyView view_;
  data::Dataset data_;
};

TEST_F(StoredAssessment, GivesSameBytesWhenRepeated) {
  EXPECT_FALSE(stored_assessment(disk_, kFolder, view_));
  ASSERT_TRUE(keep());
  const std::string first = file();
  ASSERT_TRUE(disk_.remove(kFolder + "/assessment.json"));
  ASSERT_TRUE(keep());
  EXPECT_EQ(file(), first);
  const auto kept = stored_assessment(disk_, kFolder, view_);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->trial, *view_.winner);
  EXPECT_EQ(kept->parts.size(), 2U);
}

TEST_F(StoredAssessment, ReplacesDamagedOrOutdatedFile) {
  ASSERT_TRUE(keep());
  const std::string whole = file();
  nlohmann::json other = nlohmann::json::parse(whole);
  other["weights_hash"] = "another";
  for (const std::string& text : {std::string("{"), other.dump(), std::string(2 << 20, ' ')}) {
    ASSERT_TRUE(write_atomically(disk_, kFolder + "/assessment.json", text));
    ASSERT_TRUE(keep());
    EXPECT_EQ(file(), whole);
  }
}

TEST_F(StoredAssessment, IgnoresDamagedFileOrOtherTrial) {
  ASSERT_TRUE(keep());
  study::StudyView other = view_;
  other.winner = TrialId{view_.winner->value == 1 ? 2U : 1U};
  EXPECT_FALSE(stored_assessment(disk_, kFolder, other));
  other.winner.reset();
  EXPECT_FALSE(stored_assessment(disk_, kFolder, other));
  ASSERT_TRUE(write_atomically(disk_, kFolder + "/assessment.json", std::string("[1, 2")));
  EXPECT_FALSE(stored_assessment(disk_, kFolder, view_));
}

TEST_F(StoredAssessment, ReportsMissingFile) {
  ASSERT_TRUE(disk_.remove(kFolder + "/best/package.json"));
  const auto kept = keep();
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace lanista::cli
