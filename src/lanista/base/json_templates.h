#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

// Declares the large templates behind nlohmann::json as compiled once, in json_templates.cpp. Units use this header
// through the precompiled header alone: without it they compile the same code themselves, in more time.
#ifndef LANISTA_JSON_TEMPLATE
#define LANISTA_JSON_TEMPLATE extern template
#endif
LANISTA_JSON_TEMPLATE class nlohmann::basic_json<>;
LANISTA_JSON_TEMPLATE class nlohmann::detail::serializer<nlohmann::json>;
LANISTA_JSON_TEMPLATE class nlohmann::detail::json_sax_dom_parser<nlohmann::json>;
LANISTA_JSON_TEMPLATE class nlohmann::detail::json_sax_dom_callback_parser<nlohmann::json>;
LANISTA_JSON_TEMPLATE class nlohmann::detail::lexer<
    nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
LANISTA_JSON_TEMPLATE class nlohmann::detail::parser<
    nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
LANISTA_JSON_TEMPLATE class nlohmann::detail::lexer<nlohmann::json,
                                                    nlohmann::detail::iterator_input_adapter<const char*>>;
LANISTA_JSON_TEMPLATE class nlohmann::detail::parser<nlohmann::json,
                                                     nlohmann::detail::iterator_input_adapter<const char*>>;
/// Reads a whole text into a value; false for an invalid text.
LANISTA_JSON_TEMPLATE bool nlohmann::detail::
    parser<nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>::sax_parse_internal(
        nlohmann::detail::json_sax_dom_parser<nlohmann::json>*);
/// Reads a whole text into a value; false for an invalid text. The callback may leave out parts.
LANISTA_JSON_TEMPLATE bool nlohmann::detail::
    parser<nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>::sax_parse_internal(
        nlohmann::detail::json_sax_dom_callback_parser<nlohmann::json>*);
/// Reads a whole text into a value; false for an invalid text.
LANISTA_JSON_TEMPLATE bool
nlohmann::detail::parser<nlohmann::json, nlohmann::detail::iterator_input_adapter<const char*>>::sax_parse_internal(
    nlohmann::detail::json_sax_dom_parser<nlohmann::json>*);
/// Reads a whole text into a value; false for an invalid text. The callback may leave out parts.
LANISTA_JSON_TEMPLATE bool
nlohmann::detail::parser<nlohmann::json, nlohmann::detail::iterator_input_adapter<const char*>>::sax_parse_internal(
    nlohmann::detail::json_sax_dom_callback_parser<nlohmann::json>*);
LANISTA_JSON_TEMPLATE class std::vector<nlohmann::json>;
LANISTA_JSON_TEMPLATE class std::map<std::string, nlohmann::json, std::less<>>;
