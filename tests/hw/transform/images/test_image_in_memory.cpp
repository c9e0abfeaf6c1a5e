// Sizes of modules in memory, which say themselves how long they are.
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "hw/transform/images/image_in_memory.hpp"
#include "tests/catch.hpp"

namespace gangway::transform {
namespace {

// A page of memory behind which there is none.
class LastPage {
 public:
  LastPage() : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    bytes_ = static_cast<char*>(
        mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(bytes_ + size_, size_);
  }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;
  ~LastPage() { munmap(bytes_, size_); }

  template <typename T>
  void put(std::size_t offset, const T& value) {
    std::memcpy(bytes_ + offset, &value, sizeof value);
  }
  const void* image() const { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  char* bytes_;
};

Elf64_Ehdr header_with(std::uint64_t sections_at, std::uint16_t sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = sections_at;
  header.e_shnum = sections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  return header;
}

TEST_CASE("The size of an ELF image is where its last section or table ends") {
  LastPage page;
  page.put(0, header_with(128, 2));
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = 64;
  section.sh_size = 64;
  page.put(128, section);
  page.put(128 + sizeof section, section);
  CHECK(bytes_of_image(page.image()).size() == 128 + 2 * sizeof section);
  section.sh_size = page.size() - 64;
  page.put(128, section);
  CHECK(bytes_of_image(page.image()).size() == page.size());
}

TEST_CASE("An image that says it is longer than the memory there is none") {
  LastPage page;
  for (const std::uint64_t at :
       {std::uint64_t{page.size()}, std::uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 100}) {
    page.put(0, header_with(at, 2));
    CHECK(bytes_of_image(page.image()).empty());
  }
  page.put(0, header_with(128, 1));
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  for (const std::uint64_t size : {std::uint64_t{page.size()} + 1, UINT64_MAX}) {
    section.sh_size = size;
    page.put(128, section);
    CHECK(bytes_of_image(page.image()).empty());
  }
  page.put(0, std::uint32_t{0xba55ed50});  // a fatbin
  page.put(4, std::uint16_t{1});
  page.put(6, std::uint16_t{16});
  page.put(8, std::uint64_t{page.size()} - 16);
  CHECK(bytes_of_image(page.image()).size() == page.size());
  for (const std::uint64_t size : {std::uint64_t{page.size()} - 15, UINT64_MAX}) {
    page.put(8, size);
    CHECK(bytes_of_image(page.image()).empty());
  }
}

}  // namespace
}  // namespace gangway::transform
