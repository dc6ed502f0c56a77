#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"

namespace lanista::study::fields {

// Readers of a record's fields. Whoever writes a body and whoever reads one goes through these (and base's
// real_json), so that nothing can be written that is not read again.

/// A record that does not have the form it was written in; caught by `read_record`.
struct Malformed {
  std::string what;
};

const nlohmann::json& member(const nlohmann::json& object, const char* name);
const nlohmann::json& array(const nlohmann::json& object, const char* name);
std::int64_t integer(const nlohmann::json& object, const char* name);
double real(const nlohmann::json& object, const char* name);
bool flag(const nlohmann::json& object, const char* name);
std::string text(const nlohmann::json& object, const char* name);
TrialId trial(const nlohmann::json& object, const char* name);
Digest digest(const nlohmann::json& object, const char* name);

nlohmann::json metrics_json(const std::map<std::string, double>& metrics);
/// Builds before the text form wrote null for what is not finite; it is read as nan, and counted in `nulls`.
std::map<std::string, double> metrics(const nlohmann::json& object, const char* name, std::int64_t* nulls = nullptr);

template <class T>
T good(Result<T> result) {
  if (!result) throw Malformed{result.error().text()};
  return *std::move(result);
}

/// Runs a reader; whatever does not fit becomes kDataLoss.
template <class T, class Reader>
Result<T> read_record(const char* what, const Reader& reader) {
  try {
    return reader();
  } catch (const Malformed& error) {
    return Error{Code::kDataLoss, std::string("broken ") + what + ": " + error.what, ""};
  } catch (const nlohmann::json::exception& error) {
    return Error{Code::kDataLoss, std::string("broken ") + what + ": " + error.what(), ""};
  }
}

}  // namespace lanista::study::fields
