#include "lanista/engine/remote/worker_config.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/rng.h"

namespace lanista::engine {
namespace {

class RandomValues {
 public:
  explicit RandomValues(Rng rng) : rng_(rng) {}

  WorkerConfig worker_config() {
    WorkerConfig worker_config;
    worker_config.study_folder = text();
    worker_config.data = {text(), text(), {real(), real(), real()}, text(), text(), {}, {}, integer(), integer(), {}};
    if (rng_.bernoulli(0.3)) worker_config.data.class_weights.balanced = true;
    if (!worker_config.data.class_weights && rng_.bernoulli(0.5))
      worker_config.data.class_weights.of = {{text() + "a", rng_.uniform()}};
    if (rng_.bernoulli(0.5)) worker_config.data.folds = integer();
    if (rng_.bernoulli(0.5)) worker_config.data.hash = Digest{rng_.next(), rng_.next()};
    worker_config.isa = text();
    worker_config.numeric_class = text();
    for (auto* field : {&worker_config.workers, &worker_config.lanes, &worker_config.width, &worker_config.pipeline,
                        &worker_config.memory_bytes})
      *field = integer();
    for (std::uint64_t i = rng_.below(4); i > 0; --i) worker_config.metrics.push_back(text());
    worker_config.checkpoint_every = real();
    worker_config.crash_marks = rng_.bernoulli(0.5);
    worker_config.pipeline_processes = rng_.bernoulli(0.5);
    for (std::uint64_t i = rng_.below(4); i > 0; --i) worker_config.pipeline_hosts.push_back(text());
    for (std::uint64_t i = rng_.below(4); i > 0; --i) worker_config.pipeline_programs.push_back(text());
    worker_config.link_us = real();
    worker_config.link_gb_per_second = real();
    return worker_config;
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

TEST(WorkerConfig, RoundTripsRandomConfigs) {
  EXPECT_EQ(*decode_worker_config(encode(WorkerConfig{})), WorkerConfig{});
  const Rng root(13);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    const WorkerConfig worker_config = RandomValues(root.split(number)).worker_config();
    const std::string encoded = encode(worker_config);

    const auto decoded = decode_worker_config(encoded);

    ASSERT_TRUE(decoded) << encoded << "\n" << decoded.error().text();
    ASSERT_EQ(*decoded, worker_config) << encoded;
    ASSERT_EQ(encoded.find('\n'), std::string::npos) << "a message is one line";
  }
}

TEST(WorkerConfig, DataAreReadByTheRulesOfTheStudy) {
  DataSource data;
  data.rules = study::kFirstRules;
  EXPECT_EQ(data.config().rules, study::kFirstRules);
}

TEST(WorkerConfig, RefusesMissingOrMistypedField) {
  const Rng root(17);
  for (std::uint64_t number = 0; number < 50; ++number) {
    const auto whole = nlohmann::json::parse(encode(RandomValues(root.split(number)).worker_config()));
    const auto expect_refused = [](const nlohmann::json& damaged) {
      const auto decoded = decode_worker_config(damaged.dump());
      ASSERT_FALSE(decoded) << damaged;
      EXPECT_EQ(decoded.error().code, Code::kDataLoss);
    };
    for (const char* at : {"", "/data"}) {
      const nlohmann::json::json_pointer pointer(at);
      for (const auto& [field, value] : whole[pointer].items()) {
        nlohmann::json without = whole;
        without[pointer].erase(field);
        expect_refused(without);
        nlohmann::json other = whole;
        other[pointer][field] = nlohmann::json{{"no", "such"}};
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

TEST(WorkerConfig, CutAnywhereIsRefused) {
  const std::string whole = encode(RandomValues(Rng(19)).worker_config());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto decoded = decode_worker_config(whole.substr(0, size));
    ASSERT_FALSE(decoded) << size;
    EXPECT_EQ(decoded.error().code, Code::kDataLoss);
  }
}

}  // namespace
}  // namespace lanista::engine
