#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "lanista/search/study/config.h"

namespace lanista::train {

/// A recipe of cross-entropy in float32; the test sets what else its optimiser and schedule read.
inline study::Recipe basic_recipe(std::string optimizer, std::string schedule, std::int64_t epochs, std::int64_t batch,
                                  double lr) {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = std::move(optimizer);
  recipe.schedule = std::move(schedule);
  recipe.precision = "float32";
  recipe.epochs = epochs;
  recipe.batch = batch;
  recipe.lr = lr;
  return recipe;
}

}  // namespace lanista::train
