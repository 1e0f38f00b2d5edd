// Writes C++ types from the OpenAPI v3 documents of a cluster. See README.md.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/error.h"

#include "emit.h"

namespace kopper::gen {
namespace {

constexpr std::string_view kUsage =
    R"(gen_api: C++ types from the OpenAPI v3 documents that a Kubernetes API server serves

  gen_api --input PATH... --out DIR [--groups apps/v1,batch/v1] [--order FILE] [--namespace NS] [--include DIR]
      writes a header and sources for each group
  gen_api --check ...same flags...
      writes nothing; exit code 1 when DIR is not what would be written
  gen_api --reduce --input PATH... --out DIR --groups ...
      writes the documents again without prose, one file a group

  --input      files, or folders of *.json
  --groups     default: each group with a kind that the library does not have
  --order      lines "schema: member member ...": the order of members in C++
  --namespace  default kopper::api; types of apps/v1 go in NS::appsv1
  --include    how the output is included, default kopper/api/gen
  --definitions  also write the schemas themselves: the library's own are told by its local API server
)";

struct Arguments {
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path out;
  std::filesystem::path order;
  std::vector<std::string> groups;
  Options options;
  bool check = false;
  bool reduce = false;
};

[[noreturn]] void usage(const std::string& problem) {
  throw Error(Code::Invalid, problem + " (gen_api --help tells more)");
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    if (comma > 0) out.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

Arguments parse(const std::vector<std::string>& args) {
  Arguments out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto value = [&]() -> const std::string& {
      if (i + 1 >= args.size()) usage(args[i] + " wants a value");
      return args[++i];
    };
    if (args[i] == "--input") {
      out.inputs.emplace_back(value());
      while (i + 1 < args.size() && !args[i + 1].starts_with("--")) out.inputs.emplace_back(args[++i]);
    } else if (args[i] == "--out") {
      out.out = value();
    } else if (args[i] == "--groups") {
      out.groups = split_list(value());
    } else if (args[i] == "--order") {
      out.order = value();
    } else if (args[i] == "--namespace") {
      out.options.namespace_ = value();
    } else if (args[i] == "--include") {
      out.options.include = value();
    } else if (args[i] == "--check") {
      out.check = true;
    } else if (args[i] == "--definitions") {
      out.options.definitions = true;
    } else if (args[i] == "--reduce") {
      out.reduce = true;
    } else {
      usage("unknown argument " + args[i]);
    }
  }
  if (out.inputs.empty()) usage("--input is missing");
  if (out.out.empty()) usage("--out is missing");
  if (out.reduce && out.groups.empty()) usage("--reduce wants --groups");
  out.options.groups = {out.groups.begin(), out.groups.end()};
  return out;
}

void write(const std::filesystem::path& folder, const std::map<std::string, std::string>& files) {
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : files) {
    if (std::filesystem::exists(folder / name) && read_file(folder / name) == text) continue;  // spare a rebuild
    std::ofstream file(folder / name, std::ios::binary);
    file << text;
    if (!file.flush()) throw Error(Code::Internal, "cannot write " + (folder / name).string());
  }
}

int check(const std::filesystem::path& folder, const std::map<std::string, std::string>& files) {
  int stale = 0;
  const auto complain = [&](const std::string& name, std::string_view why) {
    fmt::print(stderr, "{}: {}\n", (folder / name).string(), why);
    ++stale;
  };
  for (const auto& [name, text] : files) {
    if (!std::filesystem::exists(folder / name))
      complain(name, "missing");
    else if (read_file(folder / name) != text)
      complain(name, "not what gen_api writes");
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!files.contains(entry.path().filename())) complain(entry.path().filename(), "gen_api does not write this file");
  }
  return stale == 0 ? 0 : 1;
}

int run(const std::vector<std::string>& args) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h") {
    fmt::print("{}", kUsage);
    return args.empty() ? 2 : 0;
  }
  const auto arguments = parse(args);
  const auto document = Document::load(arguments.inputs);
  const auto order = arguments.order.empty() ? Order{} : read_order(arguments.order);
  auto files = arguments.reduce ? reduce(document, arguments.groups)
                                : emit(build_model(document, order, arguments.options), arguments.options);
  if (arguments.options.definitions && !arguments.reduce) files["definitions.cc"] = emit_definitions(document);
  if (arguments.check) return check(arguments.out, files);
  write(arguments.out, files);
  return 0;
}

}  // namespace
}  // namespace kopper::gen

int main(int argc, char** argv) {
  try {
    return kopper::gen::run({argv + 1, argv + argc});
  } catch (const kopper::Error& e) {
    fmt::print(stderr, "gen_api: {}\n", e.what());
    return kopper::exit_code(e.code);
  } catch (const std::exception& e) {
    fmt::print(stderr, "gen_api: {}\n", e.what());
    return 1;
  }
}
