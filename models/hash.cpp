#include "models/hash.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "models/error.hpp"

namespace gangway {
namespace {

// The executable that this is part of, or the shared library.
std::string own_file() {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&own_file), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) != 0 &&
      map != nullptr && map->l_name != nullptr && *map->l_name != 0)
    return map->l_name;
  return "/proc/self/exe";
}

}  // namespace

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (!state_->context || EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) != 1)
    throw RunError("no SHA-256 in this OpenSSL");
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(state_->context.get(), digest.data(), &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.hex();
}

FileFacts facts_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw RunError("cannot read " + file.string() + ": " + std::strerror(errno));
  Sha256 hash;
  FileFacts facts;
  std::string block(1 << 20, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    const auto n = static_cast<std::size_t>(in.gcount());
    hash.add(std::string_view(block).substr(0, n));
    facts.bytes += n;
  }
  if (!in.eof()) throw RunError("cannot read " + file.string());
  facts.sha256 = hash.hex();
  return facts;
}

const std::string& program_hash() {
  static const std::string hash = facts_of(own_file()).sha256;
  return hash;
}

}  // namespace gangway
