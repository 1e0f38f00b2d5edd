#include "redis/blocking_client.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace redis::testing {
namespace {

std::string reason() { return std::strerror(errno); }

std::string encoded(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return out;
}

}  // namespace

std::string Answer::str() const {
  switch (kind) {
    case Kind::Text: return text;
    case Kind::Error: return "(error) " + text;
    case Kind::Integer: return std::to_string(integer);
    case Kind::Null: return "(nil)";
    case Kind::Array: break;
  }
  std::string out = "[";
  for (const Answer& item : items) out += (out.size() > 1 ? ", " : "") + item.str();
  return out + "]";
}

BlockingClient::BlockingClient(const std::string& address, const std::string& password,
                               std::chrono::milliseconds timeout, std::uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (fd_ < 0) throw Broken("socket: " + reason());
  const timeval bound{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
  const int yes = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);  // of connect as well
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  try {
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw Broken("connect to " + address + ": " + reason());
    if (password.empty()) return;
    const Answer taken = call({"AUTH", password});
    if (taken.is_error()) throw Broken(address + ": " + taken.text);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

BlockingClient::~BlockingClient() {
  if (fd_ >= 0) ::close(fd_);
}

BlockingClient::BlockingClient(BlockingClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), in_(std::move(other.in_)), at_(other.at_) {}

Answer BlockingClient::call(const std::vector<std::string>& words) {
  send_all(encoded(words));
  return read();
}

std::vector<Answer> BlockingClient::pipeline(const std::vector<std::vector<std::string>>& commands) {
  std::string out;
  for (const auto& words : commands) out += encoded(words);
  send_all(out);
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < commands.size(); ++i) answers.push_back(read());
  return answers;
}

void BlockingClient::send_all(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw Broken("send: " + reason());
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

Answer BlockingClient::read() {
  const std::string head = line();
  const std::string rest = head.substr(1);
  Answer out;
  switch (head[0]) {
    case '+': out.kind = Answer::Kind::Text, out.text = rest; break;
    case '-': out.kind = Answer::Kind::Error, out.text = rest; break;
    case ':': out.kind = Answer::Kind::Integer, out.integer = std::stoll(rest); break;
    case '$':
      if (rest == "-1") break;
      out.kind = Answer::Kind::Text;
      out.text = bytes(std::stoul(rest));
      bytes(2);
      break;
    case '*':
      if (rest == "-1") break;
      out.kind = Answer::Kind::Array;
      for (auto left = std::stoul(rest); left > 0; --left) out.items.push_back(read());
      break;
    default: throw Broken("not an answer: " + head);
  }
  return out;
}

std::string BlockingClient::line() {
  std::size_t end = 0;
  while ((end = in_.find("\r\n", at_)) == std::string::npos) more();
  const std::string out = in_.substr(at_, end - at_);
  at_ = end + 2;
  if (out.empty()) throw Broken("an empty answer");
  return out;
}

std::string BlockingClient::bytes(std::size_t count) {
  while (in_.size() - at_ < count) more();
  const std::string out = in_.substr(at_, count);
  at_ += count;
  return out;
}

void BlockingClient::more() {
  in_.erase(0, std::exchange(at_, 0));
  char buffer[16384];
  ssize_t got = 0;
  while ((got = ::recv(fd_, buffer, sizeof buffer, 0)) < 0 && errno == EINTR) {
  }
  if (got == 0) throw Broken("the server closed the connection");
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) throw TimedOut("no answer in time");
  if (got < 0) throw Broken("recv: " + reason());
  in_.append(buffer, static_cast<std::size_t>(got));
}

}  // namespace redis::testing
