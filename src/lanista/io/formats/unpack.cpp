#include "lanista/io/formats/unpack.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "lanista/io/formats/gzip.h"

namespace lanista::formats {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;
constexpr std::size_t kMaxZlibStep = std::size_t{1} << 30;  // zlib counts in 32 bits
constexpr std::uint64_t kHarmlessBytes = std::uint64_t{1} << 20;

}  // namespace

Unpacker::Unpacker(std::string_view bytes, Packing packing, std::string what)
    : rest_(bytes), packing_(packing), what_(std::move(what)) {}

Unpacker::~Unpacker() {
  if (stream_) inflateEnd(stream_.get());
}

Result<std::size_t> Unpacker::read(std::span<char> out) {
  const std::size_t expected = out.size();
  if (packing_ == Packing::kStored) {
    const std::size_t given = std::min(expected, rest_.size());
    if (given > 0) std::memcpy(out.data(), rest_.data(), given);
    rest_.remove_prefix(given);
    return given;
  }
  if (!stream_) {
    auto stream = std::make_unique<z_stream>();
    const int window = packing_ == Packing::kGzip ? 16 + MAX_WBITS : -MAX_WBITS;
    if (inflateInit2(stream.get(), window) != Z_OK) {
      return Error{Code::kResourceExhausted, what_ + ": no memory to unpack it", ""};
    }
    stream_ = std::move(stream);
  }
  while (!out.empty() && !ended_) LANISTA_TRY(inflate_some(out));
  return expected - out.size();
}

Result<void> Unpacker::inflate_some(std::span<char>& out) {
  const auto step_in = static_cast<uInt>(std::min(rest_.size(), kMaxZlibStep));
  const auto step_out = static_cast<uInt>(std::min(out.size(), kMaxZlibStep));
  // zlib's interface predates const; it only reads.
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
  stream_->avail_in = step_in;
  stream_->next_out = reinterpret_cast<Bytef*>(out.data());
  stream_->avail_out = step_out;
  const int status = inflate(stream_.get(), Z_NO_FLUSH);
  rest_.remove_prefix(step_in - stream_->avail_in);
  out = out.subspan(step_out - stream_->avail_out);
  switch (status) {
    case Z_OK:
      return {};
    case Z_STREAM_END:
      return end_member();
    case Z_BUF_ERROR:  // there is space for output, so input is missing
      return damaged("the packed data are cut off");
    case Z_MEM_ERROR:
      return Error{Code::kResourceExhausted, what_ + ": no memory to unpack it", ""};
    default:
      return damaged(std::string("the packed data are damaged (") + (stream_->msg ? stream_->msg : "no reason given") +
                     ")");
  }
}

Result<void> Unpacker::end_member() {
  if (rest_.empty()) {
    ended_ = true;
    return {};
  }
  if (packing_ == Packing::kGzip && is_gzip(rest_)) {  // a gzip file may have several members
    LANISTA_CHECK(inflateReset(stream_.get()) == Z_OK, "a stream that cannot be reset");
    return {};
  }
  return damaged(std::to_string(rest_.size()) + " bytes follow the end of the packed data");
}

std::uint64_t unpack_limit(std::uint64_t packed_bytes) {
  return std::max(kHarmlessBytes, packed_bytes * kMaxCompressionRatio);
}

Result<UnpackedSize> measure_unpacked(std::string_view bytes, Packing packing, const std::string& what,
                                      std::uint64_t max_bytes) {
  Unpacker unpacker(bytes, packing, what);
  UnpackedSize measured;
  std::vector<char> chunk(kChunk);
  for (std::size_t got = kChunk; got == kChunk;) {
    LANISTA_ASSIGN(got, unpacker.read(chunk));
    measured.bytes += got;
    measured.crc = static_cast<std::uint32_t>(
        crc32(measured.crc, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<uInt>(got)));
    if (measured.bytes > max_bytes) {
      return Error{Code::kResourceExhausted,
                   what + ": " + std::to_string(bytes.size()) + " bytes unpack to more than the " +
                       std::to_string(max_bytes) + " that are allowed",
                   ""};
    }
  }
  return measured;
}

Result<std::string> unpack(std::string_view bytes, Packing packing, const std::string& what,
                           const UnpackedSize& measured) {
  Unpacker unpacker(bytes, packing, what);
  std::string out(measured.bytes, '\0');
  LANISTA_ASSIGN(const std::size_t got, unpacker.read(out));
  LANISTA_CHECK(got == out.size(), "bytes that were measured do not come");
  return out;
}

}  // namespace lanista::formats
