#include "lanista/engine/forecast/cluster_file.h"

#include <gtest/gtest.h>

namespace lanista::engine {
namespace {

std::string mistakes_in(const std::string& text) {
  const auto read = read_cluster(text, "c.yaml");
  return read ? "" : read.error().text();
}

TEST(ClusterFile, ReadsEveryField) {
  const auto read = read_cluster(
      "workers: 8\nshares: 2\nwidest: 3\nmemory_mb: 16000\nreserve: 0.1\ninterference: 0.05\nbusy: 0.5\nserial: 0.2\n"
      "resize_seconds: 1.5\n",
      "c.yaml");

  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->cluster.workers, 8);
  EXPECT_EQ(read->cluster.shares, 2);
  EXPECT_EQ(read->cluster.widest, 3);
  EXPECT_DOUBLE_EQ(read->cluster.usable_memory(), 1.44e10);
  EXPECT_DOUBLE_EQ(read->cluster.interference, 0.05);
  EXPECT_DOUBLE_EQ(read->busy_fraction, 0.5);
  EXPECT_DOUBLE_EQ(read->serial_fraction, 0.2);
  EXPECT_DOUBLE_EQ(read->resize_seconds, 1.5);
}

TEST(ClusterFile, ReportsEveryErrorWithItsLocation) {
  EXPECT_EQ(mistakes_in("workers: -2\nshares: 3\n"),
            "c.yaml:1:10: workers: -2 is not allowed; a whole number from 1 to 10000 is\n"
            "c.yaml:2:9: shares: 3 is not allowed; a power of two from 1 to 64 is");
  EXPECT_NE(mistakes_in("workers: 0\n").find("c.yaml:1:10: workers: 0"), std::string::npos);
  EXPECT_NE(mistakes_in("workers: 1.5\n").find("1.5 is not allowed"), std::string::npos);
  EXPECT_NE(mistakes_in("workers: many\n").find("\"many\" is not allowed"), std::string::npos);
  EXPECT_NE(mistakes_in("worker: 4\n").find("workers"), std::string::npos);
  EXPECT_NE(mistakes_in("shares: 2\n").find("workers: is missing"), std::string::npos);
  EXPECT_NE(mistakes_in("- 4\n").find("is a mapping"), std::string::npos);
  EXPECT_NE(mistakes_in("workers: 1\nmemory_mb: .nan\n").find("memory_mb"), std::string::npos);
  EXPECT_NE(mistakes_in("workers: 1\nworkers: 2\n"), "");
  EXPECT_NE(mistakes_in("workers: [1\n"), "");
}

}  // namespace
}  // namespace lanista::engine
