#include "hw/transform/form_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "hw/transform/analysis/calls.hpp"

namespace gangway::transform {
namespace {

// What a kernel reads of its block's index and grid, as registers and as parameters of functions.
constexpr std::string_view kIndices[] = {"ctaid_x", "ctaid_y", "ctaid_z", "nctaid_x", "nctaid_y", "nctaid_z"};

// All of them in one list, each with something in front.
std::string all_indices(std::string_view before) {
  std::string made;
  for (const std::string_view index : kIndices)
    made += fmt::format("{}{}gangway_{}", made.empty() ? "" : ", ", before, index);
  return made;
}

constexpr std::string_view kAddedRegisters =
    "\t.reg .pred %gangway_p0, %gangway_p1, %gangway_p2;\n"
    "\t.reg .b32 %gangway_index, %gangway_slot, %gangway_turn, %gangway_t0, %gangway_t1;\n"
    "\t.reg .b64 %gangway_d0, %gangway_d1;\n";

constexpr std::string_view kHiddenParameters =
    "\t.param .align 8 .u64 gangway_control,\n"
    "\t.param .u32 gangway_grid_x,\n"
    "\t.param .u32 gangway_grid_y,\n"
    "\t.param .u32 gangway_grid_z,\n"
    "\t.param .u32 gangway_first,\n"
    "\t.param .u32 gangway_end,\n"
    "\t.param .u32 gangway_looks,\n"
    "\t.param .align 8 .u64 gangway_host\n";

// What replaces %ctaid, %nctaid and %dynamic_smem_size.
std::string index_registers() { return "\t.reg .b32 " + all_indices("%") + ", %gangway_dynamic;\n"; }

}  // namespace

// What is inserted into, or replaced in, a part of the text.
class TextCopy {
 public:
  TextCopy(const Module& module, Range range) : module_(module), from_(module.tokens[range.first].offset) {
    text_ = module.source(range);
  }

  void insert_before(std::uint32_t token, std::string text) {
    edit(module_.tokens[token].offset, 0, std::move(text));
  }
  void insert_behind(std::uint32_t token, std::string text) {
    edit(module_.tokens[token].end(), 0, std::move(text));
  }
  void replace(Range tokens, std::string text) {
    const std::uint32_t from = module_.tokens[tokens.first].offset;
    edit(from, module_.tokens[tokens.last - 1].end() - from, std::move(text));
  }

  std::string made() {
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
    std::string made;
    std::uint32_t at = 0;
    for (const Edit& one : edits_) {
      made += text_.substr(at, one.offset - at);
      made += one.text;
      at = one.offset + one.length;
    }
    made += text_.substr(at);
    return made;
  }

 private:
  struct Edit {
    std::uint32_t offset, length;
    std::string text;
  };
  void edit(std::uint32_t offset, std::uint32_t length, std::string text) {
    edits_.push_back({offset - from_, length, std::move(text)});
  }

  const Module& module_;
  std::uint32_t from_;
  std::string_view text_;
  std::vector<Edit> edits_;
};

bool FormWriter::gives(std::string_view name) {
  if (name.find("$gangway_") != std::string_view::npos) return true;
  if (name.front() == '%') return name.starts_with("%gangway_");
  static constexpr std::string_view kPrefix = "gangway_";
  if (!name.starts_with(kPrefix)) return false;
  static constexpr std::string_view kOthers[] = {"control", "grid_x", "grid_y", "grid_z", "first",
                                                 "end",     "looks",  "host",   "shared"};
  const std::string_view rest = name.substr(kPrefix.size());
  return rest.starts_with("forms_") ||
         std::find(std::begin(kOthers), std::end(kOthers), rest) != std::end(kOthers) ||
         std::find(std::begin(kIndices), std::end(kIndices), rest) != std::end(kIndices);
}

std::string FormWriter::name(const Function& function) const {
  return std::string(function.name) + "$gangway_" + rule_.name();
}

std::string FormWriter::kernel(const Function& kernel) const {
  TextCopy copy(module_, kernel.tokens);
  copy.replace({kernel.name_token, kernel.name_token + 1}, name(kernel));
  append_parameters(copy, kernel);
  copy.insert_behind(kernel.body,
                     fmt::format("\n{}{}{}{}", kAddedRegisters, index_registers(),
                                 rule_.beginning(shared_base(kernel), facts_.has(kernel, {Trait::copies})),
                                 indices(kernel)));
  if (!rule_.instead_of_leaving().empty()) instead_of_leaving(copy, kernel);
  rewrite_body(copy, kernel);
  return copy.made() + "\n";
}

bool FormWriter::needs_copy(const Function& function) const {
  return facts_.has(function, {Trait::block_index}) ||
         (rule_.shared_bytes() != 0 && facts_.has(function, {Trait::dynamic_size}));
}

std::string FormWriter::function(const Function& function, bool declaration) const {
  TextCopy copy(module_, declaration ? Range{function.tokens.first, function.body} : function.tokens);
  copy.replace({function.name_token, function.name_token + 1}, name(function));
  const std::string handed = all_indices(".param .b32 ");
  if (function.parameters.first == 0)
    copy.insert_behind(function.name_token, " (" + handed + ")");
  else
    copy.insert_before(function.parameters.first, handed + (function.parameters.empty() ? "" : ", "));
  if (declaration) return copy.made() + ";\n";
  std::string beginning = "\n" + index_registers();
  for (const std::string_view index : kIndices)
    beginning += fmt::format("\tld.param.b32 %gangway_{0}, [gangway_{0}];\n", index);
  copy.insert_behind(function.body, beginning + dynamic_size(function));
  rewrite_body(copy, function);
  return copy.made() + "\n";
}

void FormWriter::append_parameters(TextCopy& copy, const Function& kernel) const {
  if (kernel.parameters.first == 0)
    copy.insert_behind(kernel.name_token, fmt::format("(\n{})", kHiddenParameters));
  else
    copy.insert_before(kernel.parameters.last,
                       fmt::format("{}{}", kernel.declared.empty() ? "\n" : ",\n", kHiddenParameters));
}

// All unsized arrays begin where the dynamic shared memory does. One that the kernel uses anyway says where
// that is without asking for another alignment; ours has the least that a word needs.
std::string FormWriter::shared_base(const Function& kernel) const {
  for (const FunctionFacts* const reached : facts_.reached(kernel))
    for (std::uint32_t token = reached->function->body; token < reached->function->tokens.last; ++token)
      for (const ModuleVariable& variable : module_.variables)
        if (variable.space == ".shared" && variable.unsized && module_.tokens[token].is(variable.name))
          return std::string(variable.name);
  return "gangway_shared";
}

std::string FormWriter::dynamic_size(const Function& function) const {
  if (!facts_.has(function, {Trait::dynamic_size}) || rule_.shared_bytes() == 0) return "";
  return fmt::format(
      "\tmov.u32 %gangway_dynamic, %dynamic_smem_size;\n\tsub.u32 %gangway_dynamic, %gangway_dynamic, "
      "{};\n",
      rule_.shared_bytes());
}

// %gangway_index to what the kernel reads as %ctaid and %nctaid. The branch spares grids of one row the
// divisions.
std::string FormWriter::indices(const Function& kernel) const {
  std::string made = dynamic_size(kernel);
  if (!facts_.has(kernel, {Trait::block_index})) return made;
  return made +
         "\tld.param.u32 %gangway_nctaid_x, [gangway_grid_x];\n"
         "\tld.param.u32 %gangway_nctaid_y, [gangway_grid_y];\n"
         "\tld.param.u32 %gangway_nctaid_z, [gangway_grid_z];\n"
         "\tmov.u32 %gangway_ctaid_x, %gangway_index;\n"
         "\tmov.u32 %gangway_ctaid_y, 0;\n"
         "\tmov.u32 %gangway_ctaid_z, 0;\n"
         "\tsetp.lt.u32 %gangway_p1, %gangway_index, %gangway_nctaid_x;\n"
         "\t@%gangway_p1 bra $gangway_indexed;\n"
         "\tdiv.u32 %gangway_t0, %gangway_index, %gangway_nctaid_x;\n"
         "\tmul.lo.u32 %gangway_t1, %gangway_t0, %gangway_nctaid_x;\n"
         "\tsub.u32 %gangway_ctaid_x, %gangway_index, %gangway_t1;\n"
         "\tdiv.u32 %gangway_ctaid_z, %gangway_t0, %gangway_nctaid_y;\n"
         "\tmul.lo.u32 %gangway_t1, %gangway_ctaid_z, %gangway_nctaid_y;\n"
         "\tsub.u32 %gangway_ctaid_y, %gangway_t0, %gangway_t1;\n"
         "$gangway_indexed:\n";
}

void FormWriter::instead_of_leaving(TextCopy& copy, const Function& kernel) const {
  for (const Statement& statement : kernel.statements) {
    if (statement.kind != StatementKind::instruction || !leaves(statement.instruction)) continue;
    const std::uint32_t opcode =
        statement.tokens.first +
        (statement.instruction.guard ? (statement.instruction.guard->negated ? 3 : 2) : 0);
    copy.replace({opcode, statement.tokens.last}, rule_.instead_of_leaving());
  }
  copy.insert_before(kernel.tokens.last - 1, "\t" + rule_.instead_of_leaving() + "\n");
}

void FormWriter::rewrite_body(TextCopy& copy, const Function& function) const {
  for (const Statement& statement : function.statements) {
    if (statement.kind != StatementKind::instruction) continue;
    const Instruction& instruction = statement.instruction;
    for (std::uint32_t token = instruction.tokens.first; token < instruction.tokens.last; ++token)
      replace_index(copy, token);
    if (instruction.name() == "call") hand_on(copy, instruction);
  }
}

void FormWriter::replace_index(TextCopy& copy, std::uint32_t token) const {
  const std::string_view word = module_.tokens[token].text;
  if (word.substr(0, 7) == "%ctaid." || word.substr(0, 8) == "%nctaid.") {
    std::string made = "%gangway_" + std::string(word.substr(1));
    std::replace(made.begin(), made.end(), '.', '_');
    copy.replace({token, token + 1}, made);
  } else if (word == "%dynamic_smem_size" && rule_.shared_bytes() != 0) {
    copy.replace({token, token + 1}, "%gangway_dynamic");
  }
}

// call (result), f, (arguments): what f reads of the block's index becomes arguments in front of its own.
void FormWriter::hand_on(TextCopy& copy, const Instruction& call) const {
  const Function* const function = callee(module_, call);
  if (function == nullptr || !function->defined || !needs_copy(*function)) return;
  const std::string handed = all_indices("%");
  const Range named = *called(module_, call);
  copy.replace(named, name(*function));
  const std::uint32_t behind = named.last;
  if (module_.tokens[behind].is(",") && module_.tokens[behind + 1].is("("))
    copy.insert_behind(behind + 1, handed + (module_.tokens[behind + 2].is(")") ? "" : ", "));
  else
    copy.insert_behind(named.last - 1, ", (" + handed + ")");
}

}  // namespace gangway::transform
