// Small GETs per CPU-second of the client, over TLS and HTTP/2 on loopback: our client against libcurl, in one run and
// against the same server (nginx when it is installed, else our own in a process apart).
//   http_bench [requests] [own]      own: our own server in any case
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>

#include <curl/curl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kopper/base/error.h"
#include "kopper/http/client.h"
#include "kopper/http/server.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/process.h"

namespace kopper::http {
namespace {

constexpr std::size_t kBodyBytes = 828;  // a small ConfigMap
constexpr int kRounds = 5;               // the best counts: the machine may have other things to do
const std::string kToken = "Bearer " + std::string(900, 'x');

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

[[noreturn]] void fail(const std::string& what) { throw Error(Code::Internal, what); }

class Answer final : public Handler {
 public:
  Task<Response> handle(Request /*request*/) override {
    co_return text_response(200, std::string(kBodyBytes, 'x'), "application/json");
  }
};

rt::TlsContext server_context(const rt::CertifiedKey& key) {
  rt::TlsServerOptions options;
  options.cert_pem = key.cert_pem;
  options.key_pem = key.key_pem;
  options.alpn = {"h2", "http/1.1"};
  return rt::TlsContext::server(options);
}

Task<> forever() {
  for (;;) co_await rt::sleep(std::chrono::hours(1));
}

// The server, in a process apart so that only the client's CPU time is counted. It dies with this object.
class Backend {
 public:
  explicit Backend(bool own) {
    const auto ca = rt::make_ca("bench");
    rt::CertificateSpec spec;
    spec.common_name = "bench";
    spec.ip_addresses = {"127.0.0.1"};
    key_ = rt::issue(ca, spec);
    const char* nginx = "/usr/sbin/nginx";
    if (!own && ::access(nginx, X_OK) == 0) {
      start_nginx(nginx);
    } else {
      start_own();
    }
  }
  ~Backend() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    nginx_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  std::string url() const { return fmt::format("https://127.0.0.1:{}", port_); }
  std::string name() const { return nginx_ ? "nginx" : "our own"; }

 private:
  void start_nginx(const char* nginx) {
    std::string pattern = (std::filesystem::temp_directory_path() / "kopper-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail("cannot make a folder");
    folder_ = pattern;
    port_ = rt::Listener::tcp().port();  // free a moment ago
    std::ofstream(folder_ / "cert.pem") << key_.cert_pem;
    std::ofstream(folder_ / "key.pem") << key_.key_pem;
    std::filesystem::create_directory(folder_ / "www");
    std::ofstream(folder_ / "www" / "small.json") << std::string(kBodyBytes, 'x');
    std::filesystem::permissions(folder_, std::filesystem::perms::others_exec | std::filesystem::perms::others_read,
                                 std::filesystem::perm_options::add);
    std::ofstream(folder_ / "nginx.conf") << fmt::format(
        "daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error.log;\n"
        "events {{ worker_connections 512; }}\n"
        "http {{ access_log off; keepalive_requests 100000000; open_file_cache max=10;\n"
        "  client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3; uwsgi_temp_path {0}/t4;\n"
        "  scgi_temp_path {0}/t5;\n"
        "  server {{ listen 127.0.0.1:{1} ssl http2; http2_max_concurrent_streams 256; root {0}/www;\n"
        "    ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem; }} }}\n",
        folder_.string(), port_);
    rt::ProcessSpec spec;
    spec.argv = {nginx, "-p", folder_.string(), "-c", (folder_ / "nginx.conf").string()};
    spec.output_file = (folder_ / "output.log").string();
    nginx_.emplace(spec);
  }

  void start_own() {
    int ports[2];
    if (::pipe(ports) != 0) fail("pipe");
    child_ = ::fork();
    if (child_ == 0) {
      rt::Loop loop;
      Answer answer;
      ServerOptions options;
      const auto context = server_context(key_);
      options.tls = [&context] { return context; };
      Server server(rt::Listener::tcp(), answer, options);
      const std::uint16_t port = server.port();
      if (::write(ports[1], &port, sizeof port) != sizeof port) _exit(1);
      loop.run(forever());
    }
    if (::read(ports[0], &port_, sizeof port_) != sizeof port_) fail("the server did not start");
  }

  rt::CertifiedKey key_;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  std::optional<rt::Process> nginx_;
  pid_t child_ = -1;
};

std::size_t discard(char* /*bytes*/, std::size_t size, std::size_t count, void* total) {
  *static_cast<std::size_t*>(total) += size * count;
  return size * count;
}

CURL* curl_request(const std::string& url, curl_slist* headers, std::size_t* bytes) {
  CURL* easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, bytes);
  return easy;
}

// One at a time: curl's easy interface. More: its multi interface on one multiplexed connection.
class Curl {
 public:
  explicit Curl(const std::string& url) : url_(url + "/small.json") {
    for (const auto& header : {"Authorization: " + kToken, std::string("Accept: application/json")}) {
      headers_ = curl_slist_append(headers_, header.c_str());
    }
  }
  ~Curl() { curl_slist_free_all(headers_); }
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;

  void run(int in_flight, int requests) {
    std::size_t bytes = 0;
    if (in_flight == 1) {
      CURL* easy = curl_request(url_, headers_, &bytes);
      for (int i = 0; i < requests; ++i) {
        if (curl_easy_perform(easy) != CURLE_OK) fail("curl");
      }
      curl_easy_cleanup(easy);
    } else {
      run_multi(in_flight, requests, &bytes);
    }
    if (bytes != kBodyBytes * static_cast<std::size_t>(requests)) fail("curl: wrong number of bytes");
  }

 private:
  void run_multi(int in_flight, int requests, std::size_t* bytes) const {
    CURLM* multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    std::vector<CURL*> handles;
    int issued = 0;
    for (; issued < in_flight; ++issued) {
      handles.push_back(curl_request(url_, headers_, bytes));
      curl_multi_add_handle(multi, handles.back());
    }
    for (int done = 0; done < requests;) {
      int running = 0;
      curl_multi_perform(multi, &running);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        if (message->data.result != CURLE_OK) fail("curl");
        CURL* easy = message->easy_handle;
        curl_multi_remove_handle(multi, easy);
        ++done;
        if (issued < requests) {
          ++issued;
          curl_multi_add_handle(multi, easy);
        }
      }
      if (done < requests) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
    }
    for (CURL* easy : handles) {
      curl_multi_remove_handle(multi, easy);
      curl_easy_cleanup(easy);
    }
    curl_multi_cleanup(multi);
  }

  std::string url_;
  curl_slist* headers_ = nullptr;
};

Request small_get() {
  Request request;
  request.target = "/small.json";
  request.headers.add("authorization", kToken);
  request.headers.add("accept", "application/json");
  return request;
}

Task<> worker(Handler* client, int* issued, int requests, std::size_t* bytes) {
  while ((*issued)++ < requests) {
    const Response response = co_await client->handle(small_get());
    if (response.status != 200) fail("our client: not 200");
    while (const auto chunk = co_await response.body->read()) *bytes += chunk->size();
  }
}

Task<> run_workers(Handler* client, int in_flight, int requests) {
  int issued = 0;
  std::size_t bytes = 0;
  rt::Scope scope;
  for (int i = 0; i < in_flight; ++i) scope.spawn(worker(client, &issued, requests, &bytes));
  co_await scope.join();
  if (bytes != kBodyBytes * static_cast<std::size_t>(requests)) fail("our client: wrong number of bytes");
}

// CPU microseconds a request, the best of the rounds. The connection is made before.
double measure(int requests, const std::function<void(int)>& run) {
  run(200);
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double before = cpu_seconds();
    run(requests);
    best = std::min(best, (cpu_seconds() - before) / requests * 1e6);
  }
  return best;
}

Task<> reachable(Handler* client) {
  for (int attempt = 0;; ++attempt) {
    try {
      const Response response = co_await client->handle(small_get());
      co_return;
    } catch (const Error&) {
      if (attempt == 200) throw;
    }
    co_await rt::sleep(std::chrono::milliseconds(20));  // it is starting
  }
}

// Client and server share one core, as on a busy machine. Each on a core of its own, an idle virtual machine pays more
// for waking the other core at every request than for the request, and that is then what is measured.
void use_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) std::cerr << "http_bench: not pinned to one core\n";
}

int run(int requests, bool own) {
  use_one_core();
  curl_global_init(CURL_GLOBAL_ALL);
  rt::Loop loop;
  const Backend backend(own);
  ClientOptions options;
  options.origin = parse_url(backend.url()).value();
  options.tls = [] {
    rt::TlsClientOptions tls;
    tls.insecure = true;  // as curl below: the handshake is not what is measured
    return tls;
  };
  const auto client = make_client(options);
  loop.run(reachable(client.get()));
  Curl curl(backend.url());

  fmt::print("Small GETs over TLS and HTTP/2: {} B bodies, {} B token; server: {}; best of {} x {} requests\n\n",
             kBodyBytes, kToken.size(), backend.name(), kRounds, requests);
  fmt::print("| in flight | client | CPU us / request | requests / CPU-second | ratio |\n|---|---|---|---|---|\n");
  for (const int in_flight : {1, 64}) {
    const double theirs = measure(requests, [&](int n) { curl.run(in_flight, n); });
    const double ours = measure(requests, [&](int n) { loop.run(run_workers(client.get(), in_flight, n)); });
    fmt::print("| {} | libcurl {} | {:.1f} | {:.0f} | 1.0 |\n", in_flight, in_flight == 1 ? "easy" : "multi", theirs,
               1e6 / theirs);
    fmt::print("| {} | kopper::http | {:.1f} | {:.0f} | {:.1f} |\n", in_flight, ours, 1e6 / ours, theirs / ours);
  }
  return 0;
}

}  // namespace
}  // namespace kopper::http

int main(int argc, char** argv) {
  try {
    return kopper::http::run(argc > 1 ? std::atoi(argv[1]) : 20'000, argc > 2 && std::string_view(argv[2]) == "own");
  } catch (const kopper::Error& error) {
    std::cerr << "http_bench: " << error.what() << "\n";
    return 1;
  }
}
