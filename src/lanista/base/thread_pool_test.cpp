#include "lanista/base/thread_pool.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lanista {
namespace {

class ThreadPoolOfSize : public testing::TestWithParam<std::size_t> {};

TEST_P(ThreadPoolOfSize, RunsEveryIndexOnce) {
  ThreadPool pool(GetParam());
  for (const std::size_t count : {0u, 1u, 2u, 3u, 100u}) {
    std::vector<int> hits(count);  // plain ints: each index has one writer, and the caller reads after
    pool.for_each_index(count, [&](std::size_t i) { ++hits[i]; });
    EXPECT_EQ(hits, std::vector<int>(count, 1));
  }
}

TEST_P(ThreadPoolOfSize, PlacesIndicesByRemainder) {
  ThreadPool pool(GetParam());
  std::vector<std::thread::id> first(20), second(20);
  pool.for_each_index(20, [&](std::size_t i) { first[i] = std::this_thread::get_id(); });
  pool.for_each_index(20, [&](std::size_t i) { second[i] = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 20; ++j) EXPECT_EQ(first[i] == first[j], i % pool.size() == j % pool.size());
  }
}

TEST_P(ThreadPoolOfSize, RethrowsTheLowestIndexAfterAllHaveRun) {
  ThreadPool pool(GetParam());
  std::atomic<int> ran = 0;
  try {
    pool.for_each_index(50, [&](std::size_t i) {
      ++ran;
      if (i == 31 || i == 12 || i == 47) throw std::runtime_error(std::to_string(i));
    });
    FAIL() << "did not throw";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "12");
  }
  EXPECT_EQ(ran, 50);
  pool.for_each_index(3, [&](std::size_t) { ++ran; });  // and the pool lives on
  EXPECT_EQ(ran, 53);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolOfSize, testing::Values(0, 1, 2, 3, 8));

TEST(ThreadPool, SizeIsAtLeastOne) {
  EXPECT_EQ(ThreadPool(0).size(), 1u);
  EXPECT_EQ(ThreadPool(1).size(), 1u);
  EXPECT_EQ(ThreadPool(4).size(), 4u);
}

TEST(ThreadPool, OneThreadRunsOnTheCaller) {
  ThreadPool pool(1);
  pool.for_each_index(1, [](std::size_t) {});
  std::thread::id id;
  pool.for_each_index(1, [&](std::size_t) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(ThreadPool, ManyShortRoundsNeitherHangNorMiss) {
  ThreadPool pool(3);
  std::vector<int> sums(5);
  for (int round = 0; round < 2000; ++round) pool.for_each_index(5, [&](std::size_t i) { ++sums[i]; });
  EXPECT_EQ(sums, std::vector<int>(5, 2000));
}

}  // namespace
}  // namespace lanista
