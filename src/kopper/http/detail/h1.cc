#include "kopper/http/detail/h1.h"

#include <algorithm>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::http::detail {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using beast::string_view;

constexpr std::size_t kReadBytes = std::size_t{16} << 10U;

std::string_view to_std(string_view text) { return {text.data(), text.size()}; }

void append_header(std::string& out, std::string_view name, std::string_view value) {
  constexpr std::string_view kBreaks("\r\n\0", 3);
  if (name.find_first_of(kBreaks) != std::string_view::npos || value.find_first_of(kBreaks) != std::string_view::npos) {
    throw Error(Code::Invalid, "a header has a line break in it");
  }
  out.append(name).append(": ").append(value).append("\r\n");
}

Error bad_head(const error_code& error) {
  Error out(Code::Invalid, "HTTP/1.1: " + error.message());
  out.http_status = error == beast::http::error::header_limit  ? 431
                    : error == beast::http::error::bad_version ? 505
                                                               : 400;
  return out;
}

}  // namespace

// What of Beast's parser we use, for requests and responses alike.
class H1Reader::Parser {
 public:
  virtual ~Parser() = default;
  virtual std::size_t put(std::string_view bytes, error_code& error) = 0;
  virtual void put_eof(error_code& error) = 0;
  virtual void skip_body() = 0;
  virtual bool started() const = 0;
  virtual bool head_done() const = 0;
  virtual bool done() const = 0;
  virtual H1Head take_head() = 0;

  std::string_view piece;  // of the body, what the last put() found
};

template <bool kIsRequest>
class H1Reader::ParserOf final : public Parser, private beast::http::basic_parser<kIsRequest> {
  using Base = beast::http::basic_parser<kIsRequest>;

 public:
  explicit ParserOf(std::size_t max_header_bytes) {
    Base::header_limit(static_cast<std::uint32_t>(max_header_bytes));
    Base::body_limit(boost::none);  // whoever reads the body counts
    Base::eager(false);             // one piece of the body at a time
  }

  std::size_t put(std::string_view bytes, error_code& error) override {
    return Base::put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  }
  void put_eof(error_code& error) override { Base::put_eof(error); }
  void skip_body() override { Base::skip(true); }
  bool started() const override { return Base::got_some(); }
  bool head_done() const override { return Base::is_header_done(); }
  bool done() const override { return Base::is_done(); }
  H1Head take_head() override {
    head_.keep_alive = Base::keep_alive();
    head_.upgrade = Base::upgrade();
    return std::move(head_);
  }

 private:
  void on_request_impl(beast::http::verb /*verb*/, string_view method, string_view target, int version,
                       error_code& /*error*/) override {
    head_.method = to_std(method);
    head_.target = to_std(target);
    head_.version = version;
  }
  void on_response_impl(int status, string_view /*reason*/, int /*version*/, error_code& /*error*/) override {
    head_.status = status;
  }
  void on_field_impl(beast::http::field /*field*/, string_view name, string_view value,
                     error_code& /*error*/) override {
    if (!Base::is_header_done()) head_.headers.add(to_std(name), to_std(value));  // trailers are left out
  }
  void on_header_impl(error_code& /*error*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/, error_code& /*error*/) override {}
  std::size_t on_body_impl(string_view body, error_code& /*error*/) override {
    piece = to_std(body);
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, string_view /*extensions*/, error_code& /*error*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view body, error_code& /*error*/) override {
    piece = to_std(body);
    return body.size();
  }
  void on_finish_impl(error_code& /*error*/) override {}

  H1Head head_;
};

H1Reader::H1Reader(rt::Stream& stream, Kind kind, std::size_t max_header_bytes)
    : stream_(stream), kind_(kind), max_header_bytes_(max_header_bytes) {
  restart();
}
H1Reader::~H1Reader() = default;

void H1Reader::restart() {
  if (kind_ == Kind::Requests) {
    parser_ = std::make_unique<ParserOf<true>>(max_header_bytes_);
  } else {
    parser_ = std::make_unique<ParserOf<false>>(max_header_bytes_);
  }
}

bool H1Reader::done() const { return parser_->done(); }
bool H1Reader::untouched() const { return !parser_->started() && consumed_ == size_; }

void H1Reader::discard() {
  buffer_.erase(0, consumed_);
  size_ -= std::exchange(consumed_, 0);
}

Task<bool> H1Reader::fill() {
  discard();
  buffer_.resize(size_ + kReadBytes);
  const std::size_t size = co_await stream_.read(std::span(buffer_).subspan(size_));
  size_ += size;
  co_return size > 0;
}

Task<std::optional<H1Head>> H1Reader::head(bool no_body) {
  if (parser_->started()) restart();
  if (no_body) parser_->skip_body();
  bool more = consumed_ == size_;
  while (!parser_->head_done()) {
    bool filled = true;
    if (more) filled = co_await fill();
    if (!filled) {
      if (untouched()) co_return std::nullopt;
      throw Error(Code::Unavailable, "the connection ended in the middle of a message's headers");
    }
    error_code error;
    consumed_ += parser_->put(std::string_view(buffer_).substr(consumed_, size_ - consumed_), error);
    more = error == beast::http::error::need_more;
    if (error && !more) throw bad_head(error);
  }
  co_return parser_->take_head();
}

Task<std::optional<std::string_view>> H1Reader::body() {
  parser_->piece = {};
  bool more = consumed_ == size_;
  while (!parser_->done()) {
    error_code error;
    bool filled = true;
    if (more) filled = co_await fill();
    if (!filled) {
      parser_->put_eof(error);
      if (error) throw Error(Code::Unavailable, "the connection ended in the middle of a body");
      break;
    }
    consumed_ += parser_->put(std::string_view(buffer_).substr(consumed_, size_ - consumed_), error);
    if (error && error != beast::http::error::need_more) throw Error(Code::Invalid, "HTTP/1.1: " + error.message());
    if (!parser_->piece.empty()) co_return parser_->piece;
    more = error == beast::http::error::need_more || consumed_ == size_;
  }
  co_return std::nullopt;
}

Task<> H1Reader::wait_for_data() {
  if (consumed_ == size_) co_await fill();
}

Task<bool> H1Reader::wait_for_end() {
  bool more = true;
  while (more && size_ - consumed_ < kReadBytes) more = co_await fill();
  co_return !more;
}

std::string H1Reader::take_rest() {
  discard();
  buffer_.resize(std::exchange(size_, 0));
  return std::move(buffer_);
}

std::string request_head(const Request& request, std::string_view target, std::string_view authority) {
  if (target.find_first_of(" \r\n") != std::string_view::npos ||
      request.method.find_first_of(" \r\n") != std::string::npos) {
    throw Error(Code::Invalid, "a request's method and target have no spaces");
  }
  std::string out = fmt::format("{} {} HTTP/1.1\r\n", request.method, target);
  if (!request.headers.get("host")) append_header(out, "Host", authority);
  for (const auto& [name, value] : request.headers) append_header(out, name, value);
  const bool may_be_empty = request.method == "GET" || request.method == "HEAD" || request.method == "DELETE";
  if (!request.headers.get("content-length") && !(may_be_empty && request.body.empty())) {
    append_header(out, "Content-Length", std::to_string(request.body.size()));
  }
  return out += "\r\n";
}

std::string response_head(const Response& response, bool chunked, bool keep_alive) {
  const auto reason = beast::http::obsolete_reason(beast::http::int_to_status(static_cast<unsigned>(response.status)));
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", response.status, to_std(reason));
  for (const auto& [name, value] : response.headers) {
    if (!same_name(name, "connection") && !same_name(name, "transfer-encoding")) append_header(out, name, value);
  }
  if (chunked) append_header(out, "Transfer-Encoding", "chunked");
  if (!keep_alive) append_header(out, "Connection", "close");
  return out += "\r\n";
}

}  // namespace kopper::http::detail
