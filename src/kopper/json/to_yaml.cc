#include <new>

#include <yaml.h>

#include "kopper/json/detail/yaml_scalar.h"
#include "kopper/json/utf8.h"
#include "kopper/json/yaml.h"

namespace kopper::json {
namespace {

class Emitter {
 public:
  explicit Emitter(std::string& out) {
    if (yaml_emitter_initialize(&emitter_) == 0) throw std::bad_alloc();
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_width(&emitter_, -1);
    yaml_emitter_set_output(&emitter_, append, &out);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  ~Emitter() { yaml_emitter_delete(&emitter_); }

  void document(const Value& value) {
    yaml_event_t event;
    emit(event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
    emit(event, yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1));
    any(value);
    emit(event, yaml_document_end_event_initialize(&event, 1));
    emit(event, yaml_stream_end_event_initialize(&event));
  }

 private:
  static int append(void* out, unsigned char* bytes, std::size_t size) {
    static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), size);
    return 1;
  }

  // Text is UTF-8 by the time it comes here and events come in order, so what is left to fail is memory.
  void emit(yaml_event_t& event, int made) {
    if (made == 0 || yaml_emitter_emit(&emitter_, &event) == 0) throw std::bad_alloc();
  }

  void any(const Value& value) {
    yaml_event_t event;
    if (const Object* object = value.as_object()) {
      emit(event, yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE));
      for (const auto& [key, member] : *object) {
        string(key, true);
        any(member);
      }
      emit(event, yaml_mapping_end_event_initialize(&event));
    } else if (const Array* array = value.as_array()) {
      emit(event, yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE));
      for (const Value& element : *array) any(element);
      emit(event, yaml_sequence_end_event_initialize(&event));
    } else if (const std::string* text = value.as_string()) {
      string(*text, false);
    } else {
      scalar(dump(value), YAML_PLAIN_SCALAR_STYLE);
    }
  }

  void string(const std::string& text, bool is_key) {
    if (!valid_utf8(text)) return string(repaired_utf8(text), is_key);
    scalar(text, style(text, is_key));
  }

  static yaml_scalar_style_t style(std::string_view text, bool is_key) {
    // Only \n survives in a block: readers turn the other line breaks (CR, NEL, LS, PS) into it.
    const bool odd_breaks = text.find_first_of("\r\x85") != std::string_view::npos ||
                            text.find("\xE2\x80\xA8") != std::string_view::npos ||
                            text.find("\xE2\x80\xA9") != std::string_view::npos;
    if (odd_breaks) return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (text.find('\n') != std::string_view::npos)
      return is_key ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_LITERAL_SCALAR_STYLE;
    // libyaml quotes what the grammar does not allow plain; what a plain scalar would mean is for us to know.
    return detail::plain_means_itself(text) ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  }

  void scalar(std::string_view text, yaml_scalar_style_t style) {
    yaml_event_t event;
    emit(event,
         yaml_scalar_event_initialize(&event, nullptr, nullptr, reinterpret_cast<const yaml_char_t*>(text.data()),
                                      static_cast<int>(text.size()), 1, 1, style));
  }

  yaml_emitter_t emitter_{};
};

}  // namespace

std::string to_yaml(const Value& value) {
  std::string out;
  Emitter(out).document(value);
  return out;
}

}  // namespace kopper::json
