#include "kopper/base/log.h"

#include <chrono>
#include <cstdio>
#include <ctime>

namespace kopper::log {
namespace {

Options& options() {
  static Options instance;
  return instance;
}

constexpr std::string_view name(Level level) {
  switch (level) {
    case Level::Debug: return "DEBUG";
    case Level::Info: return "INFO";
    case Level::Warn: return "WARN";
    case Level::Error: return "ERROR";
  }
  return "?";
}

std::string timestamp() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto millis = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, millis);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  out += '"';
}

bool is_plain(std::string_view text) {
  return !text.empty() && text.find_first_of(" \"=\\\n\t") == std::string_view::npos;
}

std::string human(Level level, std::string_view message, std::span<const Field> fields) {
  std::string line = fmt::format("{} {:<5} {}", timestamp(), name(level), message);
  for (const auto& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (is_plain(field.value))
      line += field.value;
    else
      append_quoted(line, field.value);
  }
  return line;
}

std::string json(Level level, std::string_view message, std::span<const Field> fields) {
  std::string line = R"({"ts":")" + timestamp() + R"(","level":")" + std::string(name(level)) + R"(","msg":)";
  append_quoted(line, message);
  for (const auto& field : fields) {
    line += ',';
    append_quoted(line, field.key);
    line += ':';
    append_quoted(line, field.value);
  }
  line += '}';
  return line;
}

}  // namespace

void configure(Options chosen) { options() = std::move(chosen); }

bool enabled(Level level) { return level >= options().level; }

void write(Level level, std::string_view message, std::span<const Field> fields) {
  std::string line = options().format == Format::Json ? json(level, message, fields) : human(level, message, fields);
  if (options().sink) return options().sink(line);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace kopper::log
