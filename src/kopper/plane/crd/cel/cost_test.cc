#include "kopper/plane/crd/cel/cost.h"

#include <gtest/gtest.h>

#include "kopper/plane/crd/cel/program.h"
#include "kopper/plane/crd/crd_schema.h"

namespace kopper::plane::cel {
namespace {

// Of a rule of `spec`, in which `schema` says what there is.
double cost_of(const char* rule, const char* properties) {
  BuiltinSchemas builtins;
  const json::Value written = json::parse(std::string(R"({"type":"object","properties":{"spec":{"type":"object",)") +
                                          R"("properties":)" + properties + "}}}")
                                  .value();
  const CrdSchema schema(written, builtins);
  const Environment environment{.self = schema.root().child("spec")};
  const auto program = Program::compile(rule, environment, Result::Bool);
  EXPECT_TRUE(program.has_value()) << program.error();
  return program ? program->least_cost() : 0;
}

const char* const kLists = R"({
  "few":{"type":"array","maxItems":10,"items":{"type":"string"}},
  "many":{"type":"array","items":{"type":"string"}},
  "map":{"type":"object","maxProperties":5,"additionalProperties":{"type":"array","maxItems":7,"items":{"type":"string"}}},
  "text":{"type":"string"}})";

TEST(LeastCost, CountsLoops) {
  EXPECT_EQ(cost_of("self.text == 'a' && self.few[0] == 'b'", kLists), 0);
  EXPECT_EQ(cost_of("self.few.all(x, x == 'a')", kLists), 10);
  EXPECT_EQ(cost_of("self.few.all(x, self.few.exists(y, x == y))", kLists), 110);
  EXPECT_EQ(cost_of("self.few.filter(x, x != 'a').all(x, x == 'b')", kLists), 20);
  EXPECT_EQ(cost_of("self.map.all(k, self.map[k].all(x, x == k))", kLists), 5 * (1 + 7));
  EXPECT_EQ(cost_of("[1, 2, 3].all(x, x > 0)", kLists), 3);
  EXPECT_EQ(cost_of("self.text == '' ? self.few.all(x, x == 'a') : true", kLists), 10);
}

TEST(LeastCost, OfAListWithoutALimitIsWhatFitsInARequest) {
  const double once = cost_of("self.many.all(x, x == 'a')", kLists);
  EXPECT_GT(once, 1'000'000);
  EXPECT_LT(once, 10'000'000);
  EXPECT_GT(cost_of("self.many.all(x, self.many.all(y, x == y))", kLists), 1e12);
}

}  // namespace
}  // namespace kopper::plane::cel
