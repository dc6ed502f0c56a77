#include "lanista/base/tensor.h"

#include <gtest/gtest.h>

#include "lanista/base/check.h"

namespace lanista {
namespace {

Tensor tensor_of(ElementType type, std::vector<std::int64_t> shape, std::size_t bytes) {
  return {.name = "t", .type = type, .shape = std::move(shape), .bytes = std::vector<std::byte>(bytes)};
}

TEST(Tensor, CountsElements) {
  EXPECT_EQ(tensor_of(ElementType::kF32, {2, 3, 4}, 0).elements(), 24);
  EXPECT_EQ(tensor_of(ElementType::kI64, {}, 0).elements(), 1);
  EXPECT_EQ(tensor_of(ElementType::kI64, {3, 0}, 0).elements(), 0);
}

TEST(Tensor, KnowsTheSizeOfEveryElementType) {
  EXPECT_EQ(element_size(ElementType::kF32), sizeof(float));
  EXPECT_EQ(element_size(ElementType::kF64), sizeof(double));
  EXPECT_EQ(element_size(ElementType::kI32), sizeof(std::int32_t));
  EXPECT_EQ(element_size(ElementType::kI64), sizeof(std::int64_t));
  EXPECT_EQ(element_size(ElementType::kU8), sizeof(std::uint8_t));
}

TEST(Tensor, GivesItsElementsForReadingAndWriting) {
  Tensor tensor = tensor_of(ElementType::kF64, {2}, 16);

  elements_of<double>(tensor)[1] = 0.25;

  const Tensor& view = tensor;
  EXPECT_EQ(elements_of<double>(view)[0], 0.0);
  EXPECT_EQ(elements_of<double>(view)[1], 0.25);
}

TEST(Tensor, RefusesAnotherTypeAndAWrongNumberOfBytes) {
  Tensor tensor = tensor_of(ElementType::kF64, {2}, 16);
  EXPECT_THROW(elements_of<float>(tensor), InternalError);

  tensor.bytes.pop_back();
  EXPECT_THROW(elements_of<double>(tensor), InternalError);
}

}  // namespace
}  // namespace lanista
