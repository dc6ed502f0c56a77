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

/// Returns the JSON value of a field. T is a number, a flag, a text, a TrialId, a Digest or metrics.
template <class T>
nlohmann::json value_json(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    return real_json(value);  // NaN and infinities are texts.
  } else if constexpr (std::is_same_v<T, TrialId>) {
    return value.value;
  } else if constexpr (std::is_same_v<T, Digest>) {
    return value.hex();
  } else if constexpr (std::is_same_v<T, std::map<std::string, double>>) {
    return metrics_json(value);
  } else {
    return value;
  }
}
/// Reads the member `name` of `object`, as value_json() wrote it. Throws Malformed if it is missing or has another
/// type.
template <class T>
T read_value(const nlohmann::json& object, const char* name) {
  if constexpr (std::is_same_v<T, double>) {
    return real(object, name);
  } else if constexpr (std::is_same_v<T, bool>) {
    return flag(object, name);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text(object, name);
  } else if constexpr (std::is_same_v<T, TrialId>) {
    return trial(object, name);
  } else if constexpr (std::is_same_v<T, Digest>) {
    return digest(object, name);
  } else if constexpr (std::is_same_v<T, std::map<std::string, double>>) {
    return metrics(object, name);
  } else {
    static_assert(std::is_same_v<T, std::int64_t>);
    return integer(object, name);
  }
}

/// Returns what a reader of one entry returned; throws Malformed if it returned an error.
template <class T>
const T& good_value(const T& value) {
  return value;
}
/// Returns the value of a reader's result; throws Malformed for an error.
template <class T>
T good_value(Result<T> value) {
  return good(std::move(value));
}

/// Reads or writes the fields of one record.
///
/// A struct S has one function `void table(FieldTable&, S&)`, which names each field once, in the order in which they
/// are read. Called with a FieldTable that reads, it sets the members of S and throws Malformed for an invalid record.
/// Called with one that writes, it leaves S unchanged.
class FieldTable {
 public:
  /// A table that writes a new record.
  FieldTable() : out_(nlohmann::json::object()) {}
  /// A table that reads `in`, which must outlive it.
  explicit FieldTable(const nlohmann::json& in) : in_(&in) {}
  /// True: this table reads; false: it writes.
  bool reads() const { return in_ != nullptr; }
  /// Returns whether a field that may be left out is there: in the record that is read, or if `writes` in the one that
  /// is written.
  bool has(const char* name, bool writes) const { return in_ ? in_->contains(name) : writes; }
  /// True: it reads, and the field is there as null, which old versions wrote for NaN.
  bool is_null(const char* name) const { return in_ && in_->contains(name) && (*in_)[name].is_null(); }
  /// Returns the record that was written, and leaves this table without it.
  nlohmann::json take() { return std::move(out_); }

  /// Adds a field that is always there.
  template <class T>
  FieldTable& operator()(const char* name, T& value) {
    if (in_) {
      value = read_value<T>(*in_, name);
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

/// Returns the JSON record of `object`, with the fields that its `table` names.
template <class T>
nlohmann::json write_table(const T& object, void (*table)(FieldTable&, T&)) {
  FieldTable out;
  table(out, const_cast<T&>(object));  // A table that writes changes nothing.
  return out.take();
}
/// Reads a record that is a part of another one. Throws Malformed.
template <class T>
T read_part(const nlohmann::json& in, void (*table)(FieldTable&, T&)) {
  T out;
  FieldTable fields(in);
  table(fields, out);
  return out;
}
/// Reads a whole record. `what` names it in errors, such as "proposal". Errors: kDataLoss (malformed).
template <class T>
Result<T> read_table(const char* what, const nlohmann::json& in, void (*table)(FieldTable&, T&)) {
  return read_record<T>(what, [&] { return read_part<T>(in, table); });
}

}  // namespace lanista::study::fields
