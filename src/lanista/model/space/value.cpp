#include <array>
#include <charconv>
#include <limits>

#include "lanista/model/space/domain.h"

namespace lanista::space {

namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

template <class T>
std::string number_text(T number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

}  // namespace

std::string value_text(const Value& value) {
  return std::visit(Overloaded{
                        [](bool v) { return std::string(v ? "true" : "false"); },
                        [](std::int64_t v) { return number_text(v); },
                        [](double v) { return number_text(v); },
                        [](const std::string& v) { return v; },
                    },
                    value);
}

nlohmann::json value_json(const Value& value) {
  return std::visit([](const auto& v) { return nlohmann::json(v); }, value);
}

Result<Value> value_from_json(const nlohmann::json& json) {
  switch (json.type()) {
    case nlohmann::json::value_t::boolean:
      return Value(json.get<bool>());
    case nlohmann::json::value_t::number_integer:
      return Value(json.get<std::int64_t>());
    case nlohmann::json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return Value(json.get<std::int64_t>());
      }
      break;
    case nlohmann::json::value_t::number_float:
      return Value(json.get<double>());
    case nlohmann::json::value_t::string:
      return Value(json.get<std::string>());
    default:
      break;
  }
  return Error{Code::kInvalidArgument,
               "a value must be true, false, a 64-bit integer, a number or a text, not " + json.dump(), ""};
}

Digest hash_sample(const Sample& sample) {
  Hasher hasher;
  hasher.number(static_cast<std::int64_t>(sample.size()));
  for (const auto& [name, value] : sample) {
    hasher.text(name).number(static_cast<std::int64_t>(value.index()));
    std::visit(Overloaded{
                   [&](bool v) { hasher.number(v ? 1 : 0); },
                   [&](std::int64_t v) { hasher.number(v); },
                   [&](double v) { hasher.real(v == 0 ? 0.0 : v); },  // equal values have equal hashes: -0.0 is 0.0
                   [&](const std::string& v) { hasher.text(v); },
               },
               value);
  }
  return hasher.finish();
}

nlohmann::json sample_json(const Sample& sample) {
  auto json = nlohmann::json::object();
  for (const auto& [name, value] : sample) json[name] = value_json(value);
  return json;
}

Result<Sample> sample_from_json(const nlohmann::json& json) {
  if (!json.is_object()) {
    return Error{Code::kInvalidArgument, "a sample must be an object from name to value, not " + json.dump(), ""};
  }
  Sample sample;
  for (const auto& [name, item] : json.get_ref<const nlohmann::json::object_t&>()) {
    auto value = value_from_json(item);
    if (!value) return Error{value.error().code, value.error().message, name};
    sample.emplace(name, *std::move(value));
  }
  return sample;
}

}  // namespace lanista::space
