#include "kopper/cache/detail/dictionary.h"

#include <memory>

#include <zdict.h>
#include <zstd.h>

namespace kopper::cache {
namespace {

constexpr int kLevel = 1;
constexpr std::size_t kContentBytes = std::size_t{48} << 10U;
constexpr std::size_t kTableBytes = std::size_t{4} << 10U;

struct FreeContexts {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// The record knows the size of the text and its dictionary: frames need not say so.
ZSTD_CCtx* new_compressor() {
  auto* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_dictIDFlag, 0);
  return context;
}
ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContexts> context(new_compressor());
  return context.get();
}
ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContexts> context(ZSTD_createDCtx());
  return context.get();
}

}  // namespace

// Training proper looks for what is common to all samples: 100 ms and more, and no better here than some whole objects.
// Objects of a kind are so alike that any one explains most of any other. What is made of the samples are the tables of
// the entropy coder, which each object would have to carry otherwise.
const Dictionary* Dictionary::make(const std::vector<std::string>& samples) {
  std::string all;
  std::vector<std::size_t> sizes;
  std::string content;
  for (const auto& sample : samples) {
    all += sample;
    sizes.push_back(sample.size());
    if (content.size() + sample.size() <= kContentBytes) content += sample;
  }
  std::string made(kContentBytes + kTableBytes, '\0');
  ZDICT_params_t how{};
  how.compressionLevel = kLevel;
  const auto size = ZDICT_finalizeDictionary(made.data(), made.size(), content.data(), content.size(), all.data(),
                                             sizes.data(), static_cast<unsigned>(sizes.size()), how);
  if (ZDICT_isError(size)) return nullptr;
  auto* out = new Dictionary;
  auto* to = ZSTD_createCDict(made.data(), size, kLevel);
  auto* from = ZSTD_createDDict(made.data(), size);
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
  auto* context = compressor();
  ZSTD_CCtx_refCDict(context, static_cast<const ZSTD_CDict*>(compressing_));
  const auto size = ZSTD_compress2(context, out.data() + before, out.size() - before, text.data(), text.size());
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
