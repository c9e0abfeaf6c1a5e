// Rewritten modules that are compiled, on disk.
//
// One file for each module, GPU and assembler: a line that names the kind of file, the SHA-256 of all behind
// it, the length of the JSON, the JSON, the cubin. Its name is made of the key: SHA-256 of the PTX, the
// options, the GPU and the rewriter's version, then of the assembler's version. A file appears under its name
// when all of it is written; what does not hold against its hash and its name is not used.
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

// What was made of a module. Without a cubin: why there is none, so that nobody tries again.
struct CacheEntry {
  Prepared prepared;
  std::string assembler;  // Assembler::identity
  std::string gpu;        // sm_90
  std::string trouble;    // where there is no cubin
  std::string origin;     // the file and module that it was made of, for people
};

// As listed, without the cubin.
struct ListedEntry {
  std::string file;
  std::string origin, gpu, assembler, trouble;
  std::size_t kernels = 0, forms = 0;
  std::uint64_t bytes = 0;
  std::int64_t used = 0;  // seconds since 1970
};

// For one thread at a time.
class KernelCache {
 public:
  // A folder that check_cache_folder() allows; it may be missing while nothing is put in. `say` hears, once
  // for each file, of what is damaged.
  KernelCache(std::string folder, std::function<void(const std::string&)> say);

  // The compiled module of a PTX text for a GPU; none where it is not prepared, or has nothing to offer. No
  // compilation, no other program. That of `assembler` (an identity) where it is there, else the latest.
  // `options`: as assembler_options() makes them of the fatbin's.
  std::optional<Prepared> find(std::string_view ptx, Architecture gpu,
                               const std::vector<std::string>& options = {},
                               const std::string& assembler = {});

  // Whether exactly this was made, with or without success.
  std::optional<CacheEntry> entry(std::string_view ptx, Architecture gpu,
                                  const std::vector<std::string>& options, const std::string& assembler);

  // RunError where it cannot be written; nothing is left of it then.
  void put(std::string_view ptx, const std::vector<std::string>& options, const CacheEntry& entry);

  std::vector<ListedEntry> list();  // the latest used first
  // Removes the entries that were used least recently until all take at most so many bytes; how many.
  std::size_t shrink(std::uint64_t most);
  // Removes all entries and what writers that were killed left behind; how many entries.
  std::size_t clear();

 private:
  std::vector<std::string> files(const std::string& prefix);
  std::optional<CacheEntry> load(const std::string& name);

  std::string folder_;
  std::function<void(const std::string&)> say_;
  std::set<std::string> said_;
  // Names of files, as of the last look: a program asks for many modules one after the other.
  std::set<std::string> names_;
  std::int64_t names_of_ = -1;
};

}  // namespace gangway::transform
