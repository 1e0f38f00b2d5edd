// get and list.
#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/continue_token.h"
#include "kopper/plane/core.h"
#include "kopper/plane/parameters.h"

namespace kopper::plane {
namespace {

// Items are rendered while they are sent, so that a list costs no memory of its own but the references.
class ListBody final : public http::Body {
 public:
  ListBody(Renderer renderer, const json::Object& metadata, std::vector<StoredRef> items)
      : renderer_(std::move(renderer)), items_(std::move(items)), chunk_(renderer_.list_head(metadata)) {}

  Task<std::optional<std::string_view>> read() override {
    if (done_) co_return std::nullopt;
    if (next_ > 0) chunk_.clear();
    while (next_ < items_.size() && chunk_.size() < kChunk) {
      if (next_ > 0) chunk_ += ',';
      StoredRef one = std::move(items_[next_++]);
      chunk_ += co_await renderer_.item(std::move(one));
    }
    if (next_ == items_.size()) {
      chunk_ += renderer_.list_tail();
      chunk_ += '\n';
      done_ = true;
    }
    co_return chunk_;
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{64} << 10U;

  Renderer renderer_;
  std::vector<StoredRef> items_;
  std::string chunk_;
  std::size_t next_ = 0;
  bool done_ = false;
};

Refusal too_large_revision(std::uint64_t asked, std::uint64_t current) {
  Refusal out(504, "Timeout", fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current));
  out.details["causes"] =
      json::Array{json::Object{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}};
  out.retry_after = std::chrono::seconds(1);
  return out;
}

// Which snapshot is asked for: nothing means the present one.
Task<std::optional<std::uint64_t>> snapshot(Core& core, const Call& call) {
  const std::string version = call.info.text("resourceVersion").value_or("");
  const std::string match = call.info.text("resourceVersionMatch").value_or("");
  if (!match.empty() && match != "Exact" && match != "NotOlderThan") {
    Problems problems;
    problems.not_supported("resourceVersionMatch", match, {"Exact", "NotOlderThan", ""});
    throw invalid("meta.k8s.io", "ListOptions", "", problems);
  }
  if (!match.empty() && version.empty()) {
    Problems problems;
    problems.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
    throw invalid("meta.k8s.io", "ListOptions", "", problems);
  }
  if (version.empty() || version == "0") {
    if (match == "Exact") {
      Problems problems;
      problems.forbidden("resourceVersionMatch",
                         "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
      throw invalid("meta.k8s.io", "ListOptions", "", problems);
    }
    co_return std::nullopt;
  }
  std::uint64_t asked = 0;
  try {
    asked = asked_revision(call);
  } catch (const Refusal& refusal) {
    throw bad_request("invalid resource version: " + refusal.message);
  }
  if (asked > core.state.revision()) {
    co_await rt::sleep(core.too_large_wait);
    if (asked > core.state.revision()) throw too_large_revision(asked, core.state.revision());
  }
  if (match == "Exact") co_return asked;
  co_return std::nullopt;
}

}  // namespace

namespace {

// An object that its webhook cannot convert is, to the real server, one that it cannot read.
Refusal unreadable(const Call& call, const Stored& object, const Refusal& why) {
  if (why.code != 500) return why;
  const std::string what = fmt::format(
      "StorageError: corrupt object, Code: 7, Key: /{}/{}/{}{}{}, ResourceVersion: 0, AdditionalErrorMsg: object not "
      "decodable revision={}: {}",
      call.resource->group, call.resource->plural, object.namespace_, object.namespace_.empty() ? "" : "/", object.name,
      object.revision, why.message);
  Refusal out = internal("Internal error occurred: " + what);
  out.details["causes"] = json::Array{json::Object{{"message", what}}};
  return out;
}

}  // namespace

Task<http::Response> get(Core& core, Call& call) {
  const Output output = negotiate(call.info, call.header("accept"));
  asked_revision(call);  // any that was answered is there already
  const Table& table = core.state.table(call.resource->table());
  const StoredRef found = table.find(call.resource->namespaced ? call.info.namespace_ : "", call.info.name);
  if (!found) throw not_found(call.resource->subject(), call.info.name);
  co_await core.state.durable(found->revision);
  const Renderer renderer(call.resource, output, *core.converter);
  std::string body;
  try {
    body = co_await renderer.object(found);
  } catch (const Refusal& refusal) {
    throw unreadable(call, *found, refusal);
  }
  co_return answer(call, 200, std::move(body), output);
}

Task<http::Response> list(Core& core, Call& call) {
  const Output output = negotiate(call.info, call.header("accept"));
  const Selection selection(call);
  if (call.info.text("sendInitialEvents")) {
    Problems problems;
    problems.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
    throw invalid("meta.k8s.io", "ListOptions", "", problems);
  }
  const std::int64_t limit = number(call.info, "limit").value_or(0);  // none when it is not positive
  (void)number(call.info, "timeoutSeconds");                          // of a watch, yet it must be one
  Table& table = core.state.table(call.resource->table());
  Table::Place after;
  std::uint64_t revision = core.state.revision();
  const auto continued = call.info.text("continue");
  if (continued) {
    if (call.info.text("resourceVersion"))
      throw bad_request("specifying resource version is not allowed when using continue");
    const ContinueToken token = parse_continue(*continued);
    after = token.after;
    if (token.revision != 0) revision = token.revision;
  } else {
    const std::optional<std::uint64_t> exact = co_await snapshot(core, call);
    revision = exact.value_or(core.state.revision());
  }

  std::vector<StoredRef> items;
  std::int64_t remaining = 0;
  const bool there = table.at_revision(revision, after, selection.in(), [&](const StoredRef& object) {
    if (!selection.matches(*object)) return true;
    if (limit <= 0 || std::cmp_less(items.size(), limit)) {
      items.push_back(object);
    } else {
      ++remaining;
    }
    return true;
  });
  if (!there && continued) {
    Refusal refusal = expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the "
        "continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
        "Continuing with "
        "the provided token results in an inconsistent list - objects that were created, modified, or deleted between "
        "the time the "
        "first chunk was returned and now may show up in the list.");
    // Status carries list metadata: the token from here on, at whatever revision is then.
    refusal.metadata["continue"] = to_string(ContinueToken{.revision = 0, .after = after});
    throw refusal;
  }
  if (!there) throw expired(fmt::format("The resourceVersion for the provided list is too old."));

  json::Object metadata{{"resourceVersion", std::to_string(revision)}};
  if (remaining > 0) {
    const StoredRef& last = items.back();
    metadata["continue"] = to_string(ContinueToken{.revision = revision, .after = {last->namespace_, last->name}});
    // Only known without a selector, as the real server has it.
    if (!call.info.text("labelSelector") && !call.info.text("fieldSelector"))
      metadata["remainingItemCount"] = remaining;
  }
  co_await core.state.durable(revision);
  // A conversion may fail, which must be known before the answer begins.
  const bool at_once = output.yaml || output.pretty || std::ranges::any_of(items, [&](const StoredRef& one) {
                         return core.converter->needed(*call.resource, *one);
                       });
  Renderer renderer(call.resource, output, *core.converter);
  auto body = std::make_unique<ListBody>(std::move(renderer), metadata, std::move(items));
  if (at_once) {
    std::string whole = co_await http::read_all(*body);
    co_return answer(call, 200, std::move(whole), output);
  }
  http::Response out = answer(call, 200, std::string(), output);
  out.headers.remove("content-length");
  out.body = std::move(body);
  co_return out;
}

}  // namespace kopper::plane
