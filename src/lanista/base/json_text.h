#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace lanista {

/// `value` as JSON in one line, as nlohmann::json::dump gives it with its error handler `replace`, in a third of the
/// time: the same texts, and numbers that read back as the same double. Numbers that are not finite become null.
std::string json_text(const nlohmann::json& value);

}  // namespace lanista
