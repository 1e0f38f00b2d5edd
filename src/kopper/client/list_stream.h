#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/client/options.h"
#include "kopper/client/raw_api.h"
#include "kopper/http/message.h"
#include "kopper/json/splitter.h"
#include "kopper/rt/task.h"

namespace kopper::client {

// One page of a LIST, cut into objects while it downloads: the memory needed is that of a chunk and of the largest
// object.
class ListStream {
 public:
  // A server that sends nothing for `patience` (0: for ever) is given up.
  ListStream(http::Response response, std::chrono::milliseconds patience)
      : body_(std::move(response.body)), patience_(patience) {}

  // The next object; nothing at the end. Valid until the next call. API servers leave apiVersion and kind out of the
  // objects of a list. Throws Error{Invalid} when the answer is no list.
  Task<std::optional<std::string_view>> next();

  // After the end.
  const std::string& continue_token() const { return meta_.continue_token; }
  const std::string& resource_version() const { return meta_.resource_version; }

 private:
  Task<std::optional<std::string_view>> read();

  std::unique_ptr<http::Body> body_;
  std::chrono::milliseconds patience_;
  json::ListSplitter splitter_;
  json::ListMeta meta_;
  // The objects that ended in the last chunk, one after another, and where each ends.
  std::string items_;
  std::vector<std::size_t> ends_;
  std::size_t given_ = 0;
};

Task<ListStream> open_page(RawApi api, ListOptions options, std::string continue_token);

}  // namespace kopper::client
