#pragma once

#include <optional>
#include <utility>

namespace kopper {

// An optional whose value lives on the heap: an absent one costs a pointer, and a type can hold itself:
// struct Schema { Box<Schema> not_; }; Copies copy the value.
//
// A raw pointer, not std::unique_ptr: big API types hold hundreds of boxes, and this halves what they cost to compile.
template <class T>
class Box {
 public:
  using value_type = T;

  Box() = default;
  Box(std::nullopt_t) {}
  Box(T value) : value_(new T(std::move(value))) {}
  Box(const Box& other) : value_(other.value_ ? new T(*other.value_) : nullptr) {}
  Box(Box&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Box& operator=(Box other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Box() { delete value_; }

  T& emplace() {
    reset();
    value_ = new T();
    return *value_;
  }
  void reset() { delete std::exchange(value_, nullptr); }

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *value_; }
  T& operator*() { return *value_; }
  const T* operator->() const { return value_; }
  T* operator->() { return value_; }

  friend bool operator==(const Box& a, const Box& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || *a == *b);
  }

 private:
  T* value_ = nullptr;
};

}  // namespace kopper
