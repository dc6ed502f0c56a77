#include "bench/case_files.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/lanista_program.h"
#include "lanista/base/file_system.h"

namespace lanista::bench {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are written in memory order");

/// The content of one file, and the index of its arrays.
class Floats {
 public:
  /// Appends an array.
  void add(const std::string& name, std::vector<std::int64_t> shape, const auto& values) {
    arrays_.push_back({{"name", name}, {"shape", std::move(shape)}, {"offset", floats_.size()}});
    for (const auto value : values) floats_.push_back(static_cast<float>(value));
  }
  const nlohmann::json& arrays() const { return arrays_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(floats_)); }

 private:
  std::vector<float> floats_;
  nlohmann::json arrays_ = nlohmann::json::array();
};

// Appends each tensor of `member` with an axis of models in front.
void add_state(Floats& file, const std::vector<StartWeights>& models, std::vector<Tensor> StartWeights::*member,
               const std::string& prefix) {
  for (std::size_t i = 0; i < (models.front().*member).size(); ++i) {
    const Tensor& first = (models.front().*member)[i];
    std::vector<std::int64_t> shape = first.shape;
    shape.insert(shape.begin(), static_cast<std::int64_t>(models.size()));
    std::vector<float> values;
    for (const StartWeights& model : models) {
      const auto of = elements_of<float>((model.*member)[i]);
      values.insert(values.end(), of.begin(), of.end());
    }
    file.add(prefix + first.name, shape, values);
  }
}

void add_batch(Floats& file, const Case& c, const CaseBatch& batch) {
  std::vector<std::int64_t> sample = c.sample;
  sample.insert(sample.begin(), c.batch);
  file.add("features", sample, batch.features());
  file.add("labels", {c.batch}, batch.labels());
}

// The file of a case with `models` models.
Result<Floats> floats_of(const Case& c, std::int64_t models, int steps) {
  const auto batch = std::make_shared<CaseBatch>(c);
  LANISTA_ASSIGN(auto program,
                 LanistaProgram::make(c, {.lanes = models, .threads = static_cast<int>(host_cores())}, batch));
  std::vector<double> rates, losses;
  std::vector<StartWeights> weights;
  for (std::int64_t i = 0; i < models; ++i) {
    rates.push_back(program.rate(i));
    weights.push_back(program.weights(i));
  }
  for (int step = 0; step < steps; ++step) {
    const auto of = program.step();
    losses.insert(losses.end(), of.begin(), of.end());
  }
  Floats file;
  add_batch(file, c, *batch);
  file.add("rates", {models}, rates);
  file.add("losses", {steps, models}, losses);
  add_state(file, weights, &StartWeights::trained, "trained/");
  add_state(file, weights, &StartWeights::buffers, "buffer/");
  return file;
}

// Appends tensors of a single model.
void add_own(Floats& file, const std::vector<Tensor>& tensors, const std::string& prefix) {
  for (const Tensor& each : tensors) file.add(prefix + each.name, each.shape, elements_of<float>(each));
}

// The file of the case cells-N.
Result<Floats> floats_of_cells(std::span<const Cell> cells, int steps) {
  const Case first = cell_case(cells.front());
  const auto batch = std::make_shared<CaseBatch>(first);
  const auto models = std::ssize(cells);
  std::vector<double> rates, losses(static_cast<std::size_t>(steps) * cells.size());
  std::vector<StartWeights> weights;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    LANISTA_ASSIGN(auto program,
                   LanistaProgram::make(cell_case(cells[i]), {.first = static_cast<std::int64_t>(i)}, batch));
    rates.push_back(program.rate(0));
    weights.push_back(program.weights(0));
    for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step) {
      losses[step * cells.size() + i] = program.step().front();
    }
  }
  Floats file;
  add_batch(file, first, *batch);
  file.add("rates", {models}, rates);
  file.add("losses", {steps, models}, losses);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    add_own(file, weights[i].trained, std::to_string(i) + "/trained/");
    add_own(file, weights[i].buffers, std::to_string(i) + "/buffer/");
  }
  return file;
}

// The entry of a case in cases.json.
nlohmann::json entry_of(const Case& c, const std::string& name, const Floats& file) {
  return {{"name", name},         {"file", name + ".f32"}, {"batch", c.batch},
          {"classes", c.classes}, {"vocab", c.vocab},      {"arrays", file.arrays()}};
}

// The names of the operations of each cell.
nlohmann::json operations(std::span<const Cell> cells) {
  nlohmann::json all = nlohmann::json::array();
  for (const Cell& cell : cells) {
    nlohmann::json& names = all.emplace_back(nlohmann::json::array());
    for (const Cell::Op op : cell.ops) names.push_back(Cell::kNames[op]);
  }
  return all;
}

}  // namespace

Result<void> write_case_files(std::span<const Case> cases, std::int64_t models, int steps, std::span<const Cell> cells,
                              const std::string& folder) {
  FileSystem& fs = real_file_system();
  LANISTA_TRY(fs.make_folder(folder));
  nlohmann::json list = nlohmann::json::array();
  for (const Case& c : cases) {
    LANISTA_ASSIGN(const Floats file, floats_of(c, models, steps));
    LANISTA_TRY(write_atomically(fs, folder + "/" + c.name + ".f32", file.bytes()));
    list.push_back(entry_of(c, c.name, file));
  }
  if (!cells.empty()) {
    LANISTA_ASSIGN(const Floats file, floats_of_cells(cells, steps));
    nlohmann::json entry = entry_of(cell_case(cells.front()), "cells-" + std::to_string(cells.size()), file);
    entry["cells"] = operations(cells);
    LANISTA_TRY(write_atomically(fs, folder + "/" + entry["file"].get<std::string>(), file.bytes()));
    list.push_back(std::move(entry));
  }
  const nlohmann::json index{{"v", 1}, {"steps", steps}, {"momentum", kMomentum}, {"models", models}, {"cases", list}};
  return write_atomically(fs, folder + "/cases.json", index.dump(1) + "\n");
}

}  // namespace lanista::bench
