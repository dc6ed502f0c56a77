#include "lanista/io/data/spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "lanista/base/printable.h"
#include "lanista/io/data/cell_notation.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/post_process.h"

namespace lanista::data {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxWidth = std::int64_t{1} << 31;

Error malformed(std::string message) { return {Code::kDataLoss, "data specification: " + std::move(message), ""}; }

template <class T>
Result<T> entry(const json& object, const char* key) {
  try {
    return object.at(key).get<T>();
  } catch (const json::exception&) {
    return malformed("\"" + std::string(key) + "\" is missing or of another kind");
  }
}

Result<void> check_shape(const graph::Shape& features) {
  std::int64_t width = 1;
  for (const std::int64_t d : features.dims) {
    if (d < 1 || __builtin_mul_overflow(width, d, &width) || width > kMaxWidth) {
      return malformed("\"features\" " + features.text() + " is no shape of at most " + std::to_string(kMaxWidth) +
                       " numbers");
    }
  }
  if (features.dims.empty()) return malformed("\"features\" is empty");
  return {};
}

Result<void> check_schema(const DataSpec& spec) {
  LANISTA_ASSIGN(const json target, entry<json>(spec.schema, "target"));
  if (target.contains("names")) {
    LANISTA_ASSIGN(const auto names, entry<std::vector<std::string>>(target, "names"));
    if (static_cast<std::int64_t>(names.size()) != spec.width()) {
      return malformed(std::to_string(names.size()) + " names of targets for " + std::to_string(spec.width()));
    }
  } else {
    LANISTA_TRY(entry<std::string>(target, "name"));
  }
  for (const char* of_rows : {"weight", "holdout"}) {
    if (spec.schema.contains(of_rows)) LANISTA_TRY(entry<std::string>(spec.schema, of_rows));
  }
  LANISTA_ASSIGN(const auto columns, parse_columns(spec.schema.value("columns", json())));
  std::int64_t width = 0;
  for (const Column& column : columns) width += column.width();
  if (width != spec.features.elements_per_sample()) {
    return malformed("the columns make " + std::to_string(width) + " features, not " + spec.features.text());
  }
  return {};
}

Result<Normalization> parse_targets(const json& object, const DataSpec& spec) {
  if (spec.classes > 0) return malformed("\"target_normalization\" stands where targets are classes");
  if (spec.multilabel) return malformed("\"target_normalization\" stands where targets are labels");
  LANISTA_ASSIGN(auto targets, parse_normalization(object, spec.target_size, "targets"));
  const auto entries = static_cast<std::int64_t>(targets.mean.size());
  if (entries == spec.target_size) return targets;
  return malformed("\"target_normalization\" has " + std::to_string(entries) + " entries for " +
                   std::to_string(spec.target_size) + " targets");
}

/// The numbers of "origin" or "target_origin", or none if the key is absent.
Result<std::vector<double>> parse_origin(const json& object, const char* key, const Normalization* normalization,
                                         std::int64_t width) {
  if (!object.contains(key)) return std::vector<double>();
  LANISTA_ASSIGN(auto origin, entry<std::vector<double>>(object, key));
  const std::string name = "\"" + std::string(key) + "\"";
  if (!std::ranges::all_of(origin, [](double x) { return std::isfinite(x); })) {
    return malformed(name + " holds a number that is not finite");
  }
  // A package of folds has the normalisations in its members.
  const bool fitted = normalization != nullptr && *normalization != Normalization{};
  const auto entries = std::ssize(origin);
  if (fitted ? origin.size() == normalization->mean.size() : entries > 0 && width % entries == 0) return origin;
  return malformed(name + " has " + std::to_string(entries) + " numbers for " +
                   std::to_string(fitted ? std::ssize(normalization->mean) : width) +
                   (fitted ? " entries of the normalisation" : " numbers of a row"));
}

/// The shortest text that reads back as the same number.
std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto [end, failed] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return failed == std::errc() ? std::string(buffer.data(), end) : std::string("?");
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) out += (i > 0 ? ", " : "") + printable(names[i]);
  if (names.size() > kShown) out += ", … (" + std::to_string(names.size()) + ")";
  return out;
}

/// The text of one of several targets.
std::string target_text(const DataSpec& spec, std::size_t index) {
  if (spec.classes > 0) return "class, 1 in its rows";
  if (spec.multilabel) return "label, 0 or 1";
  if (!spec.target_normalization) return "number";
  const auto& [mean, scale] = *spec.target_normalization;
  return "number, standardised (mean " + short_number(mean[index]) + ", deviation " + short_number(scale[index]) + ")";
}

std::string target_text(const DataSpec& spec) {
  if (spec.multilabel) {
    return std::to_string(spec.target_size) + (spec.target_size == 1 ? " label, 0 or 1" : " labels, each 0 or 1");
  }
  if (spec.classes == 0) {
    const std::string count = std::to_string(spec.target_size) + (spec.target_size == 1 ? " number" : " numbers");
    if (!spec.target_normalization) return count;
    const auto& [mean, scale] = *spec.target_normalization;
    const std::string fitted =
        mean.size() > 1 ? ""
                        : " (mean " + short_number(mean.front()) + ", deviation " + short_number(scale.front()) + ")";
    return count + ", standardised" + fitted;
  }
  return std::to_string(spec.classes) + " classes" +
         (spec.positions > 0 ? " at each of " + std::to_string(spec.positions) + " positions" : "") +
         (spec.labels.empty() ? "" : ": " + listed(spec.labels));
}

std::string content_text(const Column& column) {
  const auto span = [](const NumberStats& stats) { return number_text(stats.min) + " to " + number_text(stats.max); };
  if (column.kind == ColumnKind::kNumber) return "number    " + span(column.stats);
  if (column.kind == ColumnKind::kCategory) return "category  " + listed(column.categories);
  std::string parts;
  for (std::size_t i = 0; i < column.parts.size(); ++i) {
    parts += std::string(i > 0 ? ", " : "") + column.part_name(i) + " " + span(column.parts[i]) +
             (column.elapsed_from && i + 1 == column.parts.size() ? " days" : "");
  }
  return "date      " + parts;
}

/// The part of a training's specification that differs between folds.
json fold_json(const DataSpec& fold) {
  json out = {{"split_rows", fold.split_rows},
              {"hash", fold.hash.hex()},
              {"normalization", normalization_json(fold.normalization)}};
  if (fold.target_normalization) out["target_normalization"] = normalization_json(*fold.target_normalization);
  if (fold.schema.is_null()) return out;
  const auto columns = parse_columns(fold.schema.at("columns"));
  const auto unseen = unseen_features_of_schema(fold.schema);
  LANISTA_CHECK(columns.ok() && unseen.ok(), "a specification holds a sound schema");
  // Without normalisation, the means still replace missing numbers.
  const Normalization fitted = normalization_of(*columns);
  if (!(fitted == fold.normalization)) out["columns"] = normalization_json(fitted);
  if (!unseen->empty()) out["unseen"] = *unseen;
  return out;
}

Result<Digest> hash_at(const json& object) {
  LANISTA_ASSIGN(const std::string hash, entry<std::string>(object, "hash"));
  const auto digest = Digest::from_hex(hash);
  if (!digest) return malformed("\"hash\" is \"" + hash.substr(0, 64) + "\", expected 32 hexadecimal digits");
  return *digest;
}

Result<DataSpec> parse_fold(const json& object, const DataSpec& of) {
  if (!object.is_object()) return malformed("a fold is no object");
  DataSpec fold = of;
  LANISTA_ASSIGN(fold.split_rows, (entry<std::array<std::int64_t, 3>>(object, "split_rows")));
  LANISTA_ASSIGN(fold.hash, hash_at(object));
  const std::int64_t width = of.features.elements_per_sample();
  LANISTA_ASSIGN(const json normalization, entry<json>(object, "normalization"));
  LANISTA_ASSIGN(fold.normalization, parse_normalization(normalization, width));
  const bool fitted_fold = fold.normalization != Normalization{};
  if (fitted_fold && !of.origin.empty() && of.origin.size() != fold.normalization.mean.size()) {
    return malformed("\"origin\" does not fit the normalisation of a fold");
  }
  fold.target_normalization.reset();
  if (object.contains("target_normalization")) {
    LANISTA_ASSIGN(fold.target_normalization, parse_targets(object["target_normalization"], fold));
  }
  if (fold.schema.is_null()) return fold;
  std::vector<std::size_t> unseen;
  if (object.contains("unseen")) {
    LANISTA_ASSIGN(unseen, entry<std::vector<std::size_t>>(object, "unseen"));
  }
  Normalization fitted = fold.normalization;
  if (object.contains("columns")) {
    LANISTA_ASSIGN(fitted, parse_normalization(object["columns"], width));
  }
  if (std::ssize(fitted.mean) != width) return malformed("a fold's columns have not one mean a feature");
  fold.schema = with_fitted_stats(fold.schema, fitted, unseen);
  return fold;
}

}  // namespace

Result<DataSpec> training_spec(const DataSpec& spec, const std::optional<std::int64_t>& fold) {
  if (!fold) return spec;
  if (*fold >= 0 && *fold < std::ssize(spec.folds)) return spec.folds[static_cast<std::size_t>(*fold)];
  return malformed("there is no fold " + std::to_string(*fold) + " of " + std::to_string(spec.folds.size()));
}

std::string short_number(double value) {
  std::array<char, 32> buffer{};
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 6);
  return {buffer.data(), done.ptr};
}

json spec_json(const DataSpec& spec) {
  json out = {{"name", spec.name},
              {"source", spec.source},
              {"licence", spec.licence},
              {"rows", spec.rows},
              {"features", spec.features.dims},
              {"classes", spec.classes},
              {"labels", spec.labels},
              {"target_size", spec.target_size},
              {"split_rows", spec.split_rows},
              {"hash", spec.hash.hex()},
              {"normalization", normalization_json(spec.normalization)}};
  if (spec.rules != study::kFirstRules) out["rules"] = spec.rules;
  if (spec.vocab > 0) out["vocab"] = spec.vocab;
  if (spec.positions > 0) out["positions"] = spec.positions;
  if (spec.multilabel) out["multilabel"] = true;
  if (spec.target_normalization) out["target_normalization"] = normalization_json(*spec.target_normalization);
  if (!spec.origin.empty()) out["origin"] = spec.origin;
  if (!spec.target_origin.empty()) out["target_origin"] = spec.target_origin;
  if (!spec.schema.is_null()) out["schema"] = spec.schema;
  for (const DataSpec& fold : spec.folds) out["folds"].push_back(fold_json(fold));
  return out;
}

Result<DataSpec> parse_spec(const json& object) {
  if (!object.is_object()) return malformed("is no object");
  DataSpec spec;
  LANISTA_ASSIGN(spec.name, entry<std::string>(object, "name"));
  LANISTA_ASSIGN(spec.source, entry<std::string>(object, "source"));
  LANISTA_ASSIGN(spec.licence, entry<std::string>(object, "licence"));
  LANISTA_ASSIGN(spec.rows, entry<std::int64_t>(object, "rows"));
  LANISTA_ASSIGN(spec.features.dims, entry<std::vector<std::int64_t>>(object, "features"));
  LANISTA_TRY(check_shape(spec.features));
  spec.rules = study::kFirstRules;
  if (object.contains("rules")) {
    LANISTA_ASSIGN(spec.rules, entry<std::int64_t>(object, "rules"));
    if (spec.rules < study::kFirstRules || spec.rules > study::kLatestRules) {
      return malformed("\"rules\" is " + std::to_string(spec.rules) + ", allowed are " +
                       std::to_string(study::kFirstRules) + " to " + std::to_string(study::kLatestRules));
    }
  }
  if (object.contains("vocab")) {
    LANISTA_ASSIGN(spec.vocab, entry<std::int64_t>(object, "vocab"));
    if (spec.vocab < 1 || spec.vocab > kMaxVocab) {
      return malformed("\"vocab\" is " + std::to_string(spec.vocab) + ", allowed are 1 to " +
                       std::to_string(kMaxVocab));
    }
  }
  LANISTA_ASSIGN(spec.classes, entry<std::int64_t>(object, "classes"));
  LANISTA_ASSIGN(spec.labels, entry<std::vector<std::string>>(object, "labels"));
  LANISTA_ASSIGN(spec.target_size, entry<std::int64_t>(object, "target_size"));
  if (object.contains("positions")) {
    LANISTA_ASSIGN(spec.positions, entry<std::int64_t>(object, "positions"));
    const bool of_text = spec.vocab > 0 && spec.classes > 0 && spec.features.dims == std::vector{spec.positions};
    if (!of_text)
      return malformed("\"positions\" is " + std::to_string(spec.positions) + ", which is not of a text's samples");
  }
  if (object.contains("multilabel")) {
    LANISTA_ASSIGN(spec.multilabel, entry<bool>(object, "multilabel"));
    if (spec.multilabel && spec.classes > 0) return malformed("\"multilabel\" stands where targets are classes");
  }
  if (spec.classes < 0 || spec.target_size < 1) return malformed("there are neither classes nor numbers to predict");
  if (!spec.labels.empty() && static_cast<std::int64_t>(spec.labels.size()) != spec.classes) {
    return malformed(std::to_string(spec.labels.size()) + " labels for " + std::to_string(spec.classes) + " classes");
  }
  LANISTA_ASSIGN(spec.split_rows, (entry<std::array<std::int64_t, 3>>(object, "split_rows")));
  LANISTA_ASSIGN(spec.hash, hash_at(object));
  LANISTA_ASSIGN(const json normalization, entry<json>(object, "normalization"));
  LANISTA_ASSIGN(spec.normalization, parse_normalization(normalization, spec.features.elements_per_sample()));
  if (object.contains("target_normalization")) {
    LANISTA_ASSIGN(spec.target_normalization, parse_targets(object["target_normalization"], spec));
  }
  const Normalization* of_targets = spec.target_normalization ? &*spec.target_normalization : nullptr;
  if (of_targets == nullptr && object.contains("target_origin")) {
    return malformed("\"target_origin\" stands where targets are not standardised");
  }
  LANISTA_ASSIGN(spec.origin, parse_origin(object, "origin", &spec.normalization, spec.features.elements_per_sample()));
  LANISTA_ASSIGN(spec.target_origin, parse_origin(object, "target_origin", of_targets, spec.target_size));
  if (object.contains("schema")) {
    spec.schema = object["schema"];
    LANISTA_TRY(check_schema(spec));
  }
  if (!object.contains("folds")) return spec;
  if (!object["folds"].is_array()) return malformed("\"folds\" is no list");
  std::vector<DataSpec> folds;
  for (const json& each : object["folds"]) {
    LANISTA_ASSIGN(folds.emplace_back(), parse_fold(each, spec));
  }
  spec.folds = std::move(folds);
  return spec;
}

std::vector<std::string> target_names(const DataSpec& spec) {
  if (spec.schema.is_null()) return {};
  const json& target = spec.schema.at("target");
  if (target.contains("names")) return target.at("names").get<std::vector<std::string>>();
  return {target.at("name").get<std::string>()};
}

std::vector<std::pair<std::int64_t, std::int64_t>> category_features(const DataSpec& spec) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  if (spec.schema.is_null()) return out;
  const auto columns = parse_columns(spec.schema.at("columns"));
  LANISTA_CHECK(columns.ok(), "a specification holds a sound schema");
  std::int64_t begin = 0;
  for (const Column& column : *columns) {
    if (column.kind == ColumnKind::kCategory) out.emplace_back(begin, column.width());
    begin += column.width();
  }
  return out;
}

std::vector<double> missing_numbers(const DataSpec& spec) {
  if (spec.schema.is_null()) return {};
  const auto columns = parse_columns(spec.schema.at("columns"));
  LANISTA_CHECK(columns.ok(), "a specification holds a sound schema");
  return normalization_of(*columns).mean;
}

std::vector<std::string> feature_names(const DataSpec& spec) {
  if (spec.schema.is_null()) return {};
  const auto columns = parse_columns(spec.schema.at("columns"));
  LANISTA_CHECK(columns.ok(), "a specification holds a sound schema");
  std::vector<std::string> names;
  for (const Column& column : *columns) {
    if (column.kind == ColumnKind::kNumber) names.push_back(column.name);
    for (const std::string& category : column.categories) names.push_back(column.name + "=" + category);
    for (std::size_t i = 0; i < column.parts.size(); ++i) {
      names.push_back(column.name + "." + column.part_name(i));
    }
  }
  return names;
}

std::string schema_text(const DataSpec& spec) {
  if (spec.schema.is_null()) {
    const std::string kind = spec.vocab > 0 ? " tokens below " + std::to_string(spec.vocab) : "";
    return "samples " + spec.features.text() + kind + ", target " + target_text(spec) + "\n";
  }
  const auto columns = parse_columns(spec.schema.at("columns"));
  LANISTA_CHECK(columns.ok(), "a specification holds a sound schema");
  std::size_t longest = 0;
  // A name may be any text of a file, so it is printed in one line.
  const auto shown_name = [](const std::string& name) { return name.empty() ? "\"\"" : printable(name); };
  for (const Column& column : *columns) longest = std::max(longest, display_width(shown_name(column.name)));
  const std::vector<std::string> targets = target_names(spec);
  const std::string weight = spec.schema.value("weight", "");
  for (const std::string& name : targets) longest = std::max(longest, display_width(printable(name)));
  const std::string holdout_loss = spec.schema.value("holdout", "");
  for (const std::string& name : {weight, holdout_loss}) longest = std::max(longest, display_width(printable(name)));
  const auto padded = [&](const std::string& name) {
    const std::string shown = shown_name(name);
    return shown + std::string(longest - display_width(shown) + 2, ' ');
  };
  std::string out;
  for (const Column& column : *columns) {
    out += padded(column.name);
    out += content_text(column) + "; " + std::to_string(column.unique) + " different";
    if (column.missing > 0) {
      out += ", " + std::to_string(column.missing) + " missing" +
             (column.kind == ColumnKind::kCategory ? " (become zeros)" : " (become the mean)");
    }
    out += "\n";
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    out += padded(targets[i]) + "target    " + (targets.size() == 1 ? target_text(spec) : target_text(spec, i)) + "\n";
  }
  if (!weight.empty()) out += padded(weight) + "weight    how much a row counts in training\n";
  if (!holdout_loss.empty())
    out += padded(holdout_loss) + "holdout   loss of a row under a model that has not trained on it\n";
  return out;
}

}  // namespace lanista::data
