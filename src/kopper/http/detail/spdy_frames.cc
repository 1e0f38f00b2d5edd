#include "kopper/http/detail/spdy_frames.h"

#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>
#include <zlib.h>

namespace kopper::http::detail {
namespace {

constexpr std::uint16_t kVersion = 3;
constexpr std::uint32_t kStreamMask = 0x7fff'ffff;
constexpr std::size_t kHead = 8;

void put32(std::string& out, std::uint32_t value) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out.push_back(static_cast<char>(value >> shift & 0xffU));
}

std::uint32_t get32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// What both sides have seen before the first header (SPDY/3, 2.6.10.1).
const std::string& dictionary() {
  static const std::string kBytes = [] {
    std::string out;
    for (const std::string_view word : {"options",
                                        "head",
                                        "post",
                                        "put",
                                        "delete",
                                        "trace",
                                        "accept",
                                        "accept-charset",
                                        "accept-encoding",
                                        "accept-language",
                                        "accept-ranges",
                                        "age",
                                        "allow",
                                        "authorization",
                                        "cache-control",
                                        "connection",
                                        "content-base",
                                        "content-encoding",
                                        "content-language",
                                        "content-length",
                                        "content-location",
                                        "content-md5",
                                        "content-range",
                                        "content-type",
                                        "date",
                                        "etag",
                                        "expect",
                                        "expires",
                                        "from",
                                        "host",
                                        "if-match",
                                        "if-modified-since",
                                        "if-none-match",
                                        "if-range",
                                        "if-unmodified-since",
                                        "last-modified",
                                        "location",
                                        "max-forwards",
                                        "pragma",
                                        "proxy-authenticate",
                                        "proxy-authorization",
                                        "range",
                                        "referer",
                                        "retry-after",
                                        "server",
                                        "te",
                                        "trailer",
                                        "transfer-encoding",
                                        "upgrade",
                                        "user-agent",
                                        "vary",
                                        "via",
                                        "warning",
                                        "www-authenticate",
                                        "method",
                                        "get",
                                        "status",
                                        "200 OK",
                                        "version",
                                        "HTTP/1.1",
                                        "url",
                                        "public",
                                        "set-cookie",
                                        "keep-alive",
                                        "origin"}) {
      put32(out, static_cast<std::uint32_t>(word.size()));
      out += word;
    }
    out +=
        "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
        "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
        "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
        "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
        "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
        "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
    return out;
  }();
  return kBytes;
}

const Bytef* as_bytes(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }

void point(z_stream& stream, std::string_view in) {
  stream.next_in = const_cast<Bytef*>(as_bytes(in));  // NOLINT(cppcoreguidelines-pro-type-const-cast): zlib's interface
  stream.avail_in = static_cast<uInt>(in.size());
}

std::string control_head(SpdyFrame::Type type, std::size_t size) {
  std::string out;
  out.reserve(kHead + size);
  put32(out, 0x8000'0000U | std::uint32_t{kVersion} << 16U | type);
  put32(out, static_cast<std::uint32_t>(size));
  return out;
}

std::string two_numbers(SpdyFrame::Type type, std::uint32_t one, std::uint32_t other) {
  std::string out = control_head(type, 8);
  put32(out, one);
  put32(out, other);
  return out;
}

std::string header_block(const Headers& headers) {
  std::string out;
  put32(out, static_cast<std::uint32_t>(headers.size()));
  for (const auto& [name, value] : headers) {
    put32(out, static_cast<std::uint32_t>(name.size()));
    out += name;
    put32(out, static_cast<std::uint32_t>(value.size()));
    out += value;
  }
  return out;
}

std::unexpected<DecodeError> wrong(std::string what) { return std::unexpected(DecodeError{std::move(what), "", 0}); }

}  // namespace

class SpdyDecoder::Inflater {
 public:
  Inflater() {
    if (::inflateInit(&stream_) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::optional<std::string> inflate(std::string_view in, std::size_t limit) {
    std::string out;
    std::array<char, 4096> buffer;
    point(stream_, in);
    for (;;) {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = buffer.size();
      int result = ::inflate(&stream_, Z_SYNC_FLUSH);
      if (result == Z_NEED_DICT) {
        result = ::inflateSetDictionary(&stream_, as_bytes(dictionary()), static_cast<uInt>(dictionary().size()));
        if (result == Z_OK) continue;
      }
      out.append(buffer.data(), buffer.size() - stream_.avail_out);
      if (out.size() > limit) return std::nullopt;
      if (result == Z_BUF_ERROR && stream_.avail_in == 0) return out;  // there was nothing more
      if (result != Z_OK) return std::nullopt;
      if (stream_.avail_in == 0 && stream_.avail_out > 0) return out;
    }
  }

 private:
  z_stream stream_{};
};

SpdyDecoder::SpdyDecoder(Limits limits) : limits_(limits), inflater_(std::make_unique<Inflater>()) {}
SpdyDecoder::~SpdyDecoder() = default;

void SpdyDecoder::feed(std::string_view bytes) {
  bytes_.erase(0, std::exchange(taken_, 0));
  bytes_ += bytes;
}

std::expected<std::optional<SpdyFrame>, DecodeError> SpdyDecoder::next() {
  const auto bytes = std::string_view(bytes_).substr(taken_);
  if (bytes.size() < kHead) return std::nullopt;
  const std::uint32_t first = get32(bytes, 0);
  const std::uint32_t second = get32(bytes, 4);
  const std::size_t size = second & 0xff'ffffU;
  const auto flags = static_cast<std::uint8_t>(second >> 24U);
  if (size > limits_.frame) return wrong(fmt::format("a frame of {} bytes", size));
  if (bytes.size() < kHead + size) return std::nullopt;
  const auto payload = bytes.substr(kHead, size);
  taken_ += kHead + size;
  if ((first & ~kStreamMask) != 0) {
    if ((first >> 16U & 0x7fffU) != kVersion) return wrong("a frame of another version");
    auto frame = control(static_cast<std::uint16_t>(first & 0xffffU), flags, payload);
    if (!frame) return std::unexpected(std::move(frame.error()));
    return std::move(*frame);
  }
  SpdyFrame frame;
  frame.flags = flags;
  frame.stream = first;
  frame.data = payload;
  return frame;
}

std::expected<SpdyFrame, DecodeError> SpdyDecoder::control(std::uint16_t type, std::uint8_t flags,
                                                           std::string_view payload) {
  SpdyFrame frame;
  frame.type = static_cast<SpdyFrame::Type>(type);
  frame.flags = flags;
  std::size_t before_headers = 0;
  switch (frame.type) {
    case SpdyFrame::kPing:
      if (payload.size() != 4) return wrong("a PING of another size");
      frame.number = get32(payload, 0);
      return frame;
    case SpdyFrame::kRstStream:
    case SpdyFrame::kWindowUpdate:
      if (payload.size() != 8) return wrong("RST_STREAM or WINDOW_UPDATE of another size");
      frame.stream = get32(payload, 0) & kStreamMask;
      frame.number = get32(payload, 4);
      return frame;
    case SpdyFrame::kSynStream: before_headers = 10; break;
    case SpdyFrame::kSynReply:
    case SpdyFrame::kHeaders: before_headers = 4; break;
    default: return frame;
  }
  if (payload.size() < before_headers) return wrong("a frame that is cut short");
  frame.stream = get32(payload, 0) & kStreamMask;
  auto found = headers(payload.substr(before_headers));
  if (!found) return std::unexpected(std::move(found.error()));
  frame.headers = std::move(*found);
  return frame;
}

std::expected<Headers, DecodeError> SpdyDecoder::headers(std::string_view block) {
  const auto text = inflater_->inflate(block, limits_.headers);
  if (!text) return wrong("headers that cannot be decompressed, or are too long");
  std::string_view left = *text;
  const auto number = [&left]() -> std::optional<std::uint32_t> {
    if (left.size() < 4) return std::nullopt;
    const auto value = get32(left, 0);
    left.remove_prefix(4);
    return value;
  };
  const auto string = [&]() -> std::optional<std::string_view> {
    const auto size = number();
    if (!size || *size > left.size()) return std::nullopt;
    const auto value = left.substr(0, *size);
    left.remove_prefix(*size);
    return value;
  };
  const auto count = number();
  if (!count) return wrong("headers that are cut short");
  Headers headers;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto name = string();
    const auto value = string();
    if (!name || !value) return wrong("headers that are cut short");
    headers.add(*name, *value);
  }
  return headers;
}

class SpdyEncoder::Deflater {
 public:
  Deflater() {
    if (::deflateInit(&stream_, Z_DEFAULT_COMPRESSION) != Z_OK) throw std::bad_alloc();
    ::deflateSetDictionary(&stream_, as_bytes(dictionary()), static_cast<uInt>(dictionary().size()));
  }
  ~Deflater() { ::deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  std::string deflate(std::string_view in) {
    std::string out;
    std::array<char, 1024> buffer;
    point(stream_, in);
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = buffer.size();
      ::deflate(&stream_, Z_SYNC_FLUSH);
      out.append(buffer.data(), buffer.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return out;
  }

 private:
  z_stream stream_{};
};

SpdyEncoder::SpdyEncoder() : deflater_(std::make_unique<Deflater>()) {}
SpdyEncoder::~SpdyEncoder() = default;

std::string SpdyEncoder::syn_stream(std::uint32_t stream, const Headers& headers) {
  const std::string block = deflater_->deflate(header_block(headers));
  std::string out = control_head(SpdyFrame::kSynStream, 10 + block.size());
  put32(out, stream);
  put32(out, 0);
  out.append(2, '\0');
  return out + block;
}

std::string SpdyEncoder::syn_reply(std::uint32_t stream, const Headers& headers) {
  const std::string block = deflater_->deflate(header_block(headers));
  std::string out = control_head(SpdyFrame::kSynReply, 4 + block.size());
  put32(out, stream);
  return out + block;
}

std::string SpdyEncoder::data(std::uint32_t stream, std::string_view bytes, bool fin) {
  std::string out;
  out.reserve(kHead + bytes.size());
  put32(out, stream);
  put32(out, static_cast<std::uint32_t>(bytes.size()) | (fin ? std::uint32_t{SpdyFrame::kFin} << 24U : 0U));
  out += bytes;
  return out;
}

std::string SpdyEncoder::reset(std::uint32_t stream, std::uint32_t status) {
  return two_numbers(SpdyFrame::kRstStream, stream, status);
}

std::string SpdyEncoder::ping(std::uint32_t id) {
  std::string out = control_head(SpdyFrame::kPing, 4);
  put32(out, id);
  return out;
}

std::string SpdyEncoder::goaway(std::uint32_t last_stream) { return two_numbers(SpdyFrame::kGoAway, last_stream, 0); }

std::string SpdyEncoder::window_update(std::uint32_t stream, std::uint32_t more) {
  return two_numbers(SpdyFrame::kWindowUpdate, stream, more);
}

}  // namespace kopper::http::detail
