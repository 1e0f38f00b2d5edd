#include "kopper/plane/streams/remote_command.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/error.h"
#include "kopper/json/value.h"
#include "kopper/plane/reading.h"
#include "kopper/plane/status.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

constexpr std::size_t kChunk = std::size_t{32} << 10U;
constexpr std::size_t kMaxResize = 1024;

// To nobody when `to` is null: who is not read is held up.
Task<> copy(rt::Stream* from, rt::Stream* to) {
  std::string buffer(kChunk, '\0');
  for (;;) {
    const std::size_t n = co_await from->read(buffer);
    if (n == 0) co_return;
    if (to != nullptr) co_await to->write(std::string_view(buffer).substr(0, n));
  }
}

// A program that does not read its input is no failure of the session.
Task<> feed(rt::Stream* from, rt::Stream* to) {
  try {
    co_await copy(from, to);
    co_await to->shutdown();
  } catch (const Error&) {
    from->close();
  }
}

std::uint16_t size_in(const json::Value& size, std::string_view name) {
  return static_cast<std::uint16_t>(std::clamp<std::int64_t>(number(size[name]), 0, UINT16_MAX));
}

using Resize = std::function<void(std::uint16_t columns, std::uint16_t rows)>;

// Sizes come as objects of JSON with nothing, or a newline, between.
Task<> follow_sizes(rt::Stream* from, Resize resize) {
  std::array<char, 256> buffer;
  std::string text;
  try {
    for (;;) {
      const std::size_t n = co_await from->read(buffer);
      if (n == 0) co_return;
      text.append(buffer.data(), n);
      for (auto end = text.find('}'); end != std::string::npos; end = text.find('}')) {
        const auto size = json::parse(std::string_view(text).substr(0, end + 1));
        if (size) resize(size_in(*size, "Width"), size_in(*size, "Height"));
        text.erase(0, end + 1);
      }
      if (text.size() > kMaxResize) co_return;
    }
  } catch (const Error&) {
    co_return;  // sizes are not worth a session
  }
}

std::string exit_status(const std::vector<std::string>& command, const rt::ExitStatus& status) {
  if (status.ok()) return succeeded_status();
  const json::Object cause{{"reason", "ExitCode"}, {"message", std::to_string(status.code)}};
  return json::dump(json::Object{
      {"metadata", json::Object()},
      {"status", "Failure"},
      {"message", fmt::format("command terminated with non-zero exit code: error executing command [{}], exit code {}",
                              fmt::join(command, " "), status.code)},
      {"reason", "NonZeroExitCode"},
      {"details", json::Object{{"causes", json::Array{cause}}}},
  });
}

Task<> run(RemoteSession* session, rt::ProcessSpec spec, CommandOptions options) {
  rt::Process process(spec);
  rt::Scope outputs;
  outputs.spawn(copy(&process.output(), session->output));
  if (!options.tty) outputs.spawn(copy(&process.errors(), session->errors));
  rt::Scope inputs;
  if (session->input != nullptr) inputs.spawn(feed(session->input, &process.input()));
  if (options.tty && session->resize != nullptr) {
    Resize resize = [&process](std::uint16_t columns, std::uint16_t rows) { process.resize(columns, rows); };
    inputs.spawn(follow_sizes(session->resize, std::move(resize)));
  }
  const rt::ExitStatus status = co_await process.wait();
  co_await outputs.join();
  co_await session->finish(exit_status(options.command, status));
}

Task<> feed_attachment(rt::Stream* from, Attachment* to) {
  std::string buffer(kChunk, '\0');
  try {
    for (;;) {
      const std::size_t n = co_await from->read(buffer);
      if (n == 0) break;
      co_await to->write(std::string_view(buffer).substr(0, n));
    }
    co_await to->end_input();
  } catch (const Error&) {
    from->close();
  }
}

Task<> show(RemoteSession* session, Attachment* attachment) {
  rt::Scope inputs;
  if (session->input != nullptr) inputs.spawn(feed_attachment(session->input, attachment));
  if (session->resize != nullptr) {
    Resize resize = [attachment](std::uint16_t columns, std::uint16_t rows) { attachment->resize(columns, rows); };
    inputs.spawn(follow_sizes(session->resize, std::move(resize)));
  }
  while (const auto chunk = co_await attachment->read()) {
    rt::Stream* to = chunk->is_error ? session->errors : session->output;
    if (to != nullptr) co_await to->write(chunk->bytes);
  }
  co_await session->finish(succeeded_status());
}

Task<> until_closed(RemoteSession* session, rt::Scope* scope) {
  co_await session->closed();
  scope->cancel();
}

Task<> then_stop(Task<> work, RemoteSession* session, rt::Scope* scope) {
  std::string failure;
  try {
    co_await work;
  } catch (const Error& error) {
    failure = error.what();
  }
  if (!failure.empty()) co_await session->finish(failed_status("error executing command in container: " + failure));
  scope->cancel();
}

// The work, or as much of it as the client waits for.
Task<> while_there(Task<> work, RemoteSession* session) {
  rt::Scope scope;
  scope.spawn(then_stop(std::move(work), session, &scope));
  scope.spawn(until_closed(session, &scope));
  co_await scope.join();
}

}  // namespace

std::string succeeded_status() { return json::dump(json::Object{{"metadata", json::Object()}, {"status", "Success"}}); }

std::string failed_status(std::string_view message) {
  return json::dump(internal(fmt::format("Internal error occurred: {}", message)).status());
}

std::string in_words(std::string_view status) {
  const auto parsed = json::parse(status);
  return parsed ? std::string(parsed->text("message")) : std::string();
}

Task<> serve_command(RemoteSession& session, rt::ProcessSpec spec, CommandOptions options) {
  spec.stdio = options.tty ? rt::Stdio::Terminal : rt::Stdio::Pipes;
  spec.open_input = options.input;
  co_await while_there(run(&session, std::move(spec), options), &session);
}

Task<> serve_attachment(RemoteSession& session, std::unique_ptr<Attachment> attachment) {
  co_await while_there(show(&session, attachment.get()), &session);
}

}  // namespace kopper::plane
