// Images: an image that is read can be written as PNG, and reads as the same.
#include "lanista/io/formats/image.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const auto image =
      formats::decode_image(fuzz::as_text(data, size), {.applies_orientation = true, .background = {9, 99, 200}});
  if (!image) return 0;
  const auto bytes = formats::encode_png(*image);
  LANISTA_CHECK(bytes.ok(), "an image that was read cannot be written: " + bytes.error().text());
  const auto again = formats::decode_image(*bytes);
  LANISTA_CHECK(again.ok(), "a written image is refused: " + again.error().text());
  LANISTA_CHECK(again->channels == image->channels && again->height == image->height && again->width == image->width &&
                    again->pixels == image->pixels,
                "an image changes when it is written and read");
  return 0;
}
