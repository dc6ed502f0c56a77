#include "lanista/bench/case_files.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/file_system.h"
#include "lanista/bench/our_program.h"

namespace lanista::bench {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are written as they lie");

/// One file of floats, and what lies where.
class Floats {
 public:
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

// The same tensor of every model.
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

Result<Floats> floats_of(const Case& c, std::int64_t models, int steps) {
  const auto batch = std::make_shared<CaseBatch>(c);
  LANISTA_ASSIGN(auto program,
                 OurProgram::make(c, {.lanes = models, .threads = static_cast<int>(host_cores())}, batch));
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
  std::vector<std::int64_t> sample = c.sample;
  sample.insert(sample.begin(), c.batch);
  file.add("features", sample, batch->features());
  file.add("labels", {c.batch}, batch->labels());
  file.add("rates", {models}, rates);
  file.add("losses", {steps, models}, losses);
  add_state(file, weights, &StartWeights::trained, "trained/");
  add_state(file, weights, &StartWeights::buffers, "buffer/");
  return file;
}

}  // namespace

Result<void> write_case_files(std::span<const Case> cases, std::int64_t models, int steps, const std::string& folder) {
  FileSystem& fs = real_file_system();
  LANISTA_TRY(fs.make_folder(folder));
  nlohmann::json list = nlohmann::json::array();
  for (const Case& c : cases) {
    LANISTA_ASSIGN(const Floats file, floats_of(c, models, steps));
    const std::string name = c.name + ".f32";
    LANISTA_TRY(write_atomically(fs, folder + "/" + name, file.bytes()));
    list.push_back({{"name", c.name},
                    {"file", name},
                    {"batch", c.batch},
                    {"classes", c.classes},
                    {"vocab", c.vocab},
                    {"arrays", file.arrays()}});
  }
  const nlohmann::json index{{"v", 1}, {"steps", steps}, {"momentum", kMomentum}, {"models", models}, {"cases", list}};
  return write_atomically(fs, folder + "/cases.json", index.dump(1) + "\n");
}

}  // namespace lanista::bench
