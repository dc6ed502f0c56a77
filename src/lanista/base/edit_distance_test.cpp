#include "lanista/base/edit_distance.h"

#include <gtest/gtest.h>

#include <vector>

namespace lanista {
namespace {

TEST(EditDistance, CountsSingleEdits) {
  EXPECT_EQ(edit_distance("linear", "linear"), 0u);
  EXPECT_EQ(edit_distance("linear", "lineer"), 1u);
  EXPECT_EQ(edit_distance("linear", "linera"), 1u);
  EXPECT_EQ(edit_distance("linear", "inear"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

TEST(EditDistance, IsSymmetric) {
  EXPECT_EQ(edit_distance("max_pool2d", "maxpool"), edit_distance("maxpool", "max_pool2d"));
}

TEST(NearestName, FindsIntendedName) {
  const std::vector<std::string> names = {"add", "conv2d", "linear", "max_pool2d", "relu"};

  EXPECT_EQ(nearest_name("lineer", names), "linear");
  EXPECT_EQ(nearest_name("conv", names), "conv2d");
  EXPECT_EQ(nearest_name("maxpool", names), "max_pool2d");
  EXPECT_EQ(nearest_name("adds", names), "add");
}

TEST(NearestName, PrefersUniquePrefixMatch) {
  const std::vector<std::string> names = {"last", "best_epoch", "epochs"};

  EXPECT_EQ(nearest_name("best", names), "best_epoch");
  EXPECT_EQ(nearest_name("lost", names), "last") << "a slip away";
  EXPECT_EQ(nearest_name("ep", names), "") << "two letters begin too much";
  EXPECT_EQ(nearest_name("cas", std::vector<std::string>{"case_a", "case_b", "cast"}), "cast")
      << "a slip; three words have this beginning";
}

TEST(NearestName, ReturnsEmptyWithoutNearName) {
  const std::vector<std::string> names = {"add", "conv2d", "linear"};

  EXPECT_EQ(nearest_name("transformer", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(65, 'a'), names), "");
  EXPECT_EQ(nearest_name("linear", std::vector<std::string>{}), "");
}

TEST(NearestName, FindsNameOfOtherCase) {
  const std::vector<std::string> names{"a", "b", "species", "SPECIAL"};
  EXPECT_EQ(nearest_name("B", names), "b");
  EXPECT_EQ(nearest_name("SPECIES", names), "species");
  EXPECT_EQ(nearest_name("Special", names), "SPECIAL");
  EXPECT_EQ(nearest_name("AB", std::vector<std::string>{"ab", "Ab"}), "Ab") << "two names: the nearer one";
}

TEST(NearestName, ReturnsFirstOfTies) { EXPECT_EQ(nearest_name("bat", std::vector<std::string>{"cat", "hat"}), "cat"); }

}  // namespace
}  // namespace lanista
