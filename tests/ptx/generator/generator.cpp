#include "tests/ptx/generator/generator.hpp"

#include <cstring>

#include "tests/ptx/generator/body.hpp"

namespace gangway::testing::ptx {
namespace {

Extent random_extent(Dice& dice, std::uint32_t most, std::uint32_t axis_most) {
  Extent made;
  made.x = dice.between(1, axis_most);
  const std::uint32_t dimensions = dice.between(1, 3);
  if (dimensions > 1) made.y = dice.between(1, std::min(axis_most, 5u));
  if (dimensions > 2) made.z = dice.between(1, 3);
  while (made.count() > most) {
    if (made.z > 1)
      --made.z;
    else if (made.y > 1)
      --made.y;
    else
      --made.x;
  }
  return made;
}

Extent random_block(Dice& dice) {
  if (dice.one_in(3)) {
    Extent whole;
    whole.x = 32 * dice.between(1, 3);
    return whole;
  }
  return dice.one_in(2) ? random_extent(dice, 96, 40) : random_extent(dice, 20, 12);
}

// Behind the kernel's pointer; their values take part in what it computes.
struct Given {
  std::string declarations, loads;
  std::vector<std::byte> bytes;
};

Given random_parameters(Dice& dice, bool pointer, const std::string& kernel) {
  static constexpr const char* kTypes[] = {"u8", "u16", "u32", "u64"};
  Given made;
  if (pointer) {
    made.declarations =
        fmt::format(".param .u64{} {}_out", dice.one_in(2) ? " .ptr .global .align 8" : "", kernel);
    made.bytes.resize(8);
  }
  const std::uint32_t count = pointer ? dice.roll(5) : 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::string name = fmt::format("{}_param_{}", kernel, k);
    made.declarations += ",\n";
    const bool structure = dice.one_in(4);
    const std::uint32_t type = dice.roll(4), align = structure ? 4u << dice.roll(3) : 1u << type;
    const std::uint32_t size = structure ? 4 * dice.between(1, 7) : 1u << type;
    while (made.bytes.size() % align != 0) made.bytes.push_back(std::byte{0});
    for (std::uint32_t b = 0; b < size; ++b) made.bytes.push_back(static_cast<std::byte>(dice.bits()));
    if (structure) {
      made.declarations += fmt::format(".param .align {} .b8 {}[{}]", align, name, size);
      made.loads +=
          fmt::format("ld.param.u32 %v{}, [{}+{}];\n", 1 + dice.roll(5), name, 4 * dice.roll(size / 4));
    } else {
      made.declarations += fmt::format(".param .{} {}", kTypes[type], name);
      if (type == 3)
        made.loads += fmt::format("ld.param.u64 %acc, [{}];\n", name);
      else
        made.loads += fmt::format("ld.param.{} %v{}, [{}];\n", kTypes[type], 1 + dice.roll(5), name);
    }
  }
  return made;
}

std::string bounds(Dice& dice, const Extent& block, std::map<std::string, int>& constructs) {
  std::string made;
  if (dice.one_in(3)) {
    ++constructs[".maxntid"];
    made += fmt::format("\n.maxntid {}{}", block.count() + dice.roll(20), dice.one_in(2) ? ", 1, 1" : "");
  } else if (dice.one_in(3)) {
    ++constructs[".reqntid"];
    made += fmt::format("\n.reqntid {}, {}, {}", block.x, block.y, block.z);
  }
  if (!made.empty() && dice.one_in(2)) {
    ++constructs[".minnctapersm"];
    made += fmt::format("\n.minnctapersm {}", dice.between(1, 4));
  }
  return made;
}

// .func (.param .align 4 .b8 ret[4]) NAME (.param .b32 x)
std::pair<std::string, Callable> random_function(Dice& dice, const std::string& name,
                                                 const std::vector<Callable>& callable, bool may_exit) {
  Surroundings around;
  around.callable = callable;
  around.asks = !dice.one_in(3);
  around.prefix = name;
  Body body(dice, around);
  body.leaves = may_exit;
  body.text = fmt::format("ld.param.u32 %v0, [{}_x];\nmov.u64 %acc, {};\n", name, dice.roll(1000));
  for (int k = 1; k < 6; ++k)
    body.line("mad.lo.u32 %v{}, %v0, {}, {};", k, 2 * dice.roll(50) + 1, dice.roll(999));
  body.text += "mov.f32 %f1, 0f3F800000;\n";
  if (dice.one_in(3)) body.leave_early();
  if (dice.one_in(4)) {
    body.used("barrier in a function");
    body.text += "bar.sync 0;\n";
  }
  body.statements(static_cast<int>(dice.between(2, 7)), {});
  if (dice.one_in(3) && !body.constructs.contains("barrier in a function")) {
    // Calls itself with a smaller number, a few times.
    ++body.constructs["recursion"];
    body.text += fmt::format(
        "ld.param.u32 %v1, [{1}_x];\nand.b32 %v1, %v1, 3;\nsetp.eq.u32 %p{0}, %v1, 0;\n@%p{0} bra "
        "$L_{1}_deepest;\nsub.u32 %v1, %v1, 1;\n"
        "{{\n.param .b32 given; .param .align 4 .b8 got[4];\nst.param.b32 [given], %v1;\ncall (got), {1}, "
        "(given);\n"
        "ld.param.b32 %v1, [got];\n}}\nadd.u32 %v0, %v0, %v1;\n$L_{1}_deepest:\n",
        body.predicate().substr(2), name);
  }
  const std::string result = body.temporary();
  body.text +=
      fmt::format("cvt.u32.u64 {0}, %acc;\nadd.u32 {0}, {0}, %v{1};\nst.param.b32 [{2}_ret+0], {0};\nret;\n",
                  result, dice.roll(6), name);
  Callable made;
  made.name = name;
  made.constructs = body.constructs;
  const std::string head = fmt::format(".func (.param .align 4 .b8 {0}_ret[4]) {0}(.param .b32 {0}_x)", name);
  made.prototype = head + ";\n";
  return {fmt::format("{}\n{{\n{}{}}}\n\n", head, body.declarations(), body.text), made};
}

class Kernel {
 public:
  Kernel(Dice& dice, std::string name, const std::vector<Callable>& callable)
      : dice_(dice), callable_(callable) {
    made.name = std::move(name);
  }

  // The text; `made` says how it is launched.
  std::string write() {
    made.grid = random_extent(dice_, 16, 12);
    made.block = random_block(dice_);
    const auto threads = static_cast<std::uint32_t>(made.block.count());
    around_.entry = true;
    around_.threads = threads;
    around_.static_shared = !dice_.one_in(3);
    around_.dynamic_shared = dice_.one_in(2);
    around_.callable = callable_;
    around_.prefix = made.name;
    made.region_bytes = 64 + 16 * std::uint64_t{threads};
    if (around_.dynamic_shared) made.dynamic_shared_bytes = 4 * threads + dice_.roll(40);
    if (!around_.dynamic_shared && dice_.one_in(3)) made.dynamic_shared_bytes = dice_.roll(100);
    const bool pointer = !dice_.one_in(5);
    Given given = random_parameters(dice_, pointer, made.name);
    Body body(dice_, around_);
    body.leaves = !dice_.one_in(3);
    if (!pointer) body.used("no parameters");
    first(body, pointer, given.loads);
    if (dice_.one_in(3)) {  // threads may leave before any barrier
      body.statements(static_cast<int>(dice_.between(1, 4)), {});
      if (dice_.one_in(2)) body.leave_early();
      if (!body.left) body.initialise_shared();
    } else {
      body.initialise_shared();
    }
    body.statements(static_cast<int>(dice_.between(4, 16)), {});
    last(body);
    made.parameters = given.bytes;
    made.output_parameter = pointer ? 0 : -1;
    const std::string directives = bounds(dice_, made.block, body.constructs);
    dimensions(body);
    made.constructs = body.constructs;
    std::string text;
    if (!pointer) {
      made.output_variable = made.name + "_output";
      text += fmt::format(".{}global .align 16 .b8 {}[{}];\n", "", made.output_variable, made.output_bytes());
    }
    text += fmt::format("{}.entry {}({}){}\n{{\n", dice_.one_in(5) ? "" : ".visible ", made.name,
                        pointer ? "\n" + given.declarations + "\n" : "", directives);
    text += ".reg .b32 %linear, %slot, %grid;\n.reg .b64 %region, %mine, %total, %out;\n";
    if (around_.static_shared)
      text += fmt::format(".shared .align {} .b8 own[{}];\n.shared .align 4 .u32 cell;\n",
                          4u << dice_.roll(3), 4 * threads + dice_.roll(4));
    return text + body.declarations() + body.text + "}\n\n";
  }

  RandomKernel made;

 private:
  void dimensions(Body& body) const {
    const auto of = [](const Extent& e) { return e.z > 1 ? 3 : e.y > 1 ? 2 : 1; };
    body.used(fmt::format("grid of {} dimensions", of(made.grid)));
    body.used(fmt::format("block of {} dimensions", of(made.block)));
  }

  void first(Body& body, bool pointer, const std::string& loads) {
    body.text += fmt::format(
        "mov.u32 %v0, %tid.z;\nmov.u32 %v1, %ntid.y;\nmov.u32 %v2, %tid.y;\nmad.lo.u32 %v0, %v0, %v1, %v2;\n"
        "mov.u32 %v1, %ntid.x;\nmov.u32 %v2, %tid.x;\nmad.lo.u32 %linear, %v0, %v1, %v2;\n"
        "shl.b32 %slot, %linear, 2;\n"
        "mov.u32 %v0, %ctaid.z;\nmov.u32 %v1, %nctaid.y;\nmov.u32 %v2, %ctaid.y;\nmad.lo.u32 %v0, %v0, %v1, "
        "%v2;\n"
        "mov.u32 %v1, %nctaid.x;\nmov.u32 %v2, %ctaid.x;\nmad.lo.u32 %grid, %v0, %v1, %v2;\n");
    if (pointer)
      body.text += fmt::format("ld.param.u64 %out, [{}_out];\ncvta.to.global.u64 %out, %out;\n", made.name);
    else
      body.text += fmt::format("mov.u64 %out, {}_output;\n", made.name);
    body.text += fmt::format(
        "mad.wide.u32 %region, %grid, {}, %out;\nmad.wide.u32 %mine, %linear, 16, %region;\nadd.s64 %mine, "
        "%mine, 64;\n"
        "mov.u32 %v3, %nctaid.x;\nmov.u32 %v4, %nctaid.y;\nmul.lo.u32 %v3, %v3, %v4;\nmov.u32 %v4, "
        "%nctaid.z;\n"
        "mul.lo.u32 %v3, %v3, %v4;\nmad.wide.u32 %total, %v3, {}, %out;\n",
        made.region_bytes, made.region_bytes);
    body.text += fmt::format("mov.u64 %acc, {};\nmov.f32 %f1, 0f3F800000;\n", dice_.roll(100000));
    for (int k = 0; k < 6; ++k)
      body.line("mad.lo.u32 %v{}, %linear, {}, {};", k, 2 * dice_.roll(5000) + 1, dice_.roll(100000));
    body.line("mad.lo.u32 %v{}, %grid, {}, %v{};", dice_.roll(6), 2 * dice_.roll(5000) + 1, dice_.roll(6));
    body.text += loads;
    // The first thread counts the block, and notes where its shared memory is and how much there is of it.
    const std::string p = body.predicate(), t = body.temporary(), skip = body.label();
    body.line("setp.ne.u32 {}, %linear, 0;", p);
    body.line("@{} bra {};", p, skip);
    body.line("red.global.add.u64 [%region], 1;");
    for (const char* const array : {"own", "dyn"}) {
      if (!(array[0] == 'o' ? around_.static_shared : around_.dynamic_shared)) continue;
      body.line("mov.u32 {}, {};", t, array);
      body.line("st.global.u32 [%region+{}], {};", array[0] == 'o' ? 16 : 20, t);
    }
    if (around_.dynamic_shared || dice_.one_in(2)) {
      body.used("%dynamic_smem_size");
      body.line("mov.u32 {}, %dynamic_smem_size;", t);
      body.line("st.global.u32 [%region+24], {};", t);
    }
    body.text += skip + ":\n";
  }

  void last(Body& body) {
    for (int k = 0; k < 6; ++k) body.mix(fmt::format("%v{}", k));
    if (dice_.one_in(3)) {
      body.used("vector store");
      const std::string w = body.wide();
      body.line("not.b64 {}, %acc;", w);
      body.line("st.global.v2.u64 [%mine], {{%acc, {}}};", w);
    } else {
      body.line("st.global.u64 [%mine], %acc;");
    }
    body.text += dice_.one_in(4) ? "exit;\n" : "ret;\n";
  }

  Dice& dice_;
  std::vector<Callable> callable_;
  Surroundings around_;
};

}  // namespace

RandomModule random_module(std::uint64_t seed) {
  Dice dice(seed);
  RandomModule made;
  made.text = "//\n// A random module\n//\n.version 8.0\n.target sm_80\n.address_size 64\n\n";
  made.text += fmt::format(".extern .shared .align {} .b8 dyn[];\n", 4u << dice.roll(3));
  made.text += ".shared .align 8 .b8 of_module[24];\n";
  for (const char* const table : {".global .align 16 .b32 table", ".const .align 16 .b32 constants"}) {
    made.text += fmt::format("{}[64] = {{", table);
    for (int k = 0; k < 64; ++k)
      made.text += fmt::format("{}{}", k > 0 ? ", " : "", dice.bits() & 0xFFFFFFFF);
    made.text += "};\n";
  }
  made.text += "\n";
  std::vector<Callable> callable;
  const std::uint32_t functions = dice.one_in(5) ? 0 : dice.between(1, 3);
  const bool declared_first = dice.one_in(2);
  std::string texts;
  for (std::uint32_t f = 0; f < functions; ++f) {
    auto [text, function] = random_function(dice, fmt::format("function_{}", f), callable, dice.one_in(4));
    if (declared_first) made.text += function.prototype;
    if (f > 0 && function.constructs.contains("call")) ++function.constructs["call within a call"];
    texts += text;
    callable.push_back(std::move(function));
  }
  made.text += texts;
  const std::uint32_t entries = dice.one_in(4) ? 2 : 1;
  for (std::uint32_t k = 0; k < entries; ++k) {
    Kernel kernel(dice, fmt::format("kernel_{}", k), callable);
    made.text += kernel.write();
    if (entries > 1) ++kernel.made.constructs["several entries"];
    made.kernels.push_back(std::move(kernel.made));
  }
  return made;
}

}  // namespace gangway::testing::ptx
