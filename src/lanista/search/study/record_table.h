#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lanista/base/real_json.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::study::fields {

// Reader and writer of one type of field. `read_value` throws Malformed.

/// Returns a field of this type as JSON.
inline nlohmann::json value_json(std::int64_t value) { return value; }
/// Returns a field of this type as JSON.
inline nlohmann::json value_json(double value) { return real_json(value); }
/// Returns a field of this type as JSON.
inline nlohmann::json value_json(bool value) { return value; }
/// Returns a field of this type as JSON.
inline nlohmann::json value_json(const std::string& value) { return value; }
/// Returns a field of this type as JSON.
inline nlohmann::json value_json(TrialId value) { return value.value; }
/// Returns a field of this type as JSON.
inline nlohmann::json value_json(const Digest& value) { return value.hex(); }
/// Returns a field of this type as JSON.
inline nlohmann::json value_json(const std::map<std::string, double>& value) { return metrics_json(value); }
/// Reads a field of this type. Throws Malformed.
inline void read_value(const nlohmann::json& in, const char* name, std::int64_t& out) { out = integer(in, name); }
/// Reads a field of this type. Throws Malformed.
inline void read_value(const nlohmann::json& in, const char* name, double& out) { out = real(in, name); }
/// Reads a field of this type. Throws Malformed.
inline void read_value(const nlohmann::json& in, const char* name, bool& out) { out = flag(in, name); }
/// Reads a field of this type. Throws Malformed.
inline void read_value(const nlohmann::json& in, const char* name, std::string& out) { out = text(in, name); }
/// Reads a field of this type. Throws Malformed.
inline void read_value(const nlohmann::json& in, const char* name, TrialId& out) { out = trial(in, name); }
/// Reads a field of this type. Throws Malformed.
inline void read_value(const nlohmann::json& in, const char* name, Digest& out) { out = digest(in, name); }
/// Reads a field of this type. Throws Malformed.
inline void read_value(const nlohmann::json& in, const char* name, std::map<std::string, double>& out) {
  out = metrics(in, name);
}

/// Returns the value; throws Malformed for an error.
template <class T>
const T& good_value(const T& value) {
  return value;
}
/// Returns the value; throws Malformed for an error.
template <class T>
T good_value(Result<T> value) {
  return good(std::move(value));
}

class FieldTable;
/// Defined below.
template <class T>
nlohmann::json write_table(const T& object, void (*table)(FieldTable&, T&));
/// Defined below.
template <class T>
T read_part(const nlohmann::json& in, void (*table)(FieldTable&, T&));
/// Defined below.
template <class T>
Result<T> read_table(const char* what, const nlohmann::json& in, void (*table)(FieldTable&, T&));

/// The fields of a record, for its reader and its writer.
///
/// A struct S has one function `void table(FieldTable&, S&)`, which names each field once, in the order in which they
/// are read. The function reads the record into S, or writes S and leaves it unchanged. Errors: it throws Malformed.
class FieldTable {
 public:
  FieldTable() : out_(nlohmann::json::object()) {}                                              ///< Writes.
  explicit FieldTable(const nlohmann::json& in) : in_(&in) {}                                   ///< Reads `in`.
  bool reads() const { return in_ != nullptr; }                                                 ///< True: it reads.
  bool has(const char* name, bool writes) const { return in_ ? in_->contains(name) : writes; }  ///< True: it is there.
  /// True: it reads, and the field is there as null, which old versions wrote for NaN.
  bool is_null(const char* name) const { return in_ && in_->contains(name) && (*in_)[name].is_null(); }
  nlohmann::json take() { return std::move(out_); }  ///< The record, written.

  /// Adds a field that is always there.
  template <class T>
  FieldTable& operator()(const char* name, T& value) {
    if (in_) {
      read_value(*in_, name, value);
    } else {
      put(name, value_json(value));
    }
    return *this;
  }
  /// Adds a whole number. Its reader refuses numbers below `least`.
  FieldTable& at_least(std::int64_t least, const char* name, std::int64_t& value) {
    (*this)(name, value);
    if (in_ && value < least) throw Malformed{"'" + std::string(name) + "' is below " + std::to_string(least)};
    return *this;
  }
  /// Adds a field that is left out if it equals `absent`.
  template <class T>
  FieldTable& optional(const char* name, T& value, const std::type_identity_t<T>& absent = {}) {
    return has(name, value != absent) ? (*this)(name, value) : *this;
  }
  /// Adds a field of an optional value. It is left out if the value is absent.
  template <class T>
  FieldTable& optional(const char* name, std::optional<T>& value) {
    return has(name, value.has_value()) ? (*this)(name, in_ ? value.emplace() : *value) : *this;
  }
  /// Adds a field with its own writer and reader. The reader may return a Result. An absent optional is left out.
  template <class T, class Writer, class Reader>
  FieldTable& via(const char* name, T& value, const Writer& write, const Reader& read) {
    if (in_) {
      value = good_value(read(member(*in_, name)));
    } else {
      put(name, write(value));
    }
    return *this;
  }
  /// Adds an optional field with its own writer and reader. It is left out if it is absent.
  template <class T, class Writer, class Reader>
  FieldTable& via(const char* name, std::optional<T>& value, const Writer& write, const Reader& read) {
    return has(name, value.has_value()) ? via(name, in_ ? value.emplace() : *value, write, read) : *this;
  }
  /// Adds a field that is the text `none` if it is absent.
  template <class T, class... How>
  FieldTable& or_text(const char* none, const char* name, std::optional<T>& value, const How&... how) {
    const bool is_there = in_ ? member(*in_, name) != none : value.has_value();
    if (!is_there && !in_) put(name, none);
    if (!is_there) return *this;
    if constexpr (sizeof...(how) == 0)
      return optional(name, value);
    else
      return via(name, in_ ? value.emplace() : *value, how...);
  }
  /// Adds an optional record by its table. It is the text `none` if it is absent.
  template <class T>
  FieldTable& or_text(const char* none, const char* name, std::optional<T>& value, void (*table)(FieldTable&, T&)) {
    return or_text<T, void (*)(FieldTable&, T&)>(none, name, value, table);
  }
  /// Adds a record by its table.
  template <class T>
  FieldTable& via(const char* name, T& value, void (*table)(FieldTable&, T&)) {
    return via(
        name, value, [&](const T& each) { return write_table(each, table); },
        [&](const nlohmann::json& each) { return read_part<T>(each, table); });
  }
  /// Adds a list. `write` and `read` are those of one entry.
  template <class T, class Writer, class Reader>
  FieldTable& list(const char* name, std::vector<T>& values, const Writer& write, const Reader& read) {
    if (in_) {
      values.clear();
      for (const nlohmann::json& each : array(*in_, name)) values.push_back(good_value(read(each)));
    } else {
      nlohmann::json& out = put(name, nlohmann::json::array());
      for (const T& each : values) out.push_back(write(each));
    }
    return *this;
  }
  /// Adds a list of records by the table of an entry. `what` names an entry in errors; null: only the list is named.
  template <class T>
  FieldTable& list(const char* name, std::vector<T>& values, void (*table)(FieldTable&, T&),
                   const char* what = nullptr) {
    return list(
        name, values, [&](const T& each) { return write_table(each, table); },
        [&](const nlohmann::json& each) {
          return what ? good(read_table<T>(what, each, table)) : read_part<T>(each, table);
        });
  }
  /// Throws Malformed if it reads and `holds` is false.
  void check(bool holds, const char* otherwise) const {
    if (in_ && !holds) throw Malformed{otherwise};
  }

 private:
  nlohmann::json& put(const char* name, nlohmann::json value) {
    return out_.get_ref<nlohmann::json::object_t&>().emplace(name, std::move(value)).first->second;
  }

  const nlohmann::json* in_ = nullptr;
  nlohmann::json out_;
};

/// Returns the record of `object` by its table.
template <class T>
nlohmann::json write_table(const T& object, void (*table)(FieldTable&, T&)) {
  FieldTable out;
  table(out, const_cast<T&>(object));  // A table that writes changes nothing.
  return out.take();
}
/// Reads a record by its table. Throws Malformed.
template <class T>
T read_part(const nlohmann::json& in, void (*table)(FieldTable&, T&)) {
  T out;
  FieldTable fields(in);
  table(fields, out);
  return out;
}
/// Reads a record by its table. `what` names it in errors. Errors: kDataLoss (malformed).
template <class T>
Result<T> read_table(const char* what, const nlohmann::json& in, void (*table)(FieldTable&, T&)) {
  return read_record<T>(what, [&] { return read_part<T>(in, table); });
}

}  // namespace lanista::study::fields
