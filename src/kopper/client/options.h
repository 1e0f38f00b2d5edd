#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kopper::client {

// One aggregate a verb. Defaults do what one expects; names follow the API.
// In a coroutine, name them first: `const ListOptions in_ns{.namespace_ = "demo"}; co_await pods.list(in_ns);`

enum class FieldValidation : std::uint8_t { ServerDefault, Ignore, Warn, Strict };
enum class Propagation : std::uint8_t { ServerDefault, Background, Foreground, Orphan };
enum class VersionMatch : std::uint8_t { ServerDefault, Exact, NotOlderThan };

struct GetOptions {
  std::string resource_version;  // "" = most recent, "0" = any the server has cached
  std::string subresource;       // "status", "scale", …
};

struct ListOptions {
  std::string namespace_;  // "" = all
  std::string label_selector;
  std::string field_selector;
  std::size_t page_size = 500;  // 0 = everything in one answer
  std::string resource_version;
  VersionMatch version_match = VersionMatch::ServerDefault;
};

struct WatchOptions {
  std::string namespace_;
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;  // start after this one; "" with initial_events = from the current state
  bool bookmarks = true;
  bool initial_events = false;                  // WatchList: the current state comes first, ended by a bookmark
  std::optional<std::chrono::seconds> timeout;  // server-side; default: random 5 to 10 minutes
};

struct WriteOptions {
  std::string subresource;
  std::string field_manager;  // "" = the client's
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::ServerDefault;
};

struct ApplyOptions {
  std::string field_manager;  // "" = the client's
  bool force = false;         // take fields that others own
  std::string subresource;
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::ServerDefault;
};

struct DeleteOptions {
  Propagation propagation = Propagation::ServerDefault;
  std::optional<std::int64_t> grace_period_seconds;
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  bool dry_run = false;
};

enum class PatchType : std::uint8_t { Json, Merge, Strategic };

struct PatchOptions {
  std::string subresource;
  std::string field_manager;  // "" = the client's
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::ServerDefault;
};

struct LogOptions {
  std::string container;  // "" = the only one, or the pod's default
  bool follow = false;
  bool previous = false;  // of the instance before the last restart
  bool timestamps = false;
  std::optional<std::int64_t> tail_lines;
  std::optional<std::int64_t> limit_bytes;
  std::optional<std::chrono::seconds> since;
  std::string since_time;  // RFC 3339; not together with `since`
};

struct ExecOptions {
  std::vector<std::string> command;  // exec only
  std::string container;
  bool stdin_ = false;
  bool stdout_ = true;
  bool stderr_ = true;
  bool tty = false;  // stdout and stderr come as one
};

}  // namespace kopper::client
