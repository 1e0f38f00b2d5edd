#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/events_v1.h"
#include "kopper/rt/loop.h"

// Which of the things that happen are worth a write. Pure: the clock is passed in.
namespace kopper::runtime {

struct CorrelatorOptions {
  rt::Duration finish = std::chrono::minutes(6);      // a series ends when nothing was added for so long
  rt::Duration heartbeat = std::chrono::minutes(30);  // and is written at least so often while it goes on
  // Spam: so many writes at once, and one more each `refill`, for one object.
  double burst = 25;
  rt::Duration refill = std::chrono::seconds(300);
  // So many messages of one reason and object in `similar_window` are told apart; the rest is told as one.
  std::size_t similar = 10;
  rt::Duration similar_window = std::chrono::minutes(10);
  std::size_t max_series = 4096;  // remembered at once; the longest silent is forgotten first
};

// An Event to write. Its name is the same for all writes of a series.
struct EventWrite {
  bool create = false;  // else only `series` is new
  api::eventsv1::Event event;
};

// Folds events that are the same into series: the first one is created, later ones only count. The count is written
// when it doubles, every heartbeat, and when the series ends: so a fault that repeats each second costs a few writes an
// hour. Loop-confined.
class EventCorrelator {
 public:
  explicit EventCorrelator(CorrelatorOptions options = CorrelatorOptions()) : options_(options) {}

  enum class Fate : std::uint8_t { Write, Counted, Spam };
  struct Verdict {
    Fate fate = Fate::Write;
    std::optional<EventWrite> write;  // of Write
  };
  // `event` is complete but for its name, time and series.
  Verdict add(api::eventsv1::Event event, rt::TimePoint now, rt::WallTime wall);
  // What time alone makes worth writing; ends series. To be called every minute or so while size() is not zero.
  std::vector<EventWrite> due(rt::TimePoint now);
  // Everything that was counted and not written. Forgets all.
  std::vector<EventWrite> finish();

  std::size_t size() const { return series_.size(); }

 private:
  // Namespace, kind, name, uid and field of what it is about. Its resourceVersion would tell apart what is the same.
  using Object = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  // Object, related, type, reason, action.
  using Group = std::tuple<Object, Object, std::string, std::string, std::string>;
  // And the note, or nothing when the group's notes are folded.
  using Series = std::pair<Group, std::string>;
  struct Entry {
    api::eventsv1::Event event;
    std::int32_t count = 1;
    std::int32_t written = 1;
    rt::TimePoint last;
    rt::TimePoint last_written;
  };
  struct Notes {
    std::set<std::string> seen;
    rt::TimePoint since;
  };
  struct Bucket {
    double tokens = 0;
    rt::TimePoint at;
  };

  static Object object_of(const api::corev1::ObjectReference& reference);
  bool too_many_notes(const Group& group, const std::string& note, rt::TimePoint now);
  bool admit(const Object& about, rt::TimePoint now);
  std::string name_for(const std::string& object, rt::WallTime wall);
  void forget_oldest();

  CorrelatorOptions options_;
  std::map<Series, Entry> series_;
  std::map<Group, Notes> notes_;
  std::map<Object, Bucket> buckets_;
  std::int64_t last_name_ = 0;
};

}  // namespace kopper::runtime
