#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/variant.h"

namespace lanista::graph {

/// The value of an attribute of a node.
using AttrValue = Variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

/// Returns a value as the text form of models writes it, such as true, 64, 0.5, "same" or [1,8,8]. Doubles round-trip.
std::string attr_text(const AttrValue& value);

/// Returns `text` in double quotes, as the text form of models writes strings. The escapes are \" \\ \n \t \xHH.
std::string in_quotes(std::string_view text);

/// A map from attribute name to value, sorted by name. It has only the attributes that are set; the others have their
/// defaults.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> items);

  /// The value of an attribute, or null if it is not set. The pointer is valid until the next change of this object.
  const AttrValue* find(std::string_view name) const;
  /// Sets an attribute, or replaces its value.
  void set(std::string_view name, AttrValue value);
  /// Removes an attribute. Does nothing if it is not set.
  void erase(std::string_view name);
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<std::pair<std::string, AttrValue>> items_;
};

}  // namespace lanista::graph
