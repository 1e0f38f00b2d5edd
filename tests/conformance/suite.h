#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/rt/task.h"

#include "conformance/cases.h"
#include "conformance/compare.h"
#include "conformance/runner.h"

// All cases, what the real server answered to them, and how another one compares.
namespace kopper::conformance {

// The folder that holds cases/, answers/ and known_differences.txt.
std::filesystem::path home();

// Scenario by scenario: {"name": [answer, …]}, normalised.
Task<json::Value> answers_of(Target target, Topic topic);

// answers/<topic>.json, one line a step. Reading what was never recorded throws Error{NotFound}.
void write_answers(const std::filesystem::path& folder, const Topic& topic, const json::Value& answers);
json::Value read_answers(const std::filesystem::path& folder, const Topic& topic);

// Of every step of the topic, in its order.
std::vector<Difference> compare_topic(const Topic& topic, const json::Value& real, const json::Value& ours);

}  // namespace kopper::conformance
