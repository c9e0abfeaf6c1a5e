// An on-disk cache of rewritten, compiled modules.
//
// One file per module, GPU and assembler: a line with the file type, the SHA-256 of the rest, the length of
// the JSON, the JSON, the cubin. The file name is the key: the SHA-256 of the PTX, options, GPU and rewriter
// version, then the assembler's version. Files are written under another name and renamed. A file whose hash
// or name does not match is ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/architecture.hpp"
#include "hw/transform/rewrite.hpp"

namespace gangway::transform {

struct Prepared {
  std::string cubin;
  std::vector<KernelForms> kernels;
};

// The result for a module. Without a cubin it records the reason, so that nobody tries again.
struct CacheEntry {
  Prepared prepared;
  std::string assembler;  // Assembler::identity
  std::string gpu;        // sm_90
  std::string trouble;    // if there is no cubin
  std::string origin;     // the source file and module, for people
};

// A listed entry, without the cubin.
struct ListedEntry {
  std::string file;
  std::string origin, gpu, assembler, trouble;
  std::size_t kernels = 0, forms = 0;
  std::uint64_t bytes = 0;
  std::int64_t used = 0;  // seconds since 1970
};

// Not thread-safe.
class KernelCache {
 public:
  // `folder` must pass check_cache_folder(); it may be missing until the first put(). `say` is told of each
  // damaged file once.
  KernelCache(std::string folder, std::function<void(const std::string&)> say);

  // The compiled module of a PTX text for a GPU. None if it is not prepared or has no forms. Neither compiles
  // nor starts programs. Prefers the entry of `assembler` (an identity), else the latest. `options`: from
  // assembler_options() of the fatbin's.
  std::optional<Prepared> find(std::string_view ptx, Architecture gpu,
                               const std::vector<std::string>& options = {},
                               const std::string& assembler = {});

  // Whether it has been tried, with any assembler.
  bool tried(std::string_view ptx, Architecture gpu, const std::vector<std::string>& options);

  // The entry of exactly this key, successful or not.
  std::optional<CacheEntry> entry(std::string_view ptx, Architecture gpu,
                                  const std::vector<std::string>& options, const std::string& assembler);

  // RunError if writing fails; then no file remains.
  void put(std::string_view ptx, const std::vector<std::string>& options, const CacheEntry& entry);

  std::vector<ListedEntry> list();  // most recently used first
  // Removes least recently used entries until the rest fits into `most` bytes. Returns how many.
  std::size_t shrink(std::uint64_t most);
  // Removes all entries and the leftovers of killed writers. Returns the number of entries.
  std::size_t clear();

 private:
  std::vector<std::string> files(const std::string& prefix);
  std::optional<CacheEntry> load(const std::string& name);

  std::string folder_;
  std::function<void(const std::string&)> say_;
  std::set<std::string> said_;
  // File names found by the last scan: a program looks up many modules in a row.
  std::set<std::string> names_;
  std::int64_t names_of_ = -1;
};

}  // namespace gangway::transform
