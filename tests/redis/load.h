#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "redis/blocking_client.h"
#include "redis/nodes.h"

namespace redis::testing {

struct LoadOptions {
  std::size_t keys = 20000;
  std::size_t writers = 2;
  std::size_t writes_a_second = 1000;  // of each writer, at most; 0: as many as can be
  std::string prefix = "load";         // of the keys
  std::string password;
  // More than a busy machine needs: who does not answer for so long is given up, and what it was asked counts as
  // unknown.
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
  // So many replicas must have a write before it counts as acknowledged; for tests that kill masters, which may lose
  // what no replica has.
  int replicas = 0;
};

// A client of the cluster, with connections and a map of its own. Follows MOVED, ASK, and waits out whatever else
// passes: it gives up only when it is told to. Of one thread.
class ClusterClient {
 public:
  ClusterClient(std::vector<std::string> seeds, LoadOptions options, const std::atomic<bool>* stop);

  // Also asked where slots are: for when all addresses have changed.
  void know(const std::vector<std::string>& addresses);

  struct Done {
    bool answered = false;
    bool durable = false;  // on as many replicas as wanted
    bool lost = false;     // it may have been done
    bool late = false;     // and if not, the server may still do it
    Answer answer;
    std::string address;  // who answered
  };
  // Ends with an answer, with the first attempt whose answer is lost, when it is told to stop, or at `until`.
  Done call(const std::vector<std::string>& words, std::size_t slot,
            std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());
  // Who has the slot, as far as is known; "" when it is not.
  const std::string& owner(std::size_t slot) const { return owners_.at(slot); }
  void refresh();
  BlockingClient& at(const std::string& address);
  void drop(const std::string& address) { open_.erase(address); }

 private:
  bool refresh_from(const std::string& address);
  void pause();

  const LoadOptions options_;
  const std::atomic<bool>* stop_;
  std::set<std::string> known_;
  std::map<std::string, BlockingClient> open_;
  std::array<std::string, kAllSlots> owners_;
};

// Clients that write to a cluster and remember every write that was acknowledged: strings and hashes with a version
// that grows, counters, lists. Each key is written by one writer.
class Load {
 public:
  Load(std::vector<std::string> seeds, LoadOptions options = LoadOptions());
  ~Load();  // stops
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Writes every key once and returns; then writers go on beside the test.
  void start();
  // Returns when so many more writes are acknowledged, or false after `patience`.
  bool wait_for(std::uint64_t more, std::chrono::seconds patience = std::chrono::seconds(90));
  // More addresses of the cluster; at any time.
  void know(const std::vector<std::string>& addresses);
  void stop();

  // Stops, and reads every key: what differs from what was acknowledged, one line each, at most 20. "" when all is
  // there.
  std::string verify();

  std::uint64_t acknowledged() const { return acknowledged_; }
  // The longest that a write to a shard took, from the first attempt to the answer; by the address that gave
  // it. Only when stopped.
  std::map<std::string, std::chrono::milliseconds> longest() const;
  std::chrono::milliseconds longest_of_all() const;
  // Of all writes, in per cent of them; only when stopped.
  std::chrono::microseconds latency(double percent) const;

 private:
  // What the cluster may have of a key: from the newest that it must have to the newest that was tried.
  struct Key {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t late = 0;               // attempts that may still be done
    std::set<std::uint32_t> late_values;  // versions of these
  };
  struct Writer {
    std::unique_ptr<ClusterClient> client;
    std::thread thread;
    std::vector<std::string> wrong;
    std::map<std::string, std::chrono::milliseconds> longest;
    std::vector<std::uint32_t> microseconds;
    std::vector<std::string> told;  // guarded by mutex_
    bool fresh = false;             // told is to be read; guarded by mutex_
  };

  std::string name(std::size_t key) const;
  void fill(ClusterClient& client);
  void write_on(std::size_t index);
  void write(Writer& writer, std::size_t index);
  void hear(Writer& writer);
  std::string difference(std::size_t index, const Answer& answer) const;

  const LoadOptions options_;
  std::vector<std::string> seeds_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> acknowledged_ = 0;
  std::vector<Key> keys_;  // each of one writer; of all when stopped
  std::mutex mutex_;
  std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace redis::testing
