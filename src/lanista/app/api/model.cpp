#include "lanista/model.h"

#include <algorithm>
#include <span>
#include <utility>

#include "lanista/app/api/guarded.h"
#include "lanista/app/cli/model_verbs.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/package.h"
#include "lanista/inference/compared_predictions.h"
#include "lanista/inference/prediction_columns.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/data/raw_input.h"
#include "lanista/io/formats/npy.h"
#include "lanista/io/formats/safetensors.h"

namespace lanista {
namespace {

Predictions predict_raw(const data::DataSpec& data, inference::Predictor& predictor, data::RawData raw) {
  Predictions out;
  const std::vector<double> outputs = predictor.predict(raw.features);
  const auto num_outputs = static_cast<std::size_t>(predictor.outputs());
  const auto width = static_cast<std::size_t>(data.width());
  out.num_rows = raw.rows();
  out.columns = inference::prediction_columns(data);
  for (std::size_t row = 0; row * num_outputs < outputs.size(); ++row) {
    const auto last = std::span(outputs).subspan(row * num_outputs, num_outputs).last(width);
    if (data.classes > 0) {
      out.classes.push_back(
          inference::class_name(data, static_cast<std::size_t>(std::ranges::max_element(last) - last.begin())));
    }
    std::ranges::copy(inference::prediction_values(data, last), std::back_inserter(out.values));
  }
  out.warnings = std::move(raw.data_warnings);
  out.row_names = std::move(raw.names);
  return out;
}

}  // namespace

struct Model::State {
  engine::ModelPackage package;
  inference::Predictor predictor;
};

Model::Model(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<Model> Model::load(const std::string& folder) {
  return api::guarded([&]() -> Result<Model> {
    LANISTA_ASSIGN(engine::ModelPackage package, cli::load_package(folder));
    LANISTA_ASSIGN(inference::Predictor predictor, inference::Predictor::create(package));
    return Model(std::make_shared<State>(std::move(package), std::move(predictor)));
  });
}

const std::vector<std::string>& Model::class_names() const { return state_->package.data.labels; }

const std::vector<std::int64_t>& Model::feature_shape() const { return state_->package.data.features.dims; }

std::int64_t Model::num_outputs() const { return state_->package.data.width(); }

std::map<std::string, double> Model::metrics() const {
  std::map<std::string, double> out;
  const auto found = state_->package.facts.find("metrics");
  if (found == state_->package.facts.end()) return out;
  for (const auto& part : *found) {
    for (const auto& [name, value] : part.items()) {
      if (value.is_number()) out[name] = value.get<double>();
    }
  }
  return out;
}

Result<Predictions> Model::predict(const Table& rows) const {
  return api::guarded([&]() -> Result<Predictions> {
    LANISTA_ASSIGN(std::string text, csv_text(rows));
    MemoryFileSystem files;
    files.put("rows.csv", std::move(text));
    // Options of the reader for files of the user, such as a separator, do not apply to this text.
    LANISTA_ASSIGN(data::RawData raw,
                   data::read_raw(state_->package.data, "csv:rows.csv?header=yes&sep=,&decimal=.", files));
    return predict_raw(state_->package.data, state_->predictor, std::move(raw));
  });
}

Result<Predictions> Model::predict(const Tensor& samples) const {
  return api::guarded([&]() -> Result<Predictions> {
    if (!state_->package.data.schema.is_null()) {
      return Error{Code::kInvalidArgument, "the model needs rows of a table; allowed: a Table or a source",
                   samples.name};
    }
    MemoryFileSystem files;
    files.put("samples.npy", formats::encode_npy(samples));
    LANISTA_ASSIGN(data::RawData raw, data::read_raw(state_->package.data, "npy:samples.npy", files));
    return predict_raw(state_->package.data, state_->predictor, std::move(raw));
  });
}

Result<Predictions> Model::predict_source(const std::string& source) const {
  return api::guarded([&]() -> Result<Predictions> {
    LANISTA_ASSIGN(data::RawData raw, data::read_raw(state_->package.data, source, real_file_system()));
    return predict_raw(state_->package.data, state_->predictor, std::move(raw));
  });
}

Result<std::map<std::string, double>> Model::evaluate_source(const std::string& source) const {
  return api::guarded([&]() -> Result<std::map<std::string, double>> {
    const data::DataSpec& data = state_->package.data;
    LANISTA_ASSIGN(const data::RawData raw, data::read_raw(data, source, real_file_system()));
    if (raw.labels.empty() && raw.targets.empty()) {
      return Error{Code::kInvalidArgument, "the data has no targets to compare with", source};
    }
    inference::Predictor& predictor = state_->predictor;
    const inference::ComparedPredictions compared =
        inference::rows_with_targets(data, raw, predictor.predict(raw.features), predictor.outputs());
    return predictor.assess(compared.values, compared.labels, compared.targets).metrics;
  });
}

std::vector<Tensor> Model::weights() const { return state_->package.tensors(); }

Result<std::string> Model::onnx() const {
  return api::guarded([&] { return engine::package_onnx(state_->package); });
}

Result<std::string> Model::safetensors() const {
  return api::guarded([&] { return formats::encode_safetensors({state_->package.tensors(), {}}); });
}

Result<std::string> Model::cpp_source() const {
  return api::guarded([&] { return engine::package_cpp(state_->package); });
}

}  // namespace lanista
