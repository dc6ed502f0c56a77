#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "lanista/model/spaces/published.h"

// Helper functions for tests of the published spaces.
namespace lanista::mutate::testing {

/// Data for the space: `images` with ten classes, unless it needs tokens or tables.
inline ModelInterface ends_for(std::string_view name, const graph::Shape& images) {
  if (name == "wide_deep") return model_interface(graph::Shape{{7}}, 3);
  if (name != "transformer") return model_interface(images, 10);
  return {{{"shape", std::vector<std::int64_t>{16}}, {"dtype", "index"}}, 50};
}

inline Blueprint made(std::string_view name, const ModelInterface& ends,
                      const nlohmann::json& options = nlohmann::json::object()) {
  auto blueprint = published_space(name, options, graph::builtin_ops(), ends);
  EXPECT_TRUE(blueprint.ok()) << name << ": " << blueprint.error().text();
  return *std::move(blueprint);
}

inline space::SearchSpace search_space(const Blueprint& blueprint) {
  space::SearchSpace space;
  for (const space::Parameter& parameter : blueprint.parameters()) EXPECT_TRUE(space.add(parameter).ok());
  return space;
}

}  // namespace lanista::mutate::testing
