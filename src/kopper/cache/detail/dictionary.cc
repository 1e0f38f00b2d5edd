#include "kopper/cache/detail/dictionary.h"

#include <memory>

#include <zdict.h>
#include <zstd.h>

namespace kopper::cache {
namespace {

constexpr int kLevel = 1;
constexpr std::size_t kDictionaryBytes = std::size_t{64} << 10U;

struct FreeContexts {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContexts> context(ZSTD_createCCtx());
  return context.get();
}
ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContexts> context(ZSTD_createDCtx());
  return context.get();
}

}  // namespace

const Dictionary* Dictionary::train(const std::vector<std::string>& samples) {
  std::string all;
  std::vector<std::size_t> sizes;
  for (const auto& sample : samples) {
    all += sample;
    sizes.push_back(sample.size());
  }
  std::string content(kDictionaryBytes, '\0');
  const auto size = ZDICT_trainFromBuffer(content.data(), content.size(), all.data(), sizes.data(),
                                          static_cast<unsigned>(sizes.size()));
  if (ZDICT_isError(size)) return nullptr;
  auto* out = new Dictionary;
  auto* to = ZSTD_createCDict(content.data(), size, kLevel);
  auto* from = ZSTD_createDDict(content.data(), size);
  out->compressing_ = to;
  out->decompressing_ = from;
  out->bytes_ = ZSTD_sizeof_CDict(to) + ZSTD_sizeof_DDict(from);
  return out;
}

Dictionary::~Dictionary() {
  ZSTD_freeCDict(static_cast<ZSTD_CDict*>(compressing_));
  ZSTD_freeDDict(static_cast<ZSTD_DDict*>(decompressing_));
}

void Dictionary::release() const {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool Dictionary::compress(std::string_view text, std::string& out) const {
  const auto before = out.size();
  out.resize(before + ZSTD_compressBound(text.size()));
  const auto size = ZSTD_compress_usingCDict(compressor(), out.data() + before, out.size() - before, text.data(),
                                             text.size(), static_cast<const ZSTD_CDict*>(compressing_));
  const bool fine = ZSTD_isError(size) == 0;
  out.resize(before + (fine ? size : 0));
  return fine;
}

bool Dictionary::decompress(std::string_view bytes, char* out, std::size_t size) const {
  const auto got = ZSTD_decompress_usingDDict(decompressor(), out, size, bytes.data(), bytes.size(),
                                              static_cast<const ZSTD_DDict*>(decompressing_));
  return ZSTD_isError(got) == 0 && got == size;
}

}  // namespace kopper::cache
