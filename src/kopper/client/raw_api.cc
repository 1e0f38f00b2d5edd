#include "kopper/client/raw_api.h"

#include <utility>

#include "kopper/client/list_stream.h"
#include "kopper/client/retry.h"
#include "kopper/json/value.h"
#include "kopper/rt/loop.h"

// Each verb is a coroutine over values, so that neither a temporary RawApi nor a temporary argument can dangle.
namespace kopper::client {
namespace {

Task<std::optional<std::string>> found(Client client, http::Request request) {
  try {
    co_return co_await client.call(std::move(request));
  } catch (const Error& error) {
    if (error.code != Code::NotFound) throw;
  }
  co_return std::nullopt;
}

Task<std::optional<std::string>> created(Client client, http::Request request) {
  try {
    co_return co_await client.call(std::move(request));
  } catch (const Error& error) {
    if (error.code != Code::AlreadyExists) throw;
  }
  co_return std::nullopt;
}

Task<std::expected<std::string, Conflict>> written(Client client, http::Request request) {
  try {
    co_return co_await client.call(std::move(request));
  } catch (const Error& error) {
    if (error.code != Code::Conflict) throw;
    co_return std::unexpected(Conflict{error});
  }
}

Task<std::string> listed(RawApi api, ListOptions options, std::function<void(std::string_view)> item,
                         std::function<void()> restart) {
  std::string token;
  bool restarted = false;
  while (true) {
    try {
      ListStream page = co_await open_page(api, options, token);
      while (const auto object = co_await page.next()) item(*object);
      token = page.continue_token();
      if (token.empty()) co_return page.resource_version();
      continue;
    } catch (const Error& error) {
      if (error.code != Code::Gone || token.empty() || restarted) throw;
    }
    // The pages took longer than the server remembers. In one answer there is no token that could expire.
    restarted = true;
    restart();
    token.clear();
    options.page_size = 0;
  }
}

Task<std::expected<std::string, Conflict>> changed(RawApi api, Key key, RawApi::Change change, WriteOptions options,
                                                   int attempts) {
  constexpr Backoff kBackoff{.initial = std::chrono::milliseconds(10), .max = std::chrono::seconds(1)};
  for (int failures = 1;; ++failures) {
    GetOptions read;
    read.subresource = options.subresource;
    auto live = co_await api.get(key, std::move(read));
    auto body = change(live);
    if (!body) co_return live;
    auto answer = co_await api.replace(key, std::move(*body), options);
    if (answer || failures >= attempts) co_return answer;
    co_await rt::sleep(kBackoff.delay(failures, api.client().random()));
  }
}

Task<bool> removed(Client client, http::Request request) {
  const auto answer = co_await found(std::move(client), std::move(request));
  co_return answer.has_value();
}

Task<> drained(Client client, http::Request request) { co_await client.call(std::move(request)); }

ScaleView scale_of(const std::string& body) {
  const auto value = json::parse(body);
  if (!value) throw_error(value.error(), "scale");
  const auto number = [](const json::Value& field) {
    const auto* n = field.as_int();
    return n != nullptr ? *n : 0;
  };
  return {.replicas = number((*value)["spec"]["replicas"]),
          .current_replicas = number((*value)["status"]["replicas"]),
          .selector = std::string((*value)["status"].text("selector"))};
}

Task<ScaleView> scaled(Client client, http::Request request) {
  const auto body = co_await client.call(std::move(request));
  co_return scale_of(body);
}

}  // namespace

std::string RawApi::manager(std::string given) const {
  if (given.empty()) return client_.options().field_manager;
  return given;
}

Task<std::string> RawApi::get(Key key, GetOptions options) const {
  return client_.call(get_request(resource_, key, options, view_));
}

Task<std::optional<std::string>> RawApi::find(Key key, GetOptions options) const {
  return found(client_, get_request(resource_, key, options, view_));
}

Task<std::string> RawApi::for_each(ListOptions options, std::function<void(std::string_view)> item,
                                   std::function<void()> restart) const {
  return listed(*this, std::move(options), std::move(item), std::move(restart));
}

Task<http::Response> RawApi::watch(WatchOptions options) const {
  // Spread over time, so that the watches of a thousand clients do not all end at once.
  if (!options.timeout) options.timeout = std::chrono::seconds(300 + static_cast<int>(client_.random() * 300));
  return client_.stream(watch_request(resource_, options, view_));
}

Task<std::string> RawApi::create(Key key, std::string body, WriteOptions options) const {
  options.field_manager = manager(std::move(options.field_manager));
  return client_.call(create_request(resource_, key, std::move(body), options));
}

Task<std::optional<std::string>> RawApi::create_if_absent(Key key, std::string body, WriteOptions options) const {
  options.field_manager = manager(std::move(options.field_manager));
  return created(client_, create_request(resource_, key, std::move(body), options));
}

Task<std::expected<std::string, Conflict>> RawApi::replace(Key key, std::string body, WriteOptions options) const {
  options.field_manager = manager(std::move(options.field_manager));
  return written(client_, update_request(resource_, key, std::move(body), options));
}

Task<std::expected<std::string, Conflict>> RawApi::change(Key key, Change change, WriteOptions options,
                                                          int attempts) const {
  return changed(*this, std::move(key), std::move(change), std::move(options), attempts);
}

Task<std::string> RawApi::patch(Key key, PatchType type, std::string body, PatchOptions options) const {
  options.field_manager = manager(std::move(options.field_manager));
  return client_.call(patch_request(resource_, key, type, std::move(body), options, view_));
}

Task<std::string> RawApi::apply(Key key, std::string body, ApplyOptions options) const {
  options.field_manager = manager(std::move(options.field_manager));
  return client_.call(apply_request(resource_, key, std::move(body), options));
}

Task<bool> RawApi::remove(Key key, DeleteOptions options) const {
  return removed(client_, delete_request(resource_, key, options));
}

Task<std::optional<std::string>> RawApi::remove_with_answer(Key key, DeleteOptions options) const {
  return found(client_, delete_request(resource_, key, options));
}

Task<> RawApi::remove_all(ListOptions which, DeleteOptions options) const {
  return drained(client_, delete_collection_request(resource_, which, options));
}

Task<ScaleView> RawApi::scale(Key key) const {
  return scaled(client_, get_request(resource_, key, {.subresource = "scale"}));
}

Task<ScaleView> RawApi::set_scale(Key key, std::int64_t replicas) const {
  const json::Value patch{json::Object{{"spec", json::Object{{"replicas", replicas}}}}};
  return scaled(client_, patch_request(resource_, key, PatchType::Merge, json::dump(patch),
                                       {.subresource = "scale", .field_manager = manager({})}));
}

}  // namespace kopper::client
