#pragma once

#include <string>

#include "lanista/io/studyfile/study_file.h"

// A space of models in a study file, for tests.
namespace lanista::studyfile::testing {

inline constexpr const char* kSpace = R"yaml(
    choices: {width: [8, 16], k: int(1, 3)}
    layers:
      - {name: a, linear: {out: width}}
      - choice: {label: act, of: [relu, gelu, skip, {name: two, layers: [{linear: {out: "2 * width"}}, relu]}]}
      - repeat:
          label: depth
          depth: {int: [0, 2]}
          each: own
          layers: [{linear: {out: {label: inner, of: [4, 6]}}}, {if: "inner > 4", then: [relu], else: [gelu]}]
      - {name: b, linear: {out: "max(width, k * 4)"}}
      - inputs: {label: skip, from: [a, b], choose: any, reduce: mean}
      - linear: {out: classes}
)yaml";

inline std::string study_text(const std::string& space, const std::string& more = "") {
  return "schema: 1\nname: toy\ndata: {source: \"builtin:digits\"}\nmodel:\n  space:" + space + more;
}

inline study::StudyConfig read(const std::string& text) {
  auto config = read_study(text, "toy.yaml");
  LANISTA_CHECK(config.ok(), config ? "" : config.error().text());
  return *std::move(config);
}

}  // namespace lanista::studyfile::testing
