#include "kopper/plane/crd/cel/program.h"

#include <gtest/gtest.h>

#include "kopper/plane/crd/crd_schema.h"

namespace kopper::plane::cel {
namespace {

const json::Value& schema_json() {
  static const json::Value kSchema = *json::parse(R"({"type": "object", "properties": {
      "n": {"type": "integer"}, "d": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
      "t": {"type": "string", "format": "date-time"}, "span": {"type": "string", "format": "duration"},
      "list": {"type": "array", "items": {"type": "integer"}},
      "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
      "words": {"type": "array", "items": {"type": "string"}},
      "labels": {"type": "object", "additionalProperties": {"type": "string"}},
      "port": {"x-kubernetes-int-or-string": true},
      "a-b.c": {"type": "string"}, "namespace": {"type": "string"},
      "any": {"x-kubernetes-preserve-unknown-fields": true},
      "inner": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}}})");
  return kSchema;
}

class Cel : public testing::Test {
 protected:
  BuiltinSchemas builtins_;
  CrdSchema schema_{schema_json(), builtins_};
  json::Value self_ = *json::parse(R"({"metadata": {"name": "me"}, "n": 3, "d": 1.5, "s": "hello", "b": true,
      "t": "2026-01-31T10:00:00Z", "span": "1h30m", "list": [1, 2, 3], "set": ["a", "b"], "words": ["x", "y"],
      "labels": {"app": "web", "tier": "front"}, "port": "80%", "a-b.c": "odd", "namespace": "ns", "inner": {"x": 1}})");
  json::Value old_;

  std::string compile_error(std::string_view text, Result result = Result::Bool) {
    const auto program = Program::compile(text, {.self = &schema_.root()}, result);
    return program ? "" : program.error();
  }
  // "true", "false", or the error.
  std::string run(std::string_view text, std::uint64_t limit = 1'000'000) {
    const auto program = Program::compile(text, {.self = &schema_.root()}, Result::Bool);
    if (!program) return program.error();
    const Answer answer =
        program->run({.self = &self_, .old_self = old_.is_null() ? nullptr : &old_, .schema = &schema_.root()}, limit);
    return !answer.error.empty() ? answer.error : answer.value ? "true" : "false";
  }
};

TEST_F(Cel, Evaluates) {
  for (const char* rule :
       {"self.n == 3 && self.d < 2.0 && self.b",
        "self.n + 2 * 3 == 9",
        "-self.n < 0",
        "!(self.n > 5)",
        "7 / 2 == 3 && 7 % 2 == 1",
        "self.n > 2.5",
        "self.s.startsWith('he') && self.s.endsWith(\"lo\")",
        "self.s.contains('ell') && self.s.matches('^h.*o$')",
        "size(self.s) == 5 && self.list.size() == 3",
        "self.list.all(x, x > 0)",
        "self.list.exists(x, x == 2)",
        "self.list.exists_one(x, x > 2)",
        "self.list.map(x, x * 2) == [2, 4, 6]",
        "self.list.map(x, x > 1, x * 2) == [4, 6]",
        "self.list.filter(x, x != 2) == [1, 3]",
        "self.labels.all(k, k.size() > 2)",
        "self.labels['app'] == 'web'",
        "self.labels.app == 'web'",
        "'app' in self.labels && !('x' in self.labels)",
        "2 in self.list",
        "has(self.inner) && has(self.inner.x) && !has(self.inner.y)",
        "self.n > 2 ? true : false",
        "self.set == ['b', 'a']",
        "self.set + ['b', 'c'] == ['a', 'b', 'c']",
        "self.list[0] == 1",
        "self.a__dash__b__dot__c == 'odd'",
        "self.__namespace__ == 'ns'",
        "self.metadata.name == 'me'",
        "self.s.upperAscii() == 'HELLO' && 'ABC'.lowerAscii() == 'abc'",
        "'a,b,c'.split(',') == ['a', 'b', 'c']",
        "self.words.join('-') == 'x-y'",
        "'  x '.trim() == 'x'",
        "self.s.replace('l', 'L') == 'heLLo'",
        "self.s.substring(1, 3) == 'el' && self.s.indexOf('l') == 2 && self.s.lastIndexOf('l') == 3",
        "self.list.isSorted() && self.list.sum() == 6 && self.list.min() == 1 && self.list.max() == 3",
        "self.list.indexOf(2) == 1",
        "int('5') == 5 && string(5) == '5' && double('1.5') == 1.5",
        "type(self.port) == string && self.port.endsWith('%')",
        "type(self.port) != int",
        "quantity('1Gi').isGreaterThan(quantity('500Mi'))",
        "isQuantity('10m') && !isQuantity('x')",
        "quantity('1').add(quantity('1')).compareTo(quantity('2')) == 0",
        "duration('1h') < self.span && self.span < duration('2h')",
        "self.t > timestamp('2025-01-01T00:00:00Z')",
        "self.t.getFullYear() == 2026 && self.t.getMonth() == 0",
        "isIP('10.0.0.1') && ip('::1').isLoopback()",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3')",
        "isURL('https://a.b:80/c') && url('https://a.b:80/c').getPort() == '80'",
        "self.?inner.?x.orValue(7) == 1 && self.?inner.?y.orValue(7) == 7",
        "self.labels[?'no'].hasValue() == false",
        "optional.of(1).value() == 1 && !optional.none().hasValue()",
        "sets.contains(self.list, [1, 2])",
        "'%s has %d'.format([self.s, self.n]) == 'hello has 3'",
        "[1, 2].map(x, [x].map(y, y + x)[0]) == [2, 4]",
        "semver('1.2.3').isLessThan(semver('1.10.0'))",
        "{'a': 1}.a == 1 && {'a': 1} == {'a': 1}",
        "dyn(1) == 1.0",
        "'\\u00e9'.size() == 1 && r'\\d' == '\\\\d'",
        "0x10 == 16 && 1u + 2u == 3u && 1e3 == 1000.0",
        "self.list.all(i, v, v == i + 1)",
        "self.labels.transformList(k, v, k + v).size() == 2",
        "self.s.find('l+') == 'll' && 'a1b22'.findAll('[0-9]+') == ['1', '22']"})
    EXPECT_EQ(run(rule), "true") << rule;
}

TEST_F(Cel, ErrorsAreAbsorbedByWhatDecides) {
  EXPECT_EQ(run("self.inner.y > 1"), "no such key: y");
  EXPECT_EQ(run("self.inner.y > 1 || self.n == 3"), "true");
  EXPECT_EQ(run("self.n == 3 || self.inner.y > 1"), "true");
  EXPECT_EQ(run("self.inner.y > 1 && self.n == 4"), "false");
  EXPECT_EQ(run("self.inner.y > 1 && self.n == 3"), "no such key: y");
  EXPECT_EQ(run("[0, 1].exists(x, 1 / x == 1)"), "true");
  EXPECT_EQ(run("1 / (self.n - 3) == 1"), "division by zero");
  EXPECT_EQ(run("self.list[5] == 1"), "index out of bounds: 5");
  EXPECT_EQ(run("9223372036854775807 + self.n > 0"), "integer overflow");
  EXPECT_EQ(run("self.port > 5"), "no such overload");
}

TEST_F(Cel, RefusesWhatDoesNotCompile) {
  EXPECT_EQ(compile_error("self.nope > 1"),
            "compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope > 1\n | ....^");
  EXPECT_EQ(compile_error("self.s > 1"),
            "compilation failed: ERROR: <input>:1:8: found no matching overload for '_>_' applied to '(string, int)'\n"
            " | self.s > 1\n | .......^");
  EXPECT_EQ(
      compile_error("foo(1)"),
      "compilation failed: ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n | foo(1)\n | ...^");
  EXPECT_EQ(compile_error("self.n"), "cel expression must evaluate to a bool");
  EXPECT_EQ(compile_error("self.n", Result::String), "messageExpression must evaluate to a string");
  for (const char* bad :
       {"", "self.", "self.n >", "self.n == 1 &&", "(", "self.any == 1", "self.s.matches('[')", "a ? b",
        "self.metadata.labels.size() == 0", "[1, 'a'] == []", "self.n.all(x, true)", "x", "1 2", "'a",
        "self.list.all(1, true)", "has(self)", "self.s.sortBy(x, x)", "format.dns1123Label()"})
    EXPECT_NE(compile_error(bad), "") << bad;
}

TEST_F(Cel, StopsWhatCostsTooMuch) {
  EXPECT_EQ(run("lists.range(10000).all(x, lists.range(10000).all(y, x + y >= 0))"),
            "operation cancelled: actual cost limit exceeded");
}

TEST_F(Cel, KnowsOldSelf) {
  old_ = *json::parse(R"({"n": 2})");
  EXPECT_EQ(run("self.n >= oldSelf.n"), "true");
  EXPECT_TRUE(Program::compile("self.n >= oldSelf.n", {.self = &schema_.root()}, Result::Bool)->uses_old_self());
  const auto optional = Program::compile("!oldSelf.hasValue() || oldSelf.value().n < self.n",
                                         {.self = &schema_.root(), .optional_old_self = true}, Result::Bool);
  ASSERT_TRUE(optional) << optional.error();
  EXPECT_TRUE(optional->run({.self = &self_, .schema = &schema_.root()}, 1000).value);
}

}  // namespace
}  // namespace kopper::plane::cel
