#include "bench/recipe.h"

namespace lanista::bench {

study::Recipe plain_recipe() {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "sgd";
  recipe.schedule = "constant";
  recipe.precision = "float32";
  recipe.batch = 32;
  recipe.lr = 0.05;
  recipe.momentum = 0.9;
  recipe.epochs = 1'000'000;
  return recipe;
}

}  // namespace lanista::bench
