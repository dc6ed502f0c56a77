#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"

namespace lanista::study::fields {

// Readers of the fields of a record. All records are read with these functions, so each form that is written can be
// read. Each function throws Malformed if the field is missing or has another type.

/// The error of a record with an invalid form; read_record catches it.
struct Malformed {
  std::string what;  ///< Reason, for people, without the name of the record.
};

/// Returns the member `name`, of any type. It belongs to `object`. Throws Malformed if it is missing.
const nlohmann::json& member(const nlohmann::json& object, const char* name);
/// Returns the member `name`, a list. It belongs to `object`. Throws Malformed if it is missing or anything else.
const nlohmann::json& array(const nlohmann::json& object, const char* name);
/// Returns the member `name`, a whole number of 64 bits. Throws Malformed if it is missing or anything else.
std::int64_t integer(const nlohmann::json& object, const char* name);
/// Returns the member `name`, a number or one of the texts "nan", "inf", "-inf". Throws Malformed if it is missing or
/// anything else.
double real(const nlohmann::json& object, const char* name);
/// Returns the member `name`, true or false. Throws Malformed if it is missing or anything else.
bool flag(const nlohmann::json& object, const char* name);
/// Returns the member `name`, a text. Throws Malformed if it is missing or anything else.
std::string text(const nlohmann::json& object, const char* name);
/// Returns the member `name`, a trial number from 1. Throws Malformed if it is missing or anything else.
TrialId trial(const nlohmann::json& object, const char* name);
/// Returns the member `name`, a hash in hexadecimal digits. Throws Malformed if it is missing or anything else.
Digest digest(const nlohmann::json& object, const char* name);

/// Returns metrics as an object; NaN and infinities are the texts "nan", "inf", "-inf".
nlohmann::json metrics_json(const std::map<std::string, double>& metrics);
/// Reads what metrics_json returns. Old versions wrote null for values that are not finite; null is read as NaN and
/// counted in `nulls`.
std::map<std::string, double> metrics(const nlohmann::json& object, const char* name, std::int64_t* nulls = nullptr);

/// Returns the value of `result`; throws Malformed for an error.
template <class T>
T good(Result<T> result) {
  if (!result) throw Malformed{result.error().text()};
  return *std::move(result);
}

/// Calls `reader` and returns its result; Malformed and errors of the JSON library become kDataLoss. `what` names the
/// record in the message, such as "proposal".
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
