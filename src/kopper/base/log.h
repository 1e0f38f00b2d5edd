#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace kopper::log {

enum class Level : std::uint8_t { Debug, Info, Warn, Error };
enum class Format : std::uint8_t { Human, Json };

// One "key=value" of a log line. Values are formatted at once: a line is cheap, and nothing dangles.
struct Field {
  template <class T>
  Field(std::string_view k, const T& v) : key(k), value(fmt::to_string(v)) {}

  std::string_view key;
  std::string value;
};

// Where finished lines go. Called from any thread; must not throw.
using Sink = std::function<void(std::string_view line)>;

struct Options {
  Level level = Level::Info;
  Format format = Format::Human;
  Sink sink;  // default: standard error
};

// Process-wide; set once at start, before any thread logs.
void configure(Options options);
bool enabled(Level level);

// "2026-01-31T10:00:00.123Z INFO  watch restarted kind=Pod reason=410", or the same as one JSON object.
void write(Level level, std::string_view message, std::span<const Field> fields);
inline void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  write(level, message, std::span(fields.begin(), fields.size()));
}

inline void debug(std::string_view m, std::initializer_list<Field> f = {}) {
  if (enabled(Level::Debug)) write(Level::Debug, m, f);
}
inline void info(std::string_view m, std::initializer_list<Field> f = {}) {
  if (enabled(Level::Info)) write(Level::Info, m, f);
}
inline void warn(std::string_view m, std::initializer_list<Field> f = {}) {
  if (enabled(Level::Warn)) write(Level::Warn, m, f);
}
inline void error(std::string_view m, std::initializer_list<Field> f = {}) {
  if (enabled(Level::Error)) write(Level::Error, m, f);
}

}  // namespace kopper::log
