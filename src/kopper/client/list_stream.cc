#include "kopper/client/list_stream.h"

#include "kopper/base/error.h"
#include "kopper/client/request.h"
#include "kopper/rt/scope.h"

namespace kopper::client {

Task<std::optional<std::string_view>> ListStream::next() {
  while (given_ == ends_.size()) {
    items_.clear();
    ends_.clear();
    given_ = 0;
    const auto chunk = co_await read();
    if (!chunk) {
      auto meta = splitter_.finish();
      if (!meta) throw_error(meta.error(), "the server's list");
      meta_ = std::move(*meta);
      co_return std::nullopt;
    }
    const auto fed = splitter_.feed(*chunk, [this](std::string_view item) {
      items_ += item;
      ends_.push_back(items_.size());
    });
    if (!fed) throw_error(fed.error(), "the server's list");
  }
  const auto begin = given_ == 0 ? 0 : ends_[given_ - 1];
  const auto end = ends_[given_++];
  co_return std::string_view(items_).substr(begin, end - begin);
}

Task<std::optional<std::string_view>> ListStream::read() {
  if (patience_.count() <= 0) return body_->read();
  return rt::timeout(patience_, body_->read());
}

namespace {

Task<ListStream> opened(Client client, http::Request request) {
  auto response = co_await client.stream(std::move(request));
  co_return ListStream(std::move(response), client.options().timeout);
}

}  // namespace

Task<ListStream> open_page(RawApi api, ListOptions options, std::string continue_token) {
  return opened(api.client(), list_request(api.resource(), options, continue_token, api.view()));
}

}  // namespace kopper::client
