// Predicts the class of one image with the best model of a study on the digits: predict FOLDER
#include <lanista/lanista.h>

#include <algorithm>
#include <array>
#include <iostream>

// A zero: 8 x 8 pixels from 0 to 16, row by row.
constexpr std::array<float, 64> kImage = {
    0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0, 0, 3, 15, 2, 0,  11, 8, 0, 0, 4, 12, 0,  0,  8, 8, 0,
    0, 5, 8, 0,  0, 9, 8, 0, 0, 4, 11, 0,  1,  12, 7, 0, 0, 2, 14, 5, 10, 12, 0, 0, 0, 0, 6,  13, 10, 0, 0, 0};

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: predict FOLDER\n";
    return 2;
  }
  const lanista::Result<lanista::Model> model = lanista::Model::load(arguments[1]);
  if (!model) {
    std::cerr << model.error().text() << "\n";
    return 1;
  }

  lanista::Tensor samples{"image", lanista::ElementType::kF32, {1, 1, 8, 8}, std::vector<std::byte>(sizeof(kImage))};
  std::ranges::copy(kImage, lanista::elements_of<float>(samples).begin());
  const lanista::Result<lanista::Predictions> predicted = model->predict(samples);
  if (!predicted) {
    std::cerr << predicted.error().text() << "\n";
    return 1;
  }
  std::cout << "class " << predicted->classes[0] << "\n";
  for (std::size_t k = 0; k < predicted->columns.size(); ++k) {
    std::cout << predicted->columns[k] << " " << predicted->values[k] << "\n";
  }
  return 0;
}
