#include "lanista/io/formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

namespace lanista::formats {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 16> kForeignTypes = {"BOOL", "I8",      "F8_E5M2", "F8_E4M3", "F8_E8M0", "I16",
                                                            "U16",  "F16",     "BF16",    "U32",     "U64",     "C64",
                                                            "F4",   "F6_E2M3", "F6_E3M2", "C128"};

std::optional<ElementType> held_type(std::string_view name) {
  for (const auto& [type, known] : kSafetensorsTypes) {
    if (name == known) return type;
  }
  return std::nullopt;
}

/// A state machine over the parser's events. The levels are header > entry > field > list.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;
  std::optional<Error> error;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a number that is no integer"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == ParseState::kShape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return fail("a dimension of tensor \"" + name_ + "\" is " + std::to_string(value) + ", above 2^63 - 1");
      }
      if (entry().shape.size() == kMaxTensorRank) {
        return fail("tensor \"" + name_ + "\" has more than " + std::to_string(kMaxTensorRank) + " dimensions");
      }
      entry().shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (state_ == ParseState::kOffsets) {
      if (offsets_ == 2) return fail("tensor \"" + name_ + "\" has more than two data_offsets");
      (offsets_++ == 0 ? entry().begin : entry().end) = value;
      return true;
    }
    return unexpected("a number");
  }

  bool string(string_t& value) override {
    if (state_ == ParseState::kMetadata) {
      header.metadata.emplace(key_, std::move(value));
      state_ = ParseState::kMetadataKey;
      return true;
    }
    if (state_ != ParseState::kType) return unexpected("a text");
    state_ = ParseState::kField;
    if (const auto type = held_type(value)) {
      entry().type = *type;
      return true;
    }
    const std::string what = "tensor \"" + name_ + "\" has dtype \"" + value.substr(0, 32) + "\"";
    if (std::find(kForeignTypes.begin(), kForeignTypes.end(), value) == kForeignTypes.end()) {
      return fail(what + ", which the format does not know");
    }
    error = Error{Code::kUnimplemented, "safetensors: " + what + "; held are F32, F64, I32, I64, U8", ""};
    return false;
  }

  bool start_object(std::size_t) override {
    if (state_ == ParseState::kStart) {
      state_ = ParseState::kName;
      return true;
    }
    if (state_ != ParseState::kEntry) return unexpected("an object");
    if (name_ == kSafetensorsMetadata) {
      state_ = ParseState::kMetadataKey;
      return true;
    }
    if (header.entries.size() == kMaxSafetensorsTensors) {
      return fail("more than " + std::to_string(kMaxSafetensorsTensors) + " tensors");
    }
    header.entries.emplace_back().name = name_;
    fields_ = 0;
    state_ = ParseState::kField;
    return true;
  }

  bool key(string_t& value) override {
    if (state_ == ParseState::kName) {
      if (!names_.insert(value).second) return fail("the name \"" + value + "\" stands twice");
      name_ = std::move(value);
      state_ = ParseState::kEntry;
      return true;
    }
    if (state_ == ParseState::kMetadataKey) {
      if (header.metadata.contains(value)) return fail("__metadata__ has the key \"" + value + "\" twice");
      if (header.metadata.size() == kMaxSafetensorsMetadata) {
        return fail("__metadata__ has more than " + std::to_string(kMaxSafetensorsMetadata) + " entries");
      }
      key_ = std::move(value);
      state_ = ParseState::kMetadata;
      return true;
    }
    if (value == "dtype") return field(ParseState::kType, 1);
    if (value == "shape") return field(ParseState::kShapeStart, 2);
    if (value == "data_offsets") return field(ParseState::kOffsetsStart, 4);
    return fail("tensor \"" + name_ + "\" has the unknown key \"" + value.substr(0, 64) + "\"");
  }

  bool end_object() override {
    if (state_ == ParseState::kName) {
      state_ = ParseState::kEnd;
      return true;
    }
    if (state_ == ParseState::kField && fields_ != 7) {
      return fail("tensor \"" + name_ + "\" lacks dtype, shape or data_offsets");
    }
    state_ = ParseState::kName;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == ParseState::kShapeStart) {
      state_ = ParseState::kShape;
      return true;
    }
    if (state_ != ParseState::kOffsetsStart) return unexpected("a list");
    offsets_ = 0;
    state_ = ParseState::kOffsets;
    return true;
  }

  bool end_array() override {
    if (state_ == ParseState::kOffsets && offsets_ != 2)
      return fail("tensor \"" + name_ + "\" lacks one of its data_offsets");
    state_ = ParseState::kField;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail("header is not valid JSON at byte " + std::to_string(position));
  }

 private:
  enum class ParseState {
    kStart,
    kName,
    kEntry,
    kMetadataKey,
    kMetadata,
    kField,
    kType,
    kShapeStart,
    kShape,
    kOffsetsStart,
    kOffsets,
    kEnd
  };

  SafetensorsEntry& entry() { return header.entries.back(); }

  bool fail(std::string message) {
    error = Error{Code::kDataLoss, "safetensors: " + std::move(message), ""};
    return false;
  }

  bool unexpected(const char* what) {
    switch (state_) {
      case ParseState::kStart:
        return fail(std::string("header is ") + what + ", not an object");
      case ParseState::kEntry:
        return fail("entry \"" + name_ + "\" is " + what + ", not an object");
      case ParseState::kMetadata:
        return fail("__metadata__ \"" + key_ + "\" is " + what + ", not a text");
      case ParseState::kType:
        return fail("dtype of tensor \"" + name_ + "\" is " + what + ", not a text");
      default:
        return fail("shape or data_offsets of tensor \"" + name_ + "\": " + what +
                    " where a list of unsigned integers must stand");
    }
  }

  bool field(ParseState state, unsigned bit) {
    if ((fields_ & bit) != 0) return fail("tensor \"" + name_ + "\" has dtype, shape or data_offsets twice");
    fields_ |= bit;
    state_ = state;
    return true;
  }

  ParseState state_ = ParseState::kStart;
  std::set<std::string> names_;
  std::string name_, key_;
  unsigned fields_ = 0;  // bits of the fields that the current entry has
  int offsets_ = 0;
};

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json) {
  HeaderReader reader;
  const bool whole = Json::sax_parse(json.begin(), json.end(), &reader);
  if (reader.error) return *std::move(reader.error);
  LANISTA_CHECK(whole, "the JSON reader failed without a reason");
  return std::move(reader.header);
}

}  // namespace lanista::formats
