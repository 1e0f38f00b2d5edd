#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::conformance {

struct Difference {
  std::string step;  // "topic/scenario/step"
  std::string path;  // "body.spec.replicas"
  std::string real;  // compact JSON, cut when long; "nothing" when absent
  std::string ours;

  std::string str() const;  // "topic/scenario/step: body.spec.replicas: real=1 ours=2"
  friend bool operator==(const Difference&, const Difference&) = default;
};

// Field by field. Members are compared in any order; items that all have a name of their own are matched by it, so that
// one that is missing is one difference. When the status differs, only that and the message are told.
std::vector<Difference> compare(const std::string& step, const json::Value& real, const json::Value& ours);

// The differences that we know of and accept, each with its reason. A line of the file:
//   topic/scenario/step: path   # reason
// `*` stands for any text. Empty lines and those that begin with # are skipped.
class KnownDifferences {
 public:
  KnownDifferences() = default;
  // Throws Error{Invalid} naming a line without a reason.
  static KnownDifferences read(const std::filesystem::path& file);
  static KnownDifferences parse(std::string_view text);

  bool covers(const Difference& difference);
  // The lines that covered nothing so far.
  std::vector<std::string> unused() const;

 private:
  struct Entry {
    std::string pattern;
    bool used = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace kopper::conformance
