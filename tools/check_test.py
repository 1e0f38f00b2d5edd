"""What tools/check_coroutines and tools/check_layers must find, and what they must let pass."""
import importlib.machinery
import importlib.util
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(TOOLS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


coroutines, layers = load("check_coroutines"), load("check_layers")


class Coroutines(unittest.TestCase):
    def lint(self, text):
        return coroutines.lint({Path("src/kopper/x/x.cc"): text})

    def test_aggregates_in_awaited_calls(self):
        for bad in ("co_await f({1, 2});", "auto x = co_await c.get(Options{.a = 1});", 'co_return co_await f(x, {"a"});',
                    "co_await f(\n    std::vector<int>{1});", "while (co_await f(Key{})) { g(); }"):
            self.assertEqual(len(self.lint(bad)), 1, bad)

    def test_awaits_without_aggregates(self):
        for good in ("co_await f(options);", "const bool y = co_await f(x); if (y) { g({1}); }", "while (auto e = co_await q.next()) { use(*e); }",
                     "co_await f([](int x) { return x; });", '// co_await f({1})\n"co_await f({1})";', "for (auto x : co_await f()) { y = {x}; }",
                     "co_await Awaiter{loop};"):
            self.assertEqual(self.lint(good), [], good)

    def test_awaits_in_conditions(self):
        for bad in ("if (co_await f()) g();", "if (!co_await f()) co_return;", "auto x = c ? co_await f() : 0;", "co_await (c ? f() : g());"):
            self.assertEqual(len(self.lint(bad)), 1, bad)
        for good in ("if (ready) co_await f();", "auto t = c ? f() : g(); co_await t;", "co_return co_await f(c ? 1 : 2);"):
            self.assertEqual(self.lint(good), [], good)

    def test_aggregate_default_arguments(self):
        self.assertEqual(len(self.lint("Task<int> f(int x, Options o = {});")), 1)
        self.assertEqual(self.lint("Task<int> f(int x, Options o = Options());"), [])

    def test_capturing_lambda_coroutines(self):
        self.assertEqual(len(self.lint("auto f = [&]() -> Task<> { co_await g(); };")), 1)
        self.assertEqual(len(self.lint("spawn([x] { co_return; });")), 1)
        for good in ("auto f = []() -> Task<> { co_await g(); };", "auto f = [&] { return 1; };", "a[i] = 1; [[nodiscard]] int f() { return b[co]; }",
                     "// outlives: run() waits for it\nauto f = [&]() -> Task<> { co_await g(); };",
                     "auto f = [&] { return [](int i) -> Task<> { co_return; }(1); };"):
            self.assertEqual(self.lint(good), [], good)

    def test_references_into_coroutines(self):
        for bad in ("Task<> f(const std::string& s);", "kopper::Task<int> f(std::string_view s) {", "Task<std::vector<int>> f(int a,\n  Loop& loop);"):
            self.assertEqual(len(self.lint(bad)), 1, bad)
        for good in ("Task<> f(std::string s);", "Task<> f(Loop& loop);  // outlives: all its tasks", "// outlives: the call\nTask<> f(Loop& loop);",
                     "Task<> Client::get(const Key& k) {", "Task<> f(std::function<void(int&)> fn);", "Task<> f(Task<>& t) override;",
                     "Task<> f(Loop& l);  // outlives: us\nTask<> f(Loop& l) {"):
            self.assertEqual(self.lint(good), [], good)


class Layers(unittest.TestCase):
    LISTS = {"base": "kopper_module(base LAYER 0 SOURCES a.cc)", "json": "kopper_module(json LAYER 1 SOURCES a.cc DEPS base)",
             "rt": "kopper_module(rt LAYER 1 SOURCES a.cc DEPS base)", "http": "kopper_module(http LAYER 2 SOURCES a.cc DEPS base rt)"}

    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {**{f"src/kopper/{m}/CMakeLists.txt": t for m, t in self.LISTS.items()}, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return layers.Checker(root, [Path(f) for f in files]).check()

    def test_allowed(self):
        self.assertEqual(self.check({
            "src/kopper/base/a.h": "#include <string>\n#include <fmt/format.h>\n",
            "src/kopper/http/a.h": '#include "kopper/rt/a.h"\n',
            "src/kopper/rt/a.cc": "#include <sys/socket.h>\n#include <openssl/ssl.h>\n",
            "src/kopper/json/a.cc": '#include <simdjson.h>\n#include "kopper/json/detail/b.h"\n#include "kopper/base/a.h"\n'}), [])

    def test_refused(self):
        for files in ({"src/kopper/base/a.cc": '#include "kopper/json/a.h"'},        # upwards
                      {"src/kopper/json/a.cc": '#include "kopper/rt/a.h"'},          # pure
                      {"src/kopper/http/a.cc": '#include "kopper/json/a.h"'},        # not named
                      {"src/kopper/http/a.cc": '#include "kopper/rt/detail/a.h"'},   # private
                      {"src/kopper/json/a.h": "#include <simdjson.h>"},              # third party in public
                      {"src/kopper/json/a.cc": "#include <thread>"},                 # threads outside rt
                      {"src/kopper/json/forgotten.cc": ""}):                         # not built
            self.assertEqual(len(self.check(files)), 1, files)

    def test_private_header_reached_from_a_public_one(self):
        found = self.check({"src/kopper/json/a.h": '#include "kopper/json/detail/b.h"', "src/kopper/json/detail/b.h": "#include <simdjson.h>"})
        self.assertEqual(len(found), 1)


if __name__ == "__main__":
    unittest.main()
