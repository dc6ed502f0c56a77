#include "lanista/search/study/assessment.h"

#include <algorithm>

#include "lanista/base/real_json.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::study {
namespace {

using fields::Malformed;
using nlohmann::json;

constexpr std::int64_t kLayout = 1, kOfLabels = 2;

json reals_json(const auto& values) {
  json out = json::array();
  for (const double value : values) out.push_back(real_json(value));
  return out;
}

std::vector<double> reals(const json& object, const char* name, std::size_t most) {
  const json& list = fields::array(object, name);
  if (list.size() > most) throw Malformed{std::string(name) + " has more than " + std::to_string(most) + " numbers"};
  std::vector<double> out;
  for (const json& value : list) {
    const auto real = parse_real_json(value);
    if (!real) throw Malformed{std::string(name) + " has an entry that is not a number"};
    out.push_back(*real);
  }
  return out;
}

std::int64_t count(const json& object, const char* name) {
  const std::int64_t value = fields::integer(object, name);
  if (value < 0) throw Malformed{std::string(name) + " is " + std::to_string(value) + "; it must be at least 0"};
  return value;
}

std::int64_t below(const json& object, const char* name, std::int64_t end) {
  const std::int64_t value = count(object, name);
  if (value >= end) {
    throw Malformed{std::string(name) + " is " + std::to_string(value) + "; it must be below " + std::to_string(end)};
  }
  return value;
}

json residuals_json(const Residuals& of) {
  return {{"mean", real_json(of.mean)}, {"spread", real_json(of.spread)}, {"quantiles", reals_json(of.quantiles)}};
}

Residuals read_residuals(const json& object) {
  Residuals out{fields::real(object, "mean"), fields::real(object, "spread"), {}};
  const std::vector<double> quantiles = reals(object, "quantiles", out.quantiles.size());
  if (quantiles.size() != out.quantiles.size()) {
    throw Malformed{"quantiles has " + std::to_string(quantiles.size()) + " numbers; it must have " +
                    std::to_string(out.quantiles.size())};
  }
  std::copy(quantiles.begin(), quantiles.end(), out.quantiles.begin());
  return out;
}

json scores_json(const std::vector<ClassScore>& scores) {
  json out = json::array();
  for (const ClassScore& score : scores) {
    out.push_back(
        {{"label", score.label}, {"rows", score.rows}, {"precision", score.precision}, {"recall", score.recall}});
  }
  return out;
}

json part_json(const PartAssessment& part, const ModelAssessment& of) {
  json out{{"part", part.part}, {"rows", part.rows}, {"lost", part.lost}};
  if (of.multilabel) {
    out["labels"] = scores_json(part.classes);
    return out;
  }
  if (of.classes == 0) {
    out["residuals"] = json::array();
    for (const Residuals& each : part.residuals) out["residuals"].push_back(residuals_json(each));
    out["actual"] = reals_json(part.actual);
    out["predicted"] = reals_json(part.predicted);
    return out;
  }
  out["confusion"] = part.confusion;
  out["classes"] = scores_json(part.classes);
  out["confused"] = json::array();
  for (const ConfusedPair& each : part.confused) {
    out["confused"].push_back({{"label", each.label}, {"prediction", each.prediction}, {"rows", each.rows}});
  }
  return out;
}

std::vector<std::int64_t> read_confusion(const json& object, std::int64_t classes) {
  const json& list = fields::array(object, "confusion");
  const std::int64_t cells = classes <= PartAssessment::kMaxConfusionClasses ? classes * classes : 0;
  if (static_cast<std::int64_t>(list.size()) != cells) {
    throw Malformed{"confusion has " + std::to_string(list.size()) + " counts; it must have " + std::to_string(cells)};
  }
  std::vector<std::int64_t> out;
  for (const json& value : list) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0) {
      throw Malformed{"confusion has an entry that is not a count"};
    }
    out.push_back(value.get<std::int64_t>());
  }
  return out;
}

const json& bounded(const json& object, const char* name, std::size_t most) {
  const json& list = fields::array(object, name);
  if (list.size() > most) throw Malformed{std::string(name) + " has more than " + std::to_string(most) + " entries"};
  return list;
}

std::vector<ClassScore> read_scores(const json& object, const char* name, std::int64_t end) {
  std::vector<ClassScore> out;
  for (const json& each : bounded(object, name, PartAssessment::kMaxClasses)) {
    out.push_back({below(each, "label", end), count(each, "rows"), fields::real(each, "precision"),
                   fields::real(each, "recall")});
  }
  return out;
}

PartAssessment read_part(const json& object, const ModelAssessment& of) {
  PartAssessment out;
  out.part = fields::text(object, "part");
  if (out.part != "validation" && out.part != "test") throw Malformed{"part is '" + out.part + "'"};
  out.rows = count(object, "rows");
  out.lost = count(object, "lost");
  if (of.multilabel) {
    out.classes = read_scores(object, "labels", of.outputs);
    return out;
  }
  if (of.classes == 0) {
    for (const json& each : bounded(object, "residuals", PartAssessment::kMaxOutputs)) {
      out.residuals.push_back(read_residuals(each));
    }
    if (static_cast<std::int64_t>(out.residuals.size()) != of.shown()) {
      throw Malformed{"residuals has " + std::to_string(out.residuals.size()) + " entries; it must have " +
                      std::to_string(of.shown())};
    }
    out.actual = reals(object, "actual", PartAssessment::kMaxPoints);
    out.predicted = reals(object, "predicted", PartAssessment::kMaxPoints);
    const bool whole = out.actual.size() % static_cast<std::size_t>(of.shown()) == 0;
    if (!whole || out.actual.size() != out.predicted.size()) {
      throw Malformed{"actual and predicted must have the same length, a multiple of the shown outputs"};
    }
    return out;
  }
  out.confusion = read_confusion(object, of.classes);
  out.classes = read_scores(object, "classes", of.classes);
  for (const json& each : bounded(object, "confused", PartAssessment::kMaxConfusedPairs)) {
    out.confused.push_back(
        {below(each, "label", of.classes), below(each, "prediction", of.classes), count(each, "rows")});
  }
  return out;
}

}  // namespace

std::int64_t ModelAssessment::shown() const {
  return std::min(outputs, static_cast<std::int64_t>(PartAssessment::kMaxOutputs));
}

json assessment_json(const ModelAssessment& assessment) {
  json out{{"v", assessment.multilabel ? kOfLabels : kLayout},
           {"trial", assessment.trial.value},
           {"weights_hash", assessment.weights_hash},
           {"classes", assessment.classes},
           {"outputs", assessment.outputs},
           {"parts", json::array()}};
  for (const PartAssessment& part : assessment.parts) out["parts"].push_back(part_json(part, assessment));
  return out;
}

Result<ModelAssessment> read_assessment(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return Error{Code::kDataLoss, "broken assessment: is not JSON", ""};
  return fields::read_record<ModelAssessment>("assessment", [&]() -> Result<ModelAssessment> {
    const std::int64_t layout = fields::integer(object, "v");
    if (layout < kLayout || layout > kOfLabels) {
      return Error{layout > kOfLabels ? Code::kFailedPrecondition : Code::kDataLoss,
                   "the assessment has layout " + std::to_string(layout) + ", this version reads up to " +
                       std::to_string(kOfLabels),
                   ""};
    }
    ModelAssessment out;
    out.trial = fields::trial(object, "trial");
    out.weights_hash = fields::text(object, "weights_hash");
    out.classes = count(object, "classes");
    out.outputs = count(object, "outputs");
    if (out.outputs < 1) throw Malformed{"outputs is 0; it must be at least 1"};
    out.multilabel = layout == kOfLabels;
    if (out.multilabel && out.classes > 0) throw Malformed{"an assessment of labels has classes"};
    for (const json& part : bounded(object, "parts", 2)) out.parts.push_back(read_part(part, out));
    return out;
  });
}

}  // namespace lanista::study
