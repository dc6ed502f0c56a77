#include "lanista/exec/pipeline_parallel/stage_task.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "lanista/base/rng.h"

namespace lanista::runtime {
namespace {

StageTask random_task(Rng rng) {
  StageTask task;
  task.model = rng.bernoulli(0.5) ? "%0 = input(shape=[6]) \"a\\b\"\n" : "";
  task.step = {rng.bernoulli(0.5) ? "mse" : "cross_entropy", "adam"};
  task.build = "0.1 build 0123";
  task.isa = "avx2";
  task.stages.has_separate_memory = rng.bernoulli(0.5);
  task.precision = rng.bernoulli(0.5) ? Precision::kFloat64 : Precision::kFloat32;
  for (auto* field : {&task.shards, &task.accumulate}) *field = rng.between(1, 4096);
  task.max_batch = rng.between(1, std::int64_t{1} << 20);
  for (auto* field : {&task.bytes, &task.stages.rank_bytes}) *field = rng.between(0, std::int64_t{1} << 48);
  for (std::uint64_t i = 0; i < 1 + rng.below(4); ++i) {
    program::Stage stage{.nodes = {}, .micro_batches = rng.between(1, 9), .slots = rng.between(1, 9), .successors = {}};
    for (std::uint64_t n = rng.below(4); n > 0; --n) {
      stage.nodes.push_back(graph::NodeId{static_cast<std::uint32_t>(rng.below(std::uint64_t{1} << 32))});
      stage.successors.push_back(static_cast<std::uint32_t>(rng.below(100)));
    }
    task.stages.stages.push_back(stage);
    task.stages.ranks.emplace_back();
    for (std::uint64_t n = rng.below(6); n > 0; --n) {
      task.stages.ranks.back().push_back({static_cast<program::StagePass::Kind>(rng.below(4)),
                                          static_cast<std::uint32_t>(rng.below(9)),
                                          static_cast<std::uint32_t>(rng.below(9))});
    }
  }
  task.number = rng.below(std::uint64_t{1} << 40);
  task.rank = rng.below(task.stages.ranks.size());
  task.memory = "/proc/7/fd/9";
  task.digest = {rng.next(), rng.next()};
  return task;
}

TEST(StageTask, RoundTrips) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const StageTask task = random_task(Rng(3).split(i));
    const auto back = decode_stage_task(encode(task));
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(encode(*back), encode(task));
    EXPECT_TRUE(back->stages.stages == task.stages.stages && back->stages.ranks == task.stages.ranks);
    EXPECT_TRUE(back->step == task.step && back->digest == task.digest && back->precision == task.precision);
    EXPECT_EQ(back->number, task.number);
    EXPECT_EQ(back->rank, task.rank);
    EXPECT_EQ(back->stages.has_separate_memory, task.stages.has_separate_memory);
    EXPECT_EQ(back->build, task.build);
    EXPECT_EQ(back->model, task.model);
    EXPECT_EQ(back->accumulate, task.accumulate);
  }
}

TEST(StageTask, IsRefusedWhenMalformed) {
  const std::string good = encode(random_task(Rng(5)));
  for (std::size_t at = 0; at < good.size(); at += 7) {
    EXPECT_FALSE(decode_stage_task(good.substr(0, at)).ok()) << at;
  }
  const auto spoilt = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return decode_stage_task(text.replace(at, from.size(), to));
  };
  EXPECT_EQ(spoilt("\"place\":", "\"place\":77").error().code, Code::kDataLoss);
  EXPECT_EQ(spoilt("\"isa\"", "\"is\"").error().code, Code::kDataLoss);
  EXPECT_EQ(spoilt("\"nodes\":[", "\"nodes\":[-1,").error().code, Code::kDataLoss);
  EXPECT_EQ(spoilt("\"places\":[[", "\"places\":[[[4,0,0],").error().code, Code::kDataLoss);
}

TEST(StageTask, IsRefusedWhenANumberIsOutOfRange) {
  const auto refusal = [](const auto& spoil) {
    StageTask task = random_task(Rng(5));
    spoil(task);
    const auto back = decode_stage_task(encode(task));
    return back ? std::string("it is taken") : back.error().text();
  };
  for (const std::int64_t fault : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{1} << 50,
                                   std::numeric_limits<std::int64_t>::max()}) {
    const std::string value = std::to_string(fault) + "; allowed: ";
    const auto names = [&](const std::string& text, const char* key) {
      return text.find("'" + std::string(key) + "' is " + value) != std::string::npos;
    };
    EXPECT_TRUE(names(refusal([&](StageTask& task) { task.max_batch = fault; }), "max_batch"));
    EXPECT_TRUE(names(refusal([&](StageTask& task) { task.shards = fault; }), "shards"));
    EXPECT_TRUE(names(refusal([&](StageTask& task) { task.accumulate = fault; }), "accumulate"));
    EXPECT_TRUE(names(refusal([&](StageTask& task) { task.bytes = fault; }), "bytes"));
    EXPECT_TRUE(names(refusal([&](StageTask& task) { task.stages.rank_bytes = fault; }), "place_bytes"));
    EXPECT_TRUE(names(refusal([&](StageTask& task) { task.stages.stages[0].slots = fault; }), "slots"));
    EXPECT_TRUE(names(refusal([&](StageTask& task) { task.stages.stages[0].micro_batches = fault; }), "micro_batches"));
  }
  EXPECT_NE(refusal([](StageTask& task) { task.shards = 0; }), "it is taken");
}

}  // namespace
}  // namespace lanista::runtime
