#include "lanista/io/store/record_json.h"

#include <optional>
#include <string>
#include <utility>

namespace lanista::store {
namespace {

/// Counts the parser's events and builds nothing.
class Counter final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::optional<Error> error;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool key(string_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail("is not JSON at byte " + std::to_string(position));
  }

 private:
  bool fail(std::string message) {
    error = Error{Code::kDataLoss, std::move(message), ""};
    return false;
  }
  bool value() {
    if (++values_ <= kMaxRecordValues) return true;
    return fail("holds more than " + std::to_string(kMaxRecordValues) + " values");
  }
  bool open() {
    if (++depth_ <= kMaxRecordDepth) return value();
    return fail("is nested deeper than " + std::to_string(kMaxRecordDepth) + " levels");
  }
  bool close() {
    --depth_;
    return true;
  }

  std::size_t values_ = 0, depth_ = 0;
};

}  // namespace

Result<void> check_record_json(std::string_view text) {
  Counter counter;
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &counter);
  if (counter.error) return *std::move(counter.error);
  LANISTA_CHECK(whole, "the JSON reader failed without a reason");
  return {};
}

Result<nlohmann::json> parse_record_json(std::string_view text) {
  LANISTA_TRY(check_record_json(text));
  auto value = nlohmann::json::parse(text, nullptr, false);
  LANISTA_CHECK(!value.is_discarded(), "two readers disagree about a JSON text");
  return value;
}

}  // namespace lanista::store
