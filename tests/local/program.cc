#include "program.h"

#include <csignal>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/client/transport.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"

namespace kopper::local {
namespace {

std::filesystem::path temporary_folder() {
  std::string pattern = (std::filesystem::path(testing::TempDir()) / "kopper-local-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw Error(Code::Internal, "no temporary folder: " + pattern);
  return pattern;
}

}  // namespace

json::Value Answer::json() const { return json::parse(body).value_or(json::Value()); }

Task<Answer> ask(http::Handler& handler, http::Request request) {
  http::Response response = co_await handler.handle(std::move(request));
  Answer out;
  out.status = response.status;
  out.headers = std::move(response.headers);
  out.body = co_await http::read_all(*response.body);
  co_return out;
}

http::Request request(std::string method, std::string target, std::string body, std::string type) {
  http::Request out;
  out.method = std::move(method);
  out.target = std::move(target);
  if (!type.empty() && out.method != "GET") out.headers.set("content-type", type);
  out.body = std::move(body);
  return out;
}

Program::Program() : folder_(temporary_folder()) {}

Program::~Program() {
  process_.reset();
  std::error_code error;
  std::filesystem::permissions(data(), std::filesystem::perms::owner_all, error);
  std::filesystem::remove_all(folder_, error);
}

std::string Program::log() const {
  const auto file = folder_ / "log";
  return std::filesystem::exists(file) ? rt::read_file(file) : std::string();
}

bool Program::ready() const { return std::filesystem::exists(folder_ / "kubeconfig"); }

Task<> Program::note_end() { status_ = co_await process_->wait(); }

void Program::launch(std::vector<std::string> flags) {
  std::filesystem::remove(folder_ / "kubeconfig");
  std::filesystem::remove(folder_ / "log");
  rt::ProcessSpec spec;
  spec.argv = wrapper;
  for (const auto& word :
       {std::string(KOPPER_PROGRAM), verb, std::string("--kubeconfig"), (folder_ / "kubeconfig").string()})
    spec.argv.push_back(word);
  for (std::string& flag : flags) spec.argv.push_back(std::move(flag));
  // What a sanitizer keeps of freed memory is no part of what is measured.
  spec.env.emplace_back("ASAN_OPTIONS", "quarantine_size_mb=8:detect_leaks=0:malloc_context_size=2");
  spec.output_file = (folder_ / "log").string();
  status_.reset();
  process_.emplace(spec);
  tasks_.spawn(note_end());
}

Task<> Program::start(std::vector<std::string> flags) {
  launch(std::move(flags));
  while (!ready()) {
    if (status_) throw Error(Code::Internal, fmt::format("kopper {} ended, {}: {}", verb, status_->str(), log()));
    co_await rt::sleep(std::chrono::milliseconds(2));
  }
}

Task<rt::ExitStatus> Program::ended() {
  co_await tasks_.join();
  process_.reset();
  co_return *status_;
}

Task<> Program::kill() {
  process_->signal(SIGKILL);
  co_await ended();
}

Task<rt::ExitStatus> Program::stop() {
  process_->signal(SIGTERM);
  co_return co_await ended();
}

client::Config Program::config() const {
  client::LoadOptions options;
  options.kubeconfig = (folder_ / "kubeconfig").string();
  return client::load_config(options);
}

std::shared_ptr<http::Handler> Program::connect() const { return client::make_transport(config()); }

std::size_t Program::resident_mb() const {
  std::ifstream status(fmt::format("/proc/{}/status", process_->pid()));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6)) / 1024;
  return 0;
}

}  // namespace kopper::local
