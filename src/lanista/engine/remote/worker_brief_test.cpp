#include "lanista/engine/remote/worker_brief.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/rng.h"

namespace lanista::engine {
namespace {

class Draw {
 public:
  explicit Draw(Rng rng) : rng_(rng) {}

  WorkerBrief brief() {
    WorkerBrief brief;
    brief.study_folder = text();
    brief.data = {text(), text(), {real(), real(), real()}, text(), text(), {}, {}, integer(), {}};
    if (rng_.bernoulli(0.3)) brief.data.class_weights.balanced = true;
    if (!brief.data.class_weights && rng_.bernoulli(0.5)) brief.data.class_weights.of = {{text() + "a", rng_.uniform()}};
    if (rng_.bernoulli(0.5)) brief.data.folds = integer();
    if (rng_.bernoulli(0.5)) brief.data.hash = Digest{rng_.next(), rng_.next()};
    brief.isa = text();
    brief.numeric_class = text();
    for (auto* field : {&brief.workers, &brief.lanes, &brief.width, &brief.pipeline, &brief.memory_bytes}) *field = integer();
    for (std::uint64_t i = rng_.below(4); i > 0; --i) brief.metrics.push_back(text());
    brief.checkpoint_every = real();
    brief.crash_marks = rng_.bernoulli(0.5);
    brief.pipeline_processes = rng_.bernoulli(0.5);
    for (std::uint64_t i = rng_.below(4); i > 0; --i) brief.pipeline_hosts.push_back(text());
    for (std::uint64_t i = rng_.below(4); i > 0; --i) brief.pipeline_programs.push_back(text());
    brief.link_us = real();
    brief.link_gb_per_second = real();
    return brief;
  }

 private:
  std::int64_t integer() {
    if (rng_.below(4) == 0) return std::numeric_limits<std::int64_t>::max();
    return rng_.below(4) == 0 ? std::numeric_limits<std::int64_t>::min() : rng_.between(0, 1000);
  }
  double real() {
    if (rng_.below(6) == 0) return std::numeric_limits<double>::infinity();
    return rng_.uniform() * (rng_.bernoulli(0.5) ? 1e-300 : 1e17);
  }
  std::string text() {
    std::string text;
    for (std::uint64_t i = rng_.below(20); i > 0; --i) text += static_cast<char>(rng_.below(128));
    return text + (rng_.bernoulli(0.5) ? "é\n\"%" : "");
  }

  Rng rng_;
};

TEST(WorkerBrief, ComesBackAsItWas) {
  EXPECT_EQ(*decode_brief(encode(WorkerBrief{})), WorkerBrief{});
  const Rng root(13);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    const WorkerBrief brief = Draw(root.split(number)).brief();
    const std::string told = encode(brief);

    const auto heard = decode_brief(told);

    ASSERT_TRUE(heard) << told << "\n" << heard.error().text();
    ASSERT_EQ(*heard, brief) << told;
    ASSERT_EQ(told.find('\n'), std::string::npos) << "a message is one line";
  }
}

TEST(WorkerBrief, WithoutAFieldOrWithAnotherKindOfItIsRefused) {
  const Rng root(17);
  for (std::uint64_t number = 0; number < 50; ++number) {
    const auto whole = nlohmann::json::parse(encode(Draw(root.split(number)).brief()));
    const auto expect_refused = [](const nlohmann::json& damaged) {
      const auto heard = decode_brief(damaged.dump());
      ASSERT_FALSE(heard) << damaged;
      EXPECT_EQ(heard.error().code, Code::kDataLoss);
    };
    for (const char* at : {"", "/data"}) {
      const nlohmann::json::json_pointer place(at);
      for (const auto& [field, value] : whole[place].items()) {
        nlohmann::json without = whole;
        without[place].erase(field);
        expect_refused(without);
        nlohmann::json other = whole;
        other[place][field] = nlohmann::json{{"no", "such"}};
        expect_refused(other);
      }
    }
    nlohmann::json other = whole;
    other["data"]["split"].push_back(0.5);
    expect_refused(other);
    other = whole;
    other["metrics"].push_back(3);
    expect_refused(other);
    other = whole;
    other["data"]["hash"] = "none";
    expect_refused(other);
  }
}

TEST(WorkerBrief, CutAnywhereIsRefused) {
  const std::string whole = encode(Draw(Rng(19)).brief());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto heard = decode_brief(whole.substr(0, size));
    ASSERT_FALSE(heard) << size;
    EXPECT_EQ(heard.error().code, Code::kDataLoss);
  }
}

}  // namespace
}  // namespace lanista::engine
