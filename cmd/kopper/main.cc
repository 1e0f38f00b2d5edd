#include <cstdio>
#include <exception>
#include <optional>

#include <fmt/core.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/rt/loop.h"

#include "args.h"
#include "free_lists.h"
#include "session.h"
#include "verbs.h"

namespace kopper::cmd {
namespace {

int run(const Args& args) {
  rt::Loop loop;
  if (args.verb == Verb::Cluster) return loop.run(run_cluster(&args));
  if (args.verb == Verb::Up) return loop.run(run_up(&args));
  std::optional<Session> session;
  if (!args.client_only) session.emplace(args);
  Session* const cluster = session ? &*session : nullptr;
  switch (args.verb) {
    case Verb::Get: return loop.run(run_get(cluster, &args));
    case Verb::Apply: return loop.run(run_apply(cluster, &args));
    case Verb::Delete: return loop.run(run_delete(cluster, &args));
    case Verb::Watch: return loop.run(run_watch(cluster, &args));
    case Verb::Version: return loop.run(run_version(cluster, &args));
    case Verb::Cluster:
    case Verb::Up: break;
  }
  return 2;
}

int main(int argc, char** argv) {
  keep_freed_blocks();
  const auto [args, code] = parse_args(argc, argv);
  if (!args) return code;
  log::configure({.level = log::Level::Error});
  try {
    return run(*args);
  } catch (const Error& error) {
    std::fflush(stdout);
    print_error(error);
    return exit_code(error.code);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace kopper::cmd

int main(int argc, char** argv) { return kopper::cmd::main(argc, argv); }
