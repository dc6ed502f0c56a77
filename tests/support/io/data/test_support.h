#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/tensor.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/raw_input.h"
#include "support/base/temporary_folder.h"

namespace lanista::data {

/// Data sets out of files in a folder.
class DataInFolderTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
  }
  Result<Dataset> opened(const std::string& source, const std::array<double, 3>& split, const std::string& normalize) {
    study::DataConfig config;
    config.source = source;
    config.split = split;
    config.normalize = normalize;
    return open(config, folder_, real_file_system());
  }
  static void expect_failed(const Result<Dataset>& result, Code code, const std::string& message) {
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.error().code, code) << result.error().text();
    EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().text();
  }
  static std::vector<float> row_features(const Dataset& set, std::int64_t row) {
    std::vector<float> out(static_cast<std::size_t>(set.spec().features.elements_per_sample()));
    set.gather_features(std::vector<std::int64_t>{row}, out);
    return out;
  }

  TemporaryFolder temporary_{"data"};
  const std::string folder_ = temporary_.path();
};

/// Opens data by given rules, half of the rows for training.
class RuledDataTest : public DataInFolderTest {
 protected:
  Result<Dataset> get(const std::string& source, std::int64_t rules = study::kLatestRules) {
    study::DataConfig config;
    config.source = source;
    config.rules = rules;
    config.split = {0.5, 0.25, 0.25};
    return open(config, folder_, real_file_system());
  }
  /// The data set of a table with this text, which is written as t.csv.
  Result<Dataset> table(const std::string& text, const std::string& options = "",
                        std::int64_t rules = study::kLatestRules) {
    write("t.csv", text);
    return get("csv:t.csv" + options, rules);
  }
  /// The warnings of a data set, one a line, or its error.
  static std::string warnings(const Result<Dataset>& set) {
    if (!set.ok()) return "error: " + set.error().message;
    std::string out;
    for (const std::string& warning : set->data_warnings()) out += warning + "\n";
    return out;
  }
  static bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

/// Data sets out of files in memory.
class InMemoryDataTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& bytes) {
    ASSERT_TRUE(write_atomically(disk_, path, std::as_bytes(std::span(bytes))).ok());
  }
  Result<Dataset> get(const std::string& source, const std::string& normalize = "auto",
                      std::array<double, 3> split = {0.5, 0.25, 0.25}) {
    study::DataConfig config;
    config.source = source;
    config.split = split;
    config.normalize = normalize;
    return open(config, "", disk_);
  }
  void expect_error(const Error& error, Code code, const std::string& message) {
    EXPECT_EQ(code_name(error.code), code_name(code)) << error.text();
    EXPECT_NE(error.text().find(message), std::string::npos) << error.text();
  }
  void expect_error(const std::string& source, Code code, const std::string& message) {
    const auto set = get(source);
    ASSERT_FALSE(set.ok()) << source;
    expect_error(set.error(), code, message);
  }
  void expect_raw_error(const DataSpec& spec, const std::string& path, Code code, const std::string& message) {
    const auto raw = read_raw(spec, path, disk_);
    ASSERT_FALSE(raw.ok()) << path;
    expect_error(raw.error(), code, message);
  }
  /// What read_raw makes of `path` must be the set's own rows, to the bit.
  void expect_same_rows(const Dataset& set, const std::string& path, bool with_targets = true) {
    const auto raw = read_raw(set.spec(), path, disk_);
    ASSERT_TRUE(raw.ok()) << raw.error().text();
    const auto features = features_of(set);
    ASSERT_EQ(raw->features.size(), features.size());
    EXPECT_EQ(std::memcmp(raw->features.data(), features.data(), features.size() * sizeof(float)), 0) << path;
    EXPECT_EQ(raw->labels, with_targets ? labels_of(set) : std::vector<std::int32_t>()) << path;
    EXPECT_EQ(raw->targets, with_targets ? targets_of(set) : std::vector<float>()) << path;
    EXPECT_EQ(raw->spec.hash, set.spec().hash);
  }

  static std::vector<std::int64_t> all_rows(const Dataset& set) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(set.spec().rows));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  static std::vector<float> features_of(const Dataset& set) {
    std::vector<float> out(static_cast<std::size_t>(set.spec().rows * set.spec().features.elements_per_sample()));
    set.gather_features(all_rows(set), out);
    return out;
  }
  static std::vector<std::int32_t> labels_of(const Dataset& set) {
    const std::int64_t labels = set.spec().classes > 0 ? set.spec().rows * set.spec().labels_per_sample() : 0;
    std::vector<std::int32_t> out(static_cast<std::size_t>(labels));
    if (!out.empty()) set.gather_labels(all_rows(set), out);
    return out;
  }
  static std::vector<float> targets_of(const Dataset& set) {
    const auto& spec = set.spec();
    std::vector<float> out(spec.classes > 0 ? 0 : static_cast<std::size_t>(spec.rows * spec.target_size));
    if (!out.empty()) set.gather_raw_targets(all_rows(set), out);
    return out;
  }

  MemoryFileSystem disk_;
};

template <class T>
Tensor tensor_of(ElementType type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.name = "", .type = type, .shape = std::move(shape), .bytes = {bytes.begin(), bytes.end()}};
}

/// The packed form of some bytes.
inline std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace lanista::data
