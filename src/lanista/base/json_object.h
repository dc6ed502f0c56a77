#pragma once

#include <utility>

#include <nlohmann/json.hpp>

namespace lanista {

/// Returns a JSON object from names and values in turn: `json_object("trial", 3, "epoch", 1)`.
///
/// The result equals `json{{"trial", 3}, {"epoch", 1}}`. That form builds an array of two and copies the name for each
/// member, which is most of the cost of a log record. The names must differ.
template <class... NamesAndValues>
nlohmann::json json_object(NamesAndValues&&... members) {
  static_assert(sizeof...(members) % 2 == 0, "a name without a value");
  nlohmann::json out = nlohmann::json::object();
  auto& object = out.get_ref<nlohmann::json::object_t&>();
  const auto put = [&object](const auto& self, auto&& name, auto&& value, auto&&... rest) {
    object.emplace(std::forward<decltype(name)>(name), std::forward<decltype(value)>(value));
    if constexpr (sizeof...(rest) > 0) self(self, std::forward<decltype(rest)>(rest)...);
  };
  if constexpr (sizeof...(members) > 0) put(put, std::forward<NamesAndValues>(members)...);
  return out;
}

}  // namespace lanista
