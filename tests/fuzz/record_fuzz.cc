#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kopper/cache/mirror.h"
#include "kopper/cache/record.h"
#include "kopper/client/watch.h"
#include "kopper/json/value.h"

#include "require.h"

using namespace kopper;
using fuzz::require;

// Any text as an object of a cache: it is refused, or what the record says is what a parser reads, and the text is kept
// but for managedFields.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto head = client::head_of(text);
  const auto record = cache::Record::make(text);
  if (!record) return 0;
  const auto& made = **record;
  require(!made.name().empty(), "a record has a name");
  static_cast<void>(made.labels());
  static_cast<void>(made.annotations());
  static_cast<void>(made.controller());
  static_cast<void>(made.field("spec.a"));

  if (text.contains('\\')) return 0;  // names of members are compared as they are written
  auto whole = json::parse(text);
  if (!whole) return 0;  // broken after its metadata
  auto* metadata = whole->as_object()->find("metadata")->as_object();
  const auto text_of = [&](std::string_view name) {
    const auto* value = metadata->find(name);
    return value != nullptr && value->is_string() ? *value->as_string() : std::string();
  };
  require(made.name() == text_of("name") && made.uid() == text_of("uid"), "the head is that of the text");
  require(head.key == made.key() && head.uid == made.uid(), "both ways to read a head agree");
  if (const auto* fields = metadata->find("managedFields"); fields != nullptr && fields->is_array()) {
    metadata->erase("managedFields");
  }
  const auto kept = json::parse(made.json());
  require(kept && *kept == *whole, "the text is kept but for managedFields");

  // A mirror takes it, or says why not, at any point.
  cache::Store store(client::Resource(), cache::Storage::Compressed);
  cache::Mirror mirror(store, [](const cache::Change&) {});
  mirror.begin();
  require(mirror.initial(text).has_value(), "what is a record can be stored");
  mirror.done(made.resource_version());
  require(mirror.apply(text).has_value() && store.size().objects == 1, "the same again is no other object");
  mirror.note_delete(made.key(), made.uid());
  require(mirror.remove(text).has_value() && (made.uid().empty() || store.size().objects == 0), "it is gone");
  return 0;
}
