#include "lanista/app/report/tensorboard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include "lanista/base/crc32c.h"
#include "lanista/io/formats/onnx/wire.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using formats::WireReader;
using testing::random_study;
using testing::small_study;

/// The content of an event file, read by the field numbers alone.
struct Scalar {
  double wall_time;
  std::int64_t step;
  double value;
};
struct EventFile {
  std::vector<double> wall_times;
  std::string version;
  std::map<std::string, std::vector<Scalar>> scalars;
  std::map<std::string, std::string> hparams;  ///< tag -> content of the plugin
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t out = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) out = out << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return out;
}

std::uint32_t masked(std::string_view data) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(data)));
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

std::vector<std::string> payloads(std::string_view file) {
  std::vector<std::string> out;
  while (!file.empty()) {
    EXPECT_GE(file.size(), 16U);
    const std::uint64_t size = little_endian(file.substr(0, 8));
    EXPECT_EQ(little_endian(file.substr(8, 4)), masked(file.substr(0, 8)));
    const std::string_view payload = file.substr(12, size);
    EXPECT_EQ(little_endian(file.substr(12 + size, 4)), masked(payload));
    out.emplace_back(payload);
    file.remove_prefix(16 + size);
  }
  return out;
}

/// The fields of a message that hold bytes: (number, bytes) in order.
std::vector<std::pair<int, std::string>> parts(std::string_view message) {
  std::vector<std::pair<int, std::string>> out;
  WireReader reader(message);
  while (*reader.next()) {
    if (reader.type() == WireReader::Type::kBytes) out.emplace_back(reader.field(), *reader.bytes());
  }
  return out;
}

std::string part(std::string_view message, int field) {
  for (auto& [number, bytes] : parts(message)) {
    if (number == field) return bytes;
  }
  return {};
}

double number(std::string_view message, int field) {
  WireReader reader(message);
  while (*reader.next()) {
    if (reader.field() != field) continue;
    if (reader.type() == WireReader::Type::kVarint) return static_cast<double>(*reader.integer());
    return reader.type() == WireReader::Type::kFixed32 ? static_cast<double>(*reader.fixed_float())
                                                       : *reader.fixed_double();
  }
  return std::nan("");
}

EventFile read(const std::string& bytes) {
  EventFile out;
  for (const std::string& event : payloads(bytes)) {
    const double wall_time = number(event, 1);
    out.wall_times.push_back(wall_time);
    if (const std::string version = part(event, 3); !version.empty()) out.version = version;
    const std::string value = part(part(event, 5), 1);
    if (value.empty()) continue;
    const std::string tag = part(value, 1), metadata = part(value, 9);
    if (metadata.empty()) {
      out.scalars[tag].push_back({wall_time, static_cast<std::int64_t>(number(event, 2)), number(value, 2)});
    } else {
      EXPECT_EQ(part(part(metadata, 1), 1), "hparams");
      out.hparams[tag] = part(part(metadata, 1), 2);
    }
  }
  return out;
}

std::map<std::string, std::string> start_values(const EventFile& file) {
  std::map<std::string, std::string> out;
  for (const auto& [field, entry] : parts(part(file.hparams.at("_hparams_/session_start_info"), 3))) {
    if (field == 1) out[part(entry, 1)] = part(entry, 2);
  }
  return out;
}

const std::string kFile = "events.out.tfevents.0000000000.lanista.0.0";

TEST(TfRecord, FramesAPayloadWithMaskedChecksums) {
  const std::string record = tf_record("123456789");
  EXPECT_EQ(record.size(), 25U);
  EXPECT_EQ(payloads(record), std::vector<std::string>{"123456789"});
  // crc32c("123456789") is 0xe3069283. Rotated by 15 and plus the constant, it is this value.
  EXPECT_EQ(little_endian(std::string_view(record).substr(21)), 0xc78ab0e5U);
}

TEST(Tensorboard, WritesFolderPerTrialAndExperimentInRoot) {
  const FilesByPath files = tensorboard_files(small_study());
  std::set<std::string> paths;
  for (const auto& [path, bytes] : files) paths.insert(path);
  EXPECT_EQ(paths, (std::set<std::string>{kFile, "trial_0001/" + kFile, "trial_0002/" + kFile, "trial_0003/" + kFile,
                                          "trial_0004/" + kFile, "trial_0005/" + kFile}));

  const EventFile root = read(files.at(kFile));
  EXPECT_EQ(root.version, "brain.Event:2");
  const std::string experiment = part(root.hparams.at("_hparams_/experiment"), 2);
  std::vector<std::string> hparams, metrics;
  for (const auto& [field, bytes] : parts(experiment)) {
    if (field == 4) hparams.push_back(part(bytes, 1) + ":" + std::to_string(static_cast<int>(number(bytes, 4))));
    if (field == 5) metrics.push_back(part(part(bytes, 1), 2));
  }
  EXPECT_EQ(hparams,
            (std::vector<std::string>{"base:1", "optimizer:1", "lr:3", "momentum:3", "warmup_epochs:3", "nesterov:2"}));
  EXPECT_EQ(metrics, (std::vector<std::string>{"train_loss", "val_accuracy"}));
  EXPECT_EQ(part(experiment, 6), "=cmd|'/c calc'!A0 \xef\xbf\xbd </script>");
}

TEST(Tensorboard, LeavesOutAbsentHyperParameters) {
  const EventFile adam = read(tensorboard_files(small_study()).at("trial_0002/" + kFile));
  const auto values = start_values(adam);
  EXPECT_FALSE(values.contains("momentum"));
  EXPECT_EQ(number(values.at("lr"), 2), 0.001);
  EXPECT_EQ(number(values.at("warmup_epochs"), 2), 0);
  EXPECT_EQ(number(values.at("nesterov"), 4), 0);
  EXPECT_EQ(part(values.at("optimizer"), 3), "adam");
  EXPECT_EQ(part(values.at("base"), 3), "=small,cnn");
}

TEST(Tensorboard, WritesScalarsByTrainingStep) {
  const EventFile done = read(tensorboard_files(small_study(), {.base_time = 1000})
                                  .at("trial_0001/events.out.tfevents.0000001000.lanista.0.0"));
  const auto& accuracy = done.scalars.at("val_accuracy");
  ASSERT_EQ(accuracy.size(), 2U);
  EXPECT_EQ(accuracy[1].step, 20);
  EXPECT_EQ(accuracy[1].value, 0.75);
  EXPECT_EQ(accuracy[1].wall_time, 1001);
  const EventFile failed = read(tensorboard_files(small_study()).at("trial_0003/" + kFile));
  EXPECT_TRUE(std::isnan(failed.scalars.at("val_accuracy")[0].value));
}

TEST(Tensorboard, DropsNonIncreasingStep) {
  study::StudyView view = small_study();
  view.trials[0].measurements.push_back({TrialId{1}, 3, 20, {{"val_accuracy", 0.9}}});
  EXPECT_EQ(read(tensorboard_files(view).at("trial_0001/" + kFile)).scalars.at("val_accuracy").size(), 2U);
}

TEST(Tensorboard, WritesStatusOfEndedTrialsOnly) {
  const FilesByPath files = tensorboard_files(small_study());
  const auto status = [&](const std::string& folder) {
    return number(part(read(files.at(folder + "/" + kFile)).hparams.at("_hparams_/session_end_info"), 4), 1);
  };
  EXPECT_EQ(status("trial_0001"), 1);
  EXPECT_EQ(status("trial_0002"), 1);
  EXPECT_EQ(status("trial_0003"), 2);
  EXPECT_EQ(status("trial_0004"), 1);
  EXPECT_FALSE(read(files.at("trial_0005/" + kFile)).hparams.contains("_hparams_/session_end_info"));
}

TEST(Tensorboard, ExportsBestTrialsUnlessAllAreRequested) {
  const study::StudyView view = random_study(300, 3);
  EXPECT_EQ(tensorboard_files(view).size(), 201U);
  EXPECT_EQ(tensorboard_files(view, {.all = true}).size(), 301U);
  const FilesByPath best = tensorboard_files(view, {.trials = 1});
  ASSERT_EQ(best.size(), 2U);
  std::string number = std::to_string(study::ranking(view).front().value);
  number.insert(0, 4 - number.size(), '0');
  EXPECT_TRUE(best.contains("trial_" + number + "/" + kFile));
}

TEST(Tensorboard, KeepsTimesAndStepsInOrder) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const auto& [path, bytes] : tensorboard_files(random_study(100, seed), {.base_time = 5, .all = true})) {
      const EventFile file = read(bytes);
      for (std::size_t i = 1; i < file.wall_times.size(); ++i) EXPECT_GE(file.wall_times[i], file.wall_times[i - 1]);
      for (const auto& [tag, scalars] : file.scalars) {
        for (std::size_t i = 1; i < scalars.size(); ++i) EXPECT_GT(scalars[i].step, scalars[i - 1].step) << tag;
      }
    }
  }
}

TEST(Tensorboard, WritesRootOnlyForEmptyStudy) {
  const FilesByPath files = tensorboard_files({});
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(read(files.begin()->second).hparams.size(), 1U);
}

}  // namespace
}  // namespace lanista::report
