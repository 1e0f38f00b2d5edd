#include "kopper/runtime/profile.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/time.h>

#include "kopper/base/error.h"
#include "kopper/http/url.h"
#include "kopper/rt/file.h"

namespace kopper::runtime {
namespace {

constexpr std::chrono::microseconds kPeriod{10'000};
constexpr std::size_t kDepth = 64;
constexpr std::size_t kSamples = 8192;
constexpr int kOwnFrames = 2;  // the handler, and the kernel's way back from it

// Memory that a signal handler may write: nothing here allocates or locks.
struct Samples {
  struct Sample {
    std::atomic<int> depth{0};  // 0: not written yet
    std::array<void*, kDepth> frames{};
  };
  std::array<Sample, kSamples> all{};
  std::atomic<std::size_t> taken{0};
};

std::atomic<Samples*> active{nullptr};
std::atomic<int> inside{0};  // handlers that may still use the samples

void on_sigprof(int /*signal*/) {
  const int saved = errno;
  ++inside;
  if (auto* samples = active.load()) {
    const auto at = samples->taken.fetch_add(1);
    if (at < kSamples) {
      auto& sample = samples->all[at];
      sample.depth = ::backtrace(sample.frames.data(), static_cast<int>(kDepth));
    }
  }
  --inside;
  errno = saved;
}

void set_timer(std::chrono::microseconds period) {
  itimerval timer{};
  timer.it_interval.tv_usec = period.count();
  timer.it_value = timer.it_interval;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

// While it lives, samples are taken. The handler stays for good: a signal that is late must not end the process.
class Sampling {
 public:
  Sampling() {
    void* frame = nullptr;
    ::backtrace(&frame, 1);  // the first call loads a library, which a handler may not
    struct sigaction before{};
    ::sigaction(SIGPROF, nullptr, &before);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN && before.sa_handler != &on_sigprof)
      throw Error(Code::Conflict, "profile: SIGPROF is in use by something else");
    Samples* none = nullptr;
    if (!active.compare_exchange_strong(none, samples_.get()))
      throw Error(Code::Conflict, "profile: one is being made already");
    struct sigaction action{};
    action.sa_handler = &on_sigprof;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGPROF, &action, nullptr);
    set_timer(kPeriod);
  }
  ~Sampling() { stop(); }
  Sampling(const Sampling&) = delete;
  Sampling& operator=(const Sampling&) = delete;

  CpuProfile take() {
    stop();
    CpuProfile profile{.period = kPeriod};
    const std::size_t taken = samples_->taken;
    for (std::size_t i = 0; i < std::min(taken, kSamples); ++i) {
      const auto& sample = samples_->all[i];
      auto& stack = profile.stacks.emplace_back();
      for (int f = kOwnFrames; f < sample.depth; ++f)
        stack.push_back(reinterpret_cast<std::uintptr_t>(sample.frames[static_cast<std::size_t>(f)]));
      if (stack.empty()) profile.stacks.pop_back();
    }
    profile.lost = taken - std::min(taken, kSamples);
    return profile;
  }

 private:
  void stop() {
    if (active != samples_.get()) return;
    set_timer(std::chrono::microseconds(0));
    active = nullptr;
    while (inside > 0) {  // another thread is in the handler, for a few microseconds
    }
  }

  std::unique_ptr<Samples> samples_ = std::make_unique<Samples>();
};

std::string name_of(std::uintptr_t address) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(address), &info) == 0) return fmt::format("{:#x}", address);
  if (info.dli_sname == nullptr) {
    const std::string_view file(info.dli_fname);
    return fmt::format("{}+{:#x}", file.substr(file.rfind('/') + 1),
                       address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 ? plain.get() : info.dli_sname;
  std::replace(name.begin(), name.end(), ';', ':');  // which would end a frame
  return name;
}

class ProfileHandler final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request request) override {
    const auto mark = std::min(request.target.find('?'), request.target.size());
    const auto path = request.target.substr(0, mark);
    const auto query =
        http::Query::parse(std::string_view(request.target).substr(std::min(mark + 1, request.target.size())));
    if (request.method != "GET" || !query) co_return http::text_response(400, "GET /debug/pprof/{profile,heap}\n");
    if (path == "/debug/pprof/heap") co_return http::text_response(200, heap_summary());
    if (path != "/debug/pprof/profile") co_return http::text_response(404, "profile or heap\n");
    const auto profile = co_await profile_cpu(seconds(*query));
    if (query->get("debug")) co_return http::text_response(200, folded(profile));
    co_return http::text_response(200, pprof(profile), "application/octet-stream");
  }

 private:
  static std::chrono::seconds seconds(const http::Query& query) {
    int asked = 30;
    if (const auto text = query.get("seconds")) std::from_chars(text->data(), text->data() + text->size(), asked);
    return std::chrono::seconds(std::clamp(asked, 1, 60));
  }
};

}  // namespace

Task<CpuProfile> profile_cpu(rt::Duration how_long) {
  Sampling sampling;
  co_await rt::sleep(how_long);
  co_return sampling.take();
}

// The format of gperftools: machine words, then the process's memory map as text.
std::string pprof(const CpuProfile& profile) {
  std::vector<std::uintptr_t> words{0, 3, 0, static_cast<std::uintptr_t>(profile.period.count()), 0};
  for (const auto& stack : profile.stacks) {
    words.insert(words.end(), {1, stack.size()});
    words.insert(words.end(), stack.begin(), stack.end());
  }
  words.insert(words.end(), {0, 1, 0});
  std::string out(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0]));
  return out + rt::read_file("/proc/self/maps");
}

std::string folded(const CpuProfile& profile) {
  std::map<std::uintptr_t, std::string> names;
  std::map<std::string, int> counts;
  for (const auto& stack : profile.stacks) {
    std::string line;
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
      auto& name = names[*frame];
      if (name.empty()) name = name_of(*frame);
      if (!line.empty()) line += ';';
      line += name;
    }
    ++counts[line];
  }
  std::string out;
  for (const auto& [line, count] : counts) out += fmt::format("{} {}\n", line, count);
  return out;
}

std::string heap_summary() {
  const auto info = ::mallinfo2();
  return fmt::format(
      "heap_from_system_bytes {}\nheap_mapped_bytes {}\nheap_used_bytes {}\nheap_free_bytes {}\n"
      "heap_releasable_bytes {}\n",
      info.arena, info.hblkhd, info.uordblks + info.hblkhd, info.fordblks, info.keepcost);
}

std::unique_ptr<http::Handler> profile_handler() { return std::make_unique<ProfileHandler>(); }

}  // namespace kopper::runtime
