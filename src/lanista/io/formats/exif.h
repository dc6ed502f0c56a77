#pragma once

#include <string_view>

#include "lanista/io/formats/image.h"

namespace lanista::formats {

// The orientation of a picture, as EXIF stores it (CIPA DC-008, tag 0x0112). A camera stores the pixels as the sensor
// has them, and the orientation that makes them upright. 1 is upright, 3 upside down, 6 and 8 are turned by a quarter;
// 2, 4, 5 and 7 are mirrored. Data that are damaged, cut off or absent mean 1; they are never an error.

/// The orientation, 1 to 8, in EXIF data: a TIFF header and its first directory. The other directories are not read.
int exif_orientation(std::string_view tiff);
/// The orientation, 1 to 8, in the first EXIF segment of a JPEG file.
int jpeg_orientation(std::string_view bytes);
/// The orientation, 1 to 8, in the chunk eXIf of a PNG file.
int png_orientation(std::string_view bytes);

/// The picture that is upright if `image` is stored with `orientation` (1 to 8). From 5 on, height and width change
/// places. Another orientation throws InternalError.
Image upright(Image image, int orientation);

}  // namespace lanista::formats
