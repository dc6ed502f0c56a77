#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/io/data/readers.h"

namespace lanista::data {

/// A picture of a source folder:DIR.
struct ImageFile {
  std::string name;                ///< its path below the root
  std::optional<std::string> cls;  ///< its class, the name of a folder; none: it lies in no folder of a class
};
/// The pictures of a source: first those for training, then those of an official validation part, last the test part.
struct ImageListing {
  std::vector<ImageFile> files;      ///< All pictures; those of a part by class, sorted by bytes.
  std::size_t first_validation = 0;  ///< Index of the first picture behind those for training.
  std::size_t first_test = 0;        ///< Index of the first picture behind those for training and validation.
  bool has_parts = false;            ///< True: the first folder in the path of a picture is its part.
  /// Number of files of each kind of picture that is not read, by ending ("webp"), in the folders of `files`.
  std::map<std::string, std::size_t> unread = {};
};
/// Returns, as text for people, the files of kinds that are not read and the way out: "24 files of kind .webp are not
/// read; convert them to PNG or JPEG". Empty if there are none.
std::string unread_text(const std::map<std::string, std::size_t>& unread);

/// The largest number of folders in each other below the folder of a class.
inline constexpr std::size_t kMaxImageFolderDepth = 8;
/// The largest number of folders of one source, each counted as often as links lead to it.
inline constexpr std::size_t kMaxImageFolders = 50'000;
/// The largest number of folders and pictures of one source.
inline constexpr std::size_t kMaxImageFiles = std::size_t{1} << 22;

/// Lists the pictures (PNG, JPEG) below `root` by the rules of the request. Names that begin with a dot are left out.
/// Links are followed.
///
/// A folder is a class, with all pictures below it. The folders train/ and val/, test/ or both above the classes are
/// parts (rules 2: in any case, also training, valid, validation, eval and testing). With rules 1 only train/ and test/
/// alone are parts, and only pictures directly in the folder of a class count. If the request has a known data set,
/// pictures may lie outside of classes. Errors: kDataLoss (a layout that is none of these, with the known ones and the
/// names found; a class without pictures; folders deeper than kMaxImageFolderDepth; a name that is not UTF-8),
/// kNotFound, kResourceExhausted (more than kMaxImageFiles).
Result<ImageListing> list_images(const ReadRequest& request, const std::string& root);

}  // namespace lanista::data
