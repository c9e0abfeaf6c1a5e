// Files that nobody controls: whatever stands in them, they are read, or refused in a line.
#include <random>

#include "hw/transform/images/cubin.hpp"
#include "hw/transform/images/elf_file.hpp"
#include "hw/transform/images/fatbin.hpp"
#include "hw/transform/images/forms_note.hpp"
#include "hw/transform/images/image.hpp"
#include "models/error.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/hw/transform/images/fixture_files.hpp"

namespace gangway::testing {
namespace {

using namespace transform;

// Numbers by which sizes and offsets go wrong.
constexpr std::uint64_t kOdd[] = {0,          1,          7,          0x7f,       0xff,  0xffff,
                                  0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff8, ~0ull, 0x8000000000000000};

std::string mutated(const std::string& bytes, const std::vector<std::string>& all, std::mt19937_64& draw) {
  std::string out = bytes;
  const auto place = [&](std::size_t room) {
    // Headers stand at the beginning: half of the changes are there.
    const std::size_t most = draw() % 2 == 0 ? std::min<std::size_t>(out.size(), 256) : out.size();
    return most > room ? draw() % (most - room) : 0;
  };
  for (std::uint64_t changes = 1 + draw() % 6; changes > 0 && !out.empty(); --changes) {
    switch (draw() % 6) {
      case 0:
        out[place(0)] = static_cast<char>(draw());
        break;
      case 1:
        out[place(0)] ^= static_cast<char>(1 << draw() % 8);
        break;
      case 2: {
        const std::size_t width = std::size_t{1} << draw() % 4;
        const std::uint64_t value = kOdd[draw() % std::size(kOdd)];
        if (out.size() >= width) std::memcpy(out.data() + place(width), &value, width);
        break;
      }
      case 3:
        out.resize(draw() % out.size());
        break;
      case 4: {  // a piece of another
        const std::string& other = all[draw() % all.size()];
        const std::size_t from = draw() % other.size(), length = draw() % 200;
        out.replace(place(0), draw() % 200, other.substr(from, length));
        break;
      }
      default: {
        const std::size_t from = place(0);
        out.insert(place(0), out.substr(from, draw() % 300));
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("files with anything in them are read or refused", "[images][long]") {
  std::vector<std::string> all;
  for (const std::string& name : kFixtures) all.push_back(fixture(name));
  for (const int number : case_numbers(4'000, 1'000'000)) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(number));
    const std::string bytes = mutated(all[number % all.size()], all, draw);
    INFO("case " << number);
    try {
      const Image image = image_of(bytes, "fuzzed");
      for (const ImageModule& module : image.modules) {
        ptx_for(module, kUsualGpu);
        if (module.texts.empty() && module.cubins.empty() && module.intermediate == 0)
          FAIL("a module of nothing");
      }
      for (const std::string& problem : image.problems)
        if (problem.empty() || problem.find('\n') != std::string::npos) FAIL("not one line");
    } catch (const InputError& error) {
      if (std::string(error.what()).find('\n') != std::string::npos) FAIL("not one line");
    }
    // What an image is decides which reader sees it: each sees each.
    std::string why;
    read_cubin(bytes, why);
    forms_in(bytes);
    read_ptx(bytes);
    if (const auto elf = ElfFile::read(bytes, why)) elf->dynamic();
    for (const FatbinContainer& container : containers_in(bytes))
      for (const FatbinEntry& entry : container.entries) static_cast<void>(entry.content());
  }
}

}  // namespace gangway::testing
