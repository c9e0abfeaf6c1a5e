#include "hw/transform/images/forms_note.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hw/transform/forms_json.hpp"
#include "hw/transform/images/elf_file.hpp"
#include "models/hash.hpp"

namespace gangway::transform {
namespace {

// Notes of other rewriters mean nothing to this one.
const std::string kName = fmt::format("gangway_forms_{}_", kRewriterVersion);
constexpr std::size_t kOnALine = 24;
constexpr std::size_t kNameHash = 32;

}  // namespace

std::string forms_note(const std::vector<KernelForms>& kernels, Compilation compilation) {
  const std::string text = forms_to_json(kernels).dump(-1, ' ', true);
  // Modules of the same templates have the same note.
  const std::string linkage = compilation == Compilation::relocatable ? ".weak" : ".visible";
  std::string out = "\n" + linkage + " .global .align 1 .b8 " + kName + sha256_of(text).substr(0, kNameHash) +
                    "[" + std::to_string(text.size()) + "] = {";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0) out += ',';
    if (i % kOnALine == 0) out += '\n';
    out += std::to_string(static_cast<unsigned char>(text[i]));
  }
  return out + "};\n";
}

std::vector<KernelForms> forms_in(std::string_view cubin) {
  std::vector<KernelForms> out;
  if (cubin.find(kName) == std::string_view::npos) return out;
  std::string why;
  const auto file = ElfFile::read(cubin, why);
  if (!file) return out;
  for (const ElfSymbol& symbol : file->symbols()) {
    if (!symbol.name.starts_with(kName) || symbol.section >= file->sections().size()) continue;
    const auto text = ByteView(file->sections()[symbol.section].bytes).part(symbol.value, symbol.size);
    if (!text) continue;
    const nlohmann::json json = nlohmann::json::parse(text->bytes(), nullptr, false);
    if (auto found = forms_from_json(json))
      out.insert(out.end(), std::make_move_iterator(found->begin()), std::make_move_iterator(found->end()));
  }
  return out;
}

}  // namespace gangway::transform
