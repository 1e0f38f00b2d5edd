#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/http/message.h"

// The frames of SPDY/3.1, apart from any connection. Pure.
namespace kopper::http::detail {

struct SpdyFrame {
  enum Type : std::uint16_t {
    kData = 0,
    kSynStream = 1,
    kSynReply = 2,
    kRstStream = 3,
    kSettings = 4,
    kPing = 6,
    kGoAway = 7,
    kHeaders = 8,
    kWindowUpdate = 9,
  };
  static constexpr std::uint8_t kFin = 1;

  Type type = kData;  // any number that a peer may send: one that is none of these is to be ignored
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::uint32_t number = 0;  // RST_STREAM: status; PING: id; WINDOW_UPDATE: how many more
  Headers headers;           // names in lower case
  std::string data;
};

// Cuts what a peer sends into frames. One a connection: headers are compressed over all of it.
class SpdyDecoder {
 public:
  struct Limits {
    std::size_t frame = std::size_t{1} << 20U;
    std::size_t headers = std::size_t{64} << 10U;  // of one frame, decompressed
  };

  explicit SpdyDecoder(Limits limits);
  ~SpdyDecoder();
  SpdyDecoder(const SpdyDecoder&) = delete;
  SpdyDecoder& operator=(const SpdyDecoder&) = delete;

  void feed(std::string_view bytes);
  // The next whole frame; nothing before more is fed. After an error the connection cannot go on.
  std::expected<std::optional<SpdyFrame>, DecodeError> next();

 private:
  class Inflater;
  std::expected<Headers, DecodeError> headers(std::string_view block);
  std::expected<SpdyFrame, DecodeError> control(std::uint16_t type, std::uint8_t flags, std::string_view payload);

  const Limits limits_;
  std::string bytes_;
  std::size_t taken_ = 0;  // of bytes_
  std::unique_ptr<Inflater> inflater_;
};

// The bytes of a frame. SYN_STREAM, SYN_REPLY and HEADERS are to be sent in the order in which they were encoded.
class SpdyEncoder {
 public:
  SpdyEncoder();
  ~SpdyEncoder();
  SpdyEncoder(const SpdyEncoder&) = delete;
  SpdyEncoder& operator=(const SpdyEncoder&) = delete;

  std::string syn_stream(std::uint32_t stream, const Headers& headers);
  std::string syn_reply(std::uint32_t stream, const Headers& headers);
  static std::string data(std::uint32_t stream, std::string_view bytes, bool fin);
  static std::string reset(std::uint32_t stream, std::uint32_t status);
  static std::string ping(std::uint32_t id);
  static std::string goaway(std::uint32_t last_stream);
  static std::string window_update(std::uint32_t stream, std::uint32_t more);

 private:
  class Deflater;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace kopper::http::detail
