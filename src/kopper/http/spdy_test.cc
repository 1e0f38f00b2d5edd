#include "kopper/http/spdy.h"

#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/http/detail/spdy_frames.h"
#include "kopper/rt/scope.h"

namespace kopper::http {
namespace {

using detail::SpdyDecoder;
using detail::SpdyEncoder;
using detail::SpdyFrame;

constexpr SpdyDecoder::Limits kLimits{.frame = 100'000, .headers = 10'000};

SpdyFrame only(SpdyDecoder& decoder, std::string_view bytes) {
  decoder.feed(bytes);
  auto frame = decoder.next();
  EXPECT_TRUE(frame && *frame);
  return std::move(**frame);
}

TEST(SpdyFrames, HeadersAreCompressedOverTheConnection) {
  SpdyEncoder encoder;
  SpdyDecoder decoder(kLimits);
  const Headers headers{{"streamtype", "error"}, {"port", "80"}, {"empty", ""}};
  const std::string first = encoder.syn_stream(1, headers);
  const std::string second = encoder.syn_stream(3, headers);
  EXPECT_LT(second.size(), first.size());
  const SpdyFrame one = only(decoder, first);
  EXPECT_EQ(one.type, SpdyFrame::kSynStream);
  EXPECT_EQ(one.stream, 1U);
  EXPECT_EQ(one.headers.get("streamtype"), "error");
  EXPECT_EQ(one.headers.get("empty"), "");
  const SpdyFrame two = only(decoder, second);
  EXPECT_EQ(two.stream, 3U);
  EXPECT_EQ(two.headers.get("port"), "80");
}

TEST(SpdyFrames, ReadsWhatIsCutAnywhere) {
  SpdyEncoder encoder;
  const std::string bytes = encoder.syn_stream(1, Headers{{"streamtype", "stdin"}}) +
                            SpdyEncoder::data(1, "hello", true) + SpdyEncoder::ping(7) + SpdyEncoder::reset(1, 5) +
                            SpdyEncoder::goaway(1) + SpdyEncoder::window_update(1, 9);
  SpdyDecoder decoder(kLimits);
  std::vector<SpdyFrame> frames;
  for (const char c : bytes) {
    decoder.feed(std::string_view(&c, 1));
    while (auto frame = *decoder.next()) frames.push_back(std::move(*frame));
  }
  ASSERT_EQ(frames.size(), 6U);
  EXPECT_EQ(frames[1].data, "hello");
  EXPECT_EQ(frames[1].flags, SpdyFrame::kFin);
  EXPECT_EQ(frames[2].number, 7U);
  EXPECT_EQ(frames[3].number, 5U);
  EXPECT_EQ(frames[4].type, SpdyFrame::kGoAway);
  EXPECT_EQ(frames[5].number, 9U);
}

TEST(SpdyFrames, RefusesWhatIsNoSpdyOrTooMuch) {
  const auto fails = [](std::string_view bytes) {
    SpdyDecoder decoder(kLimits);
    decoder.feed(bytes);
    return !decoder.next().has_value();
  };
  EXPECT_TRUE(fails("GET / HTTP/1.1\r\n\r\n"));                                             // as data: far too long
  EXPECT_TRUE(fails(std::string_view("\x80\x02\0\1\0\0\0\0", 8)));                          // SPDY/2
  EXPECT_TRUE(fails(std::string_view("\x80\x03\0\6\0\0\0\1x", 9)));                         // a short PING
  EXPECT_TRUE(fails(std::string_view("\x80\x03\0\1\0\0\0\xc\0\0\0\1\0\0\0\0\0\0zz", 20)));  // no zlib
  SpdyEncoder encoder;
  EXPECT_TRUE(fails(encoder.syn_stream(1, Headers{{"a", std::string(20'000, 'a')}})));  // small when compressed
}

class SpdySessionTest : public ::testing::Test {
 protected:
  SpdySessionTest() {
    auto [ours, theirs] = rt::pipe(std::size_t{1} << 20U);
    peer_ = std::move(theirs);
    session_ = std::make_unique<SpdySession>(std::move(ours), SpdyOptions{.max_streams = 3, .max_unread = 1000});
  }

  void send(std::string_view bytes) { loop_.run(peer_->write(bytes)); }
  std::unique_ptr<SpdyStream> open(std::uint32_t id) {
    send(encoder_.syn_stream(id, Headers{{"streamtype", "data"}}));
    auto stream = loop_.run(session_->accept());
    EXPECT_EQ(next().type, SpdyFrame::kSynReply);
    return stream;
  }
  SpdyFrame next() {
    std::string buffer(1000, '\0');
    for (;;) {
      auto frame = decoder_.next();
      EXPECT_TRUE(frame.has_value());
      if (*frame) return std::move(**frame);
      const auto n = loop_.run(peer_->read(buffer));
      if (n == 0) return {.type = SpdyFrame::kSettings, .data = "the end"};
      decoder_.feed(std::string_view(buffer).substr(0, n));
    }
  }
  std::string read(rt::Stream& stream) {
    std::string buffer(100, '\0');
    buffer.resize(loop_.run(stream.read(buffer)));
    return buffer;
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  SpdyEncoder encoder_;
  SpdyDecoder decoder_{SpdyDecoder::Limits()};
  std::unique_ptr<rt::Stream> peer_;
  std::unique_ptr<SpdySession> session_;
};

TEST_F(SpdySessionTest, StreamsCarryBytesBothWays) {
  const auto stream = open(1);
  EXPECT_EQ(stream->id(), 1U);
  EXPECT_EQ(stream->headers().get("streamtype"), "data");
  send(SpdyEncoder::data(1, "in", false) + SpdyEncoder::data(1, "", true));
  EXPECT_EQ(read(*stream), "in");
  EXPECT_EQ(read(*stream), "");
  loop_.run(stream->write("out"));
  loop_.run(stream->shutdown());
  EXPECT_EQ(next().data, "out");
  EXPECT_EQ(next().flags, SpdyFrame::kFin);
}

TEST_F(SpdySessionTest, AnswersPings) {
  send(SpdyEncoder::ping(1));
  EXPECT_EQ(next().number, 1U);
}

TEST_F(SpdySessionTest, ResetsWhatIsDroppedAndRefusesTooMany) {
  auto first = open(1);
  first.reset();
  const auto reset = next();
  EXPECT_EQ(reset.type, SpdyFrame::kRstStream);
  EXPECT_EQ(reset.number, 5U);
  send(SpdyEncoder::data(1, "late", false));  // is dropped
  const auto a = open(3);
  const auto b = open(5);
  const auto c = open(7);
  send(encoder_.syn_stream(9, Headers()));
  EXPECT_EQ(next().number, 3U);
}

TEST_F(SpdySessionTest, ClientResets) {
  const auto stream = open(1);
  send(SpdyEncoder::data(1, "x", false) + SpdyEncoder::reset(1, 5));
  loop_.poll();
  EXPECT_EQ(read(*stream), "x");
  EXPECT_THROW(read(*stream), Error);
  EXPECT_THROW(loop_.run(stream->write("y")), Error);
}

TEST_F(SpdySessionTest, DoesNotReadOnForAReaderThatDoesNot) {
  const auto stream = open(1);
  rt::Scope scope;
  bool more = false;
  scope.spawn([](rt::Stream* peer, bool* done) -> Task<> {
    const auto frame = SpdyEncoder::data(1, std::string(30'000, 'x'), false);
    for (int i = 0; i < 100; ++i) co_await peer->write(frame);  // more than the pipe and the session hold
    *done = true;
  }(peer_.get(), &more));
  loop_.poll();
  EXPECT_FALSE(more);
  loop_.advance(std::chrono::seconds(30));
  EXPECT_EQ(next().type, SpdyFrame::kPing);  // is it still there?
  std::string all;
  while (all.size() < 3'000'000) all += read(*stream);
  EXPECT_TRUE(more);
}

TEST_F(SpdySessionTest, EndsWithTheConnection) {
  const auto stream = open(1);
  peer_.reset();
  loop_.run(session_->closed());
  EXPECT_THROW(read(*stream), Error);
  EXPECT_EQ(loop_.run(session_->accept()), nullptr);
}

TEST_F(SpdySessionTest, ClosesAfterAllIsSent) {
  const auto stream = open(1);
  loop_.run(stream->write("last words"));
  loop_.run(session_->close());
  EXPECT_EQ(next().data, "last words");
  EXPECT_EQ(next().type, SpdyFrame::kGoAway);
  EXPECT_EQ(next().data, "the end");
}

TEST_F(SpdySessionTest, StreamsMayOutliveTheSession) {
  const auto stream = open(1);
  send(encoder_.syn_stream(3, Headers()));  // one that nobody accepts
  loop_.poll();
  session_.reset();
  EXPECT_THROW(read(*stream), Error);
  EXPECT_THROW(loop_.run(stream->write("x")), Error);
}

TEST_F(SpdySessionTest, GarbageEndsTheConnection) {
  send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  loop_.run(session_->closed());
}

}  // namespace
}  // namespace kopper::http
