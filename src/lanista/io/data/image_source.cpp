#include <algorithm>
#include <utility>

#include "lanista/base/parse_number.h"
#include "lanista/base/utf8.h"
#include "lanista/io/data/arrays.h"
#include "lanista/io/data/resize.h"

namespace lanista::data {
namespace {

struct ImageSize {
  std::int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
  std::string text() const { return std::to_string(height) + "x" + std::to_string(width); }
};
ImageSize size_of(const formats::Image& image) { return {image.height, image.width}; }

Result<std::optional<ImageSize>> size_option(const Source& source) {
  const auto text = source.value("size");
  if (!text) return std::optional<ImageSize>();
  constexpr std::int64_t kMax = 4096;
  const std::size_t times = std::min(text->find('x'), text->size() - 1);
  const auto height = parse_number<std::int64_t>(text->substr(0, times));
  const auto width = parse_number<std::int64_t>(text->substr(times + 1));
  const auto fits = [](const auto& side) { return side && *side >= 1 && *side <= kMax; };
  if (fits(height) && fits(width)) return std::optional(ImageSize{*height, *width});
  return source.error("size is \"" + *text + "\", allowed is HEIGHTxWIDTH of 1 to " + std::to_string(kMax));
}

struct ImageFile {
  std::string name;                ///< below the root
  std::optional<std::string> cls;  ///< its folder
};
struct ImageListing {
  std::vector<ImageFile> files;
  std::int64_t first_test_row = -1;
};

bool is_image(const std::string& name) {
  const std::string ending = extension_of(name);
  return ending == "png" || ending == "jpg" || ending == "jpeg";
}

/// Names of images and of folders in `folder`, sorted by bytes. Other files are ignored.
struct FolderEntries {
  std::vector<std::string> images, folders;
};
Result<FolderEntries> list_folder(FileSystem& fs, const std::string& folder) {
  LANISTA_ASSIGN(const auto names, fs.list(folder));
  FolderEntries out;
  for (const std::string& name : names) {
    if (name.starts_with('.')) continue;
    if (find_invalid_utf8(name) != std::string_view::npos) {
      return Error{Code::kDataLoss, "a file name is not UTF-8", folder};
    }
    if (is_image(name)) {
      out.images.push_back(name);
    } else if (is_folder(fs, resolve_path(name, folder))) {
      out.folders.push_back(name);
    }
  }
  return out;
}

/// The images of one part: those of its class folders, or its own if no classes are needed.
Result<std::vector<ImageFile>> list_part(const ReadRequest& request, const std::string& root, const std::string& part) {
  const std::string folder = part.empty() ? root : resolve_path(part, root);
  const std::string prefix = part.empty() ? "" : part + "/";
  LANISTA_ASSIGN(const FolderEntries content, list_folder(*request.fs, folder));
  std::vector<ImageFile> files;
  if (!content.images.empty()) {
    if (request.expected_spec == nullptr) {
      return Error{Code::kDataLoss, "image \"" + content.images.front() + "\" lies in no folder of a class", folder};
    }
    for (const std::string& image : content.images) files.push_back({prefix + image, std::nullopt});
    return files;
  }
  for (const std::string& cls : content.folders) {
    LANISTA_ASSIGN(const FolderEntries inside, list_folder(*request.fs, resolve_path(cls, folder)));
    if (inside.images.empty()) {
      return Error{Code::kDataLoss, "the folder of class \"" + cls + "\" holds no PNG or JPEG", folder};
    }
    for (const std::string& image : inside.images) files.push_back({prefix + cls + "/" + image, cls});
  }
  if (files.empty()) return Error{Code::kDataLoss, "there are no images (PNG, JPEG)", folder};
  return files;
}

Result<ImageListing> list_images(const ReadRequest& request, const std::string& root) {
  ImageListing out;
  LANISTA_ASSIGN(const FolderEntries top, list_folder(*request.fs, root));
  const bool parts = top.images.empty() && top.folders == std::vector<std::string>{"test", "train"};
  LANISTA_ASSIGN(out.files, list_part(request, root, parts ? "train" : ""));
  if (!parts) return out;
  out.first_test_row = static_cast<std::int64_t>(out.files.size());
  LANISTA_ASSIGN(const auto test, list_part(request, root, "test"));
  out.files.insert(out.files.end(), test.begin(), test.end());
  return out;
}

/// Reads images into the same size.
Result<std::vector<formats::Image>> load_images(const ReadRequest& request, const std::string& root,
                                                const std::vector<ImageFile>& files, std::optional<ImageSize> size) {
  const DataSpec* expected_spec = request.expected_spec;
  LANISTA_ASSIGN(const std::string resizes, request.source.choice("resize", {"no", "yes"}));
  bool fits = size || resizes == "yes";
  if (resizes == "yes" && expected_spec == nullptr) {
    return request.source.error("resize= is for new images of a known data set; give size=HEIGHTxWIDTH");
  }
  if (!size && expected_spec != nullptr && expected_spec->features.rank() == 3) {
    size = {expected_spec->features.dims[1], expected_spec->features.dims[2]};
  }
  std::vector<formats::Image> images;
  std::int64_t pixels = 0;
  for (const ImageFile& file : files) {
    const std::string path = file.name.empty() ? root : resolve_path(file.name, root);
    LANISTA_ASSIGN(const std::string bytes, load_file(*request.fs, path));
    auto image = formats::decode_image(bytes);
    if (!image) return with_file(image.error(), path);
    if (!size) size = size_of(*image);
    if (size_of(*image) != *size && !fits) {
      const std::string advice = expected_spec != nullptr ? "resize=yes makes them fit" : "give size=HEIGHTxWIDTH";
      return Error{Code::kDataLoss,
                   "the image is " + size_of(*image).text() + ", expected is " + size->text() + "; " + advice, path};
    }
    images.push_back(resize(*image, size->height, size->width));
    pixels += static_cast<std::int64_t>(images.back().pixels.size());
    if (pixels > kMaxFeatures) {
      return Error{Code::kResourceExhausted, "the images are more than " + std::to_string(kMaxFeatures) + " numbers",
                   root};
    }
  }
  return images;
}

Result<std::int64_t> channels_of(const ReadRequest& request, const std::vector<formats::Image>& images) {
  LANISTA_ASSIGN(const std::string color, request.source.choice("color", {"auto", "grey", "rgb"}));
  if (request.expected_spec != nullptr) {
    return std::int64_t{
        request.expected_spec->features.rank() == 3 && request.expected_spec->features.dims[0] == 3 ? 3 : 1};
  }
  const bool any = std::ranges::any_of(images, [](const formats::Image& i) { return i.channels == 3; });
  return std::int64_t{color == "rgb" || (color == "auto" && any) ? 3 : 1};
}

Tensor stack(std::vector<formats::Image>& images, std::int64_t channels, const std::string& name) {
  const ImageSize size = size_of(images.front());
  Tensor out{.name = name,
             .type = ElementType::kU8,
             .shape = {static_cast<std::int64_t>(images.size()), channels, size.height, size.width},
             .bytes = {}};
  out.bytes.reserve(static_cast<std::size_t>(out.elements()));
  for (formats::Image& image : images) {
    const formats::Image same = with_channels(image, channels);
    const auto bytes = std::as_bytes(std::span(same.pixels));
    out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
    image.pixels = {};
  }
  return out;
}

/// One class number for each file; none if files lack a class, or if known classes do not cover them.
std::optional<std::vector<std::int32_t>> class_numbers(const std::vector<ImageFile>& files,
                                                       const std::vector<std::string>& classes) {
  std::vector<std::int32_t> out;
  for (const ImageFile& file : files) {
    const auto it = file.cls ? std::ranges::find(classes, *file.cls) : classes.end();
    if (it == classes.end()) return std::nullopt;
    out.push_back(static_cast<std::int32_t>(it - classes.begin()));
  }
  return out;
}

}  // namespace

Result<LoadedRows> read_images(const ReadRequest& request) {
  const Source& source = request.source;
  const std::string root = request.path(source.argument);
  if (source.argument.empty()) return source.error("expected a folder, folder:DIR");
  LANISTA_ASSIGN(const auto size, size_option(source));
  ImageListing listing;
  if (request.expected_spec != nullptr && !is_folder(*request.fs, root)) {
    listing.files.push_back({"", std::nullopt});
  } else {
    LANISTA_ASSIGN(listing, list_images(request, root));
  }
  std::vector<std::string> classes;
  if (request.expected_spec != nullptr) {
    classes = request.expected_spec->labels;
  } else {
    const auto end = listing.first_test_row < 0 ? listing.files.end() : listing.files.begin() + listing.first_test_row;
    for (auto file = listing.files.begin(); file != end; ++file) classes.push_back(*file->cls);
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  }
  const auto labels = class_numbers(listing.files, classes);
  if (request.expected_spec == nullptr && (!labels || classes.size() < 2)) {
    return Error{Code::kDataLoss,
                 !labels ? "test/ has a class that train/ lacks" : "there is one class alone, \"" + classes[0] + "\"",
                 root};
  }

  LANISTA_ASSIGN(auto images, load_images(request, root, listing.files, size));
  LANISTA_ASSIGN(const std::int64_t channels, channels_of(request, images));
  Arrays arrays{.x = stack(images, channels, root),
                .y = {},
                .labels = classes,
                .names = {},
                .first_test_row = listing.first_test_row};
  if (labels) {
    const auto bytes = std::as_bytes(std::span(*labels));
    arrays.y = Tensor{.name = root,
                      .type = ElementType::kI32,
                      .shape = {static_cast<std::int64_t>(labels->size())},
                      .bytes = {bytes.begin(), bytes.end()}};
  }
  for (const ImageFile& file : listing.files) arrays.names.push_back(file.name.empty() ? source.argument : file.name);
  LANISTA_ASSIGN(LoadedRows found, rows_from_arrays(std::move(arrays), "classes", request.expected_spec));
  found.raw.spec.name = stem_of(root);
  return found;
}

}  // namespace lanista::data
