// What is read of files that nvcc made: sizes and names by what `ptxas -v` and `cuobjdump -res-usage` say of
// them.
#include <ar.h>
#include <fmt/format.h>

#include "hw/transform/images/archive.hpp"
#include "hw/transform/images/fatbin.hpp"
#include "hw/transform/images/image.hpp"
#include "models/error.hpp"
#include "tests/catch.hpp"
#include "tests/hw/transform/images/fixture_files.hpp"

namespace gangway::testing {
namespace {

using namespace transform;

constexpr const char* kPick = "_Z4pickIiEvPT_i";
constexpr const char* kScale = "_Z5scalePff";

std::string sizes(const CubinImage& cubin) {
  std::string out = cubin.architecture.name();
  for (const CubinKernel& k : cubin.kernels)
    out += fmt::format(" {}:{}:{}:{}", k.name, k.registers, k.shared_bytes, k.local_bytes);
  return out;
}

std::vector<std::string> names(const PtxImage& ptx) {
  std::vector<std::string> out;
  for (const PtxEntry& entry : ptx.facts.entries) out.push_back(entry.name);
  return out;
}

ImageModule only_module(const std::string& name) {
  const Image image = read_image(fixture_path(name));
  CHECK(image.problems.empty());
  REQUIRE(image.modules.size() == 1);
  return image.modules.front();
}

// One member as ar writes it.
std::string member(const std::string& name, const std::string& content) {
  std::string out = fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 644, content.size());
  out += content;
  if (content.size() % 2 != 0) out += '\n';
  return out;
}

}  // namespace

TEST_CASE("every way of compressing gives the same module", "[images]") {
  const std::string expected = fmt::format("sm_90 {}:8:0:160 {}:10:512:0", kPick, kScale);
  const std::string text = only_module("none.fatbin").texts.at(0).text;
  CHECK(text.starts_with("//") == false);
  for (const char* file : {"none.fatbin", "speed.fatbin", "size.fatbin", "program"}) {
    INFO(file);
    const ImageModule module = only_module(file);
    REQUIRE(module.texts.size() == 1);
    CHECK(module.texts[0].text == text);
    CHECK(module.texts[0].facts.version == "9.0");
    CHECK(module.texts[0].facts.target == Architecture{90, 0});
    CHECK_FALSE(module.texts[0].relocatable);
    CHECK(names(module.texts[0]) == std::vector<std::string>{kScale, kPick});
    REQUIRE(module.cubins.size() == 1);
    CHECK(sizes(module.cubins[0]) == expected);
  }
  CHECK(only_module("none.fatbin").texts[0].options.empty());
  CHECK(only_module("size.fatbin").texts[0].options.find("-maxrregcount=40") != std::string::npos);
}

TEST_CASE("a fatbin's entries say how they are packed", "[images]") {
  const auto kinds = [](const char* file) {
    const std::string bytes = fixture(file);
    std::string out;
    for (const FatbinContainer& container : containers_in(bytes))
      for (const FatbinEntry& entry : container.entries)
        out += fmt::format("{}{}{} ", entry.architecture.name(), entry.kind == EntryKind::ptx ? "p" : "c",
                           static_cast<int>(entry.compression));
    return out;
  };
  CHECK(kinds("none.fatbin") == "sm_90c0 sm_90p0 ");
  CHECK(kinds("speed.fatbin") == "sm_90c1 sm_90p1 ");
  CHECK(kinds("size.fatbin") == "sm_90c2 sm_90p2 ");
}

TEST_CASE("cubins of CUDA 12 are laid out otherwise", "[images]") {
  const ImageModule module = only_module("cuda12.cubin");
  REQUIRE(module.cubins.size() == 1);
  CHECK(module.texts.empty());
  CHECK(sizes(module.cubins[0]) == fmt::format("sm_90 {}:8:0:160 {}:10:512:0", kPick, kScale));
}

TEST_CASE("relocatable code, intermediate code and GPUs of a family are told apart", "[images]") {
  const ImageModule piece = only_module("relocatable.fatbin");
  CHECK(piece.texts.at(0).relocatable);
  CHECK(piece.cubins.at(0).relocatable);
  const ImageModule later = only_module("intermediate.fatbin");
  CHECK(later.intermediate == 1);
  CHECK(later.texts.empty());
  const ImageModule accelerated = only_module("accelerated.fatbin");
  CHECK(ptx_for(accelerated, {90, 0})->facts.target.name() == "sm_90a");
  CHECK(ptx_for(accelerated, {100, 0})->facts.target.name() == "sm_90");
  const ImageModule targets = only_module("targets.fatbin");
  REQUIRE(targets.texts.size() == 2);
  CHECK(ptx_for(targets, {75, 0}) == nullptr);
  CHECK(ptx_for(targets, {80, 0})->facts.target == Architecture{80, 0});
  CHECK(ptx_for(targets, {90, 0})->facts.target == Architecture{80, 0});
  CHECK(ptx_for(targets, {103, 0})->facts.target == Architecture{100, 'f'});
  CHECK(ptx_for(targets, {120, 0})->facts.target == Architecture{80, 0});
}

TEST_CASE("machine code for a later GPU than the PTX may be other code", "[images]") {
  const ImageModule mixed = only_module("mixed.fatbin");
  REQUIRE(mixed.texts.size() == 1);
  REQUIRE(mixed.cubins.size() == 1);
  const auto other = [](ImageModule module, Architecture code, Architecture gpu) {
    module.cubins[0].architecture = code;
    return other_code(module, module.texts[0], gpu) != nullptr;
  };
  CHECK(mixed.cubins[0].architecture == Architecture{90, 0});
  CHECK(other_code(mixed, mixed.texts[0], {90, 0}) == &mixed.cubins[0]);
  CHECK(other(mixed, {90, 'a'}, {90, 0}));
  CHECK(other(mixed, {86, 0}, {89, 0}));
  CHECK_FALSE(other(mixed, {90, 0}, {100, 0}));  // which cannot run it
  CHECK_FALSE(other(mixed, {89, 0}, {86, 0}));
  CHECK_FALSE(other(mixed, {80, 0}, {86, 0}));
  const ImageModule usual = only_module("none.fatbin"), accelerated = only_module("accelerated.fatbin");
  CHECK_FALSE(other_code(usual, usual.texts.at(0), {90, 0}));
  CHECK_FALSE(other_code(accelerated, *ptx_for(accelerated, {90, 0}), {90, 0}));
}

TEST_CASE("which GPU runs which PTX", "[images]") {
  CHECK(runs_on({80, 0}, {80, 0}));
  CHECK(runs_on({80, 0}, {121, 0}));
  CHECK_FALSE(runs_on({90, 0}, {89, 0}));
  CHECK(runs_on({90, 'a'}, {90, 0}));
  CHECK_FALSE(runs_on({90, 'a'}, {100, 0}));
  CHECK(runs_on({100, 'f'}, {103, 0}));
  CHECK_FALSE(runs_on({103, 'f'}, {100, 0}));
  CHECK_FALSE(runs_on({100, 'f'}, {120, 0}));
  CHECK(compiled_for({90, 'a'}, {90, 0}).name() == "sm_90a");
  CHECK(compiled_for({80, 0}, {90, 0}).name() == "sm_90");
  CHECK(compiled_for({100, 'f'}, {103, 0}).name() == "sm_103f");
  for (const char* wrong : {"", "sm_", "sm_9", "90b", "sm_90aa", "h100", "sm_-90", "9000"})
    CHECK_FALSE(read_architecture(wrong));
  CHECK(read_architecture("compute_100f") == Architecture{100, 'f'});
}

TEST_CASE("static libraries have the modules of their objects", "[images]") {
  const std::string program = fixture("program"), names = "a_name_longer_than_fits.o/\n";
  std::string archive = ARMAG;
  archive += member("/", "symbols!") + member("//", names) + member("/0", program) +
             member("notes.txt/", "not an object") + member("second.o/", program) +
             member("#1/8", std::string("third.o\0", 8) + program);
  const Image image = image_of(archive, "lib.a");
  CHECK(image.kind == "static library");
  CHECK(image.problems.empty());
  REQUIRE(image.modules.size() == 3);
  CHECK(image.modules[0].place == "a_name_longer_than_fits.o: module 1");
  CHECK(image.modules[1].place == "second.o: module 2");
  CHECK(image.modules[2].place == "third.o: module 3");
  const Image cut = image_of(archive.substr(0, archive.size() - 100), "lib.a");
  CHECK(cut.modules.size() == 2);
  CHECK(cut.problems.size() == 1);
  const Image thin = image_of("!<thin>\n", "lib.a");
  CHECK(thin.problems.at(0).find("thin") != std::string::npos);
}

TEST_CASE("fatbins and PTX that a program has among its constants are found", "[images]") {
  // The name of the section alone is what tells them apart.
  std::string program = fixture("program");
  const std::size_t at = program.find(".nv_fatbin");
  REQUIRE(at != std::string::npos);
  program.replace(at, 10, ".my_kernels", 0, 10);
  CHECK(image_of(program, "program").modules.size() == 1);

  std::string other = fixture("program");
  const std::string text = ".version 7.0\n.target sm_70\n.entry hidden(){ret;}";
  const std::size_t place = other.find("\x50\xed\x55\xba");
  other.replace(place, text.size() + 1, text + '\0');
  const Image image = image_of(other.replace(other.find(".nv_fatbin"), 10, ".rodata_my"), "program");
  REQUIRE(image.modules.size() == 2);
  CHECK(names(image.modules[1].texts.at(0)) == std::vector<std::string>{"hidden"});
}

TEST_CASE("PTX is read with a NUL at its end or without", "[images]") {
  const std::string text = fixture("two_kernels.ptx");
  for (const std::string& end : {std::string(), std::string(1, '\0'), std::string(8, '\0')}) {
    const Image image = image_of(text + end, "two_kernels.ptx");
    CHECK(image.kind == "PTX");
    CHECK(image.modules.at(0).texts.at(0).text == text);
  }
  const auto facts = read_ptx(
      "/* .entry no */ .version 9.0 // .entry no\n.target sm_90a, debug\n"
      ".file 1 \".entry no\"\n.visible .entry yes(\n)\n{ret;}\n.entry also(){ret;}");
  REQUIRE(facts);
  CHECK(facts->target.name() == "sm_90a");
  REQUIRE(facts->entries.size() == 2);
  CHECK((facts->entries[0].name == "yes" && facts->entries[0].line == 4));
  CHECK((facts->entries[1].name == "also" && facts->entries[1].line == 7));
  CHECK_FALSE(read_ptx(".target sm_90"));
  CHECK_FALSE(read_ptx(".version 9.0\n.target texmode_unified"));
}

TEST_CASE("what is no image is refused in a line that says what it is", "[images]") {
  const auto refused = [](const std::string& bytes, const std::string& file) -> std::string {
    try {
      image_of(bytes, file);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refused("", "a").starts_with("a: found an empty file, expected a program, shared library"));
  CHECK(refused("import torch\n", "train.py").find("a Python program") != std::string::npos);
  CHECK(refused("#!/usr/bin/env python3\n", "train").find("a Python program") != std::string::npos);
  CHECK(refused("#!/bin/sh\n", "run").find("a script") != std::string::npos);
  CHECK(refused("__global__ void k();", "k.cu").find("nvcc -ptx") != std::string::npos);
  CHECK(refused("\x7f"
                "ELF",
                "b")
            .find("a truncated ELF file") != std::string::npos);
  CHECK_THROWS_AS(read_image("/nonexistent"), InputError);
  CHECK_THROWS_AS(read_image("/"), InputError);
}

TEST_CASE("a fatbin that is cut off keeps what is whole", "[images]") {
  const std::string whole = fixture("size.fatbin");
  const Image cut = image_of(whole.substr(0, whole.size() - 8), "cut.fatbin");
  REQUIRE(cut.modules.size() == 1);
  CHECK(cut.modules[0].cubins.size() == 1);
  CHECK(cut.modules[0].texts.empty());
  REQUIRE(cut.problems.size() == 1);
  CHECK(cut.problems[0].find("cut off") != std::string::npos);
  // Two containers one behind the other, with padding.
  const Image twice = image_of(whole + std::string(16, '\0') + whole, "twice.fatbin");
  CHECK(twice.modules.size() == 2);
}

}  // namespace gangway::testing
