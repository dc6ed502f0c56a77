#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/variant.h"

namespace lanista::graph {

/// What an attribute can hold.
using AttrValue = Variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

/// "true", "64", "0.5", "\"same\"", "[1,8,8]": the text of the model format. Doubles round-trip.
std::string attr_text(const AttrValue& value);

/// A string of the text form: in quotes, with \" \\ \n \t \xHH for what cannot stand there as it is.
std::string in_quotes(std::string_view text);

/// A small map from attribute name to value, in order of name. Only non-default values are stored.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> items);

  const AttrValue* find(std::string_view name) const;
  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<std::pair<std::string, AttrValue>> items_;
};

}  // namespace lanista::graph
