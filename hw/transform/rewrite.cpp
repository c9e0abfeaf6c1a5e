#include "hw/transform/rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hw/transform/analysis/calls.hpp"
#include "hw/transform/analysis/facts.hpp"
#include "hw/transform/forms/form.hpp"

namespace gangway::transform {
namespace {

constexpr std::string_view kIndices[] = {"ctaid_x", "ctaid_y", "ctaid_z", "nctaid_x", "nctaid_y", "nctaid_z"};
constexpr std::uint32_t kMostParameterBytes = 4096;          // of a kernel, until PTX 8.1
constexpr std::uint32_t kMostParameterBytesOfLater = 32764;  // from sm_70 on

// What is inserted into, or replaced in, a part of the text.
class Copy {
 public:
  Copy(const Module& module, Range range) : module_(module), from_(module.tokens[range.first].offset) {
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

std::string suffix(const FormRule& rule) { return "$gangway_" + rule.name(); }

// One kernel in one form, with copies of the functions to which it has to hand on the block's index.
class Writer {
 public:
  Writer(const Module& module, const Facts& facts, const FormRule& rule)
      : module_(module), facts_(facts), rule_(rule) {}

  std::string entry(const Function& kernel) const {
    Copy copy(module_, kernel.tokens);
    rename(copy, kernel);
    append_parameters(copy, kernel);
    copy.insert_behind(kernel.body, "\n" + registers() + beginning(kernel) + indices(kernel));
    if (!rule_.instead_of_leaving().empty()) instead_of_leaving(copy, kernel);
    rewrite_body(copy, kernel);
    return copy.made() + "\n";
  }

  bool needs_copy(const Function& function) const {
    return facts_.has(function, {Trait::block_index}) ||
           (rule_.shared_bytes() != 0 && facts_.has(function, {Trait::dynamic_size}));
  }

  // The head alone where `declaration`.
  std::string function(const Function& function, bool declaration) const {
    Copy copy(module_, declaration ? Range{function.tokens.first, function.body} : function.tokens);
    rename(copy, function);
    prepend_parameters(copy, function);
    if (!declaration) {
      std::string beginning = "\n\t.reg .b32 %gangway_t0;\n\t.reg .b32 ";
      for (const std::string_view index : kIndices)
        beginning += fmt::format("{}%gangway_{}", index == kIndices[0] ? "" : ", ", index);
      beginning += ", %gangway_dynamic;\n";
      for (const std::string_view index : kIndices)
        beginning += fmt::format("\tld.param.b32 %gangway_{0}, [gangway_{0}];\n", index);
      copy.insert_behind(function.body, beginning + dynamic_size(function));
      rewrite_body(copy, function);
    }
    return copy.made() + (declaration ? ";\n" : "\n");
  }

 private:
  void rename(Copy& copy, const Function& function) const {
    copy.insert_behind(function.name_token, suffix(rule_));
  }

  void append_parameters(Copy& copy, const Function& kernel) const {
    const std::string made =
        "\t.param .align 8 .u64 gangway_control,\n\t.param .u32 gangway_grid_x,\n\t.param .u32 "
        "gangway_grid_y,\n"
        "\t.param .u32 gangway_grid_z,\n\t.param .u32 gangway_first,\n\t.param .u32 gangway_end\n";
    if (kernel.parameters.first == 0)
      copy.insert_behind(kernel.name_token, "(\n" + made + ")");
    else
      copy.insert_before(kernel.parameters.last, (kernel.declared.empty() ? "\n" : ",\n") + made);
  }

  static void prepend_parameters(Copy& copy, const Function& function) {
    std::string made;
    for (const std::string_view index : kIndices)
      made += fmt::format("{}.param .b32 gangway_{}", made.empty() ? "" : ", ", index);
    if (function.parameters.first == 0)
      copy.insert_behind(function.name_token, " (" + made + ")");
    else
      copy.insert_before(function.parameters.first, made + (function.parameters.empty() ? "" : ", "));
  }

  static std::string registers() {
    return "\t.reg .pred %gangway_p0, %gangway_p1;\n"
           "\t.reg .b32 %gangway_index, %gangway_slot, %gangway_turn, %gangway_t0, %gangway_t1, "
           "%gangway_dynamic;\n"
           "\t.reg .b32 %gangway_ctaid_x, %gangway_ctaid_y, %gangway_ctaid_z;\n"
           "\t.reg .b32 %gangway_nctaid_x, %gangway_nctaid_y, %gangway_nctaid_z;\n"
           "\t.reg .b64 %gangway_d0, %gangway_d1;\n";
  }

  std::string beginning(const Function& kernel) const {
    return rule_.beginning(shared_base(kernel), facts_.has(kernel, {Trait::copies}));
  }

  // All unsized arrays begin where the dynamic shared memory does. One that the kernel uses anyway says where
  // that is without asking for another alignment; ours has the least that a word needs.
  std::string shared_base(const Function& kernel) const {
    for (const FunctionFacts* const reached : facts_.reached(kernel))
      for (std::uint32_t token = reached->function->body; token < reached->function->tokens.last; ++token)
        for (const ModuleVariable& variable : module_.variables)
          if (variable.space == ".shared" && variable.unsized && module_.tokens[token].is(variable.name))
            return std::string(variable.name);
    return "gangway_shared";
  }

  std::string dynamic_size(const Function& function) const {
    if (!facts_.has(function, {Trait::dynamic_size}) || rule_.shared_bytes() == 0) return "";
    return fmt::format(
        "\tmov.u32 %gangway_dynamic, %dynamic_smem_size;\n\tsub.u32 %gangway_dynamic, %gangway_dynamic, "
        "{};\n",
        rule_.shared_bytes());
  }

  // %gangway_index to what the kernel reads as %ctaid and %nctaid. The branch spares grids of one row the
  // divisions.
  std::string indices(const Function& kernel) const {
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

  void instead_of_leaving(Copy& copy, const Function& kernel) const {
    for (const Statement& statement : kernel.statements) {
      if (statement.kind != StatementKind::instruction || !leaves(statement.instruction)) continue;
      const std::uint32_t opcode =
          statement.tokens.first +
          (statement.instruction.guard ? (statement.instruction.guard->negated ? 3 : 2) : 0);
      copy.replace({opcode, statement.tokens.last}, rule_.instead_of_leaving());
    }
    copy.insert_before(kernel.tokens.last - 1, "\t" + rule_.instead_of_leaving() + "\n");
  }

  void rewrite_body(Copy& copy, const Function& function) const {
    for (const Statement& statement : function.statements) {
      if (statement.kind != StatementKind::instruction) continue;
      const Instruction& instruction = statement.instruction;
      for (std::uint32_t token = instruction.tokens.first; token < instruction.tokens.last; ++token)
        replace_index(copy, token);
      if (instruction.name() == "call") hand_on(copy, instruction);
    }
  }

  void replace_index(Copy& copy, std::uint32_t token) const {
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
  void hand_on(Copy& copy, const Instruction& call) const {
    const Function* const function = callee(module_, call);
    if (function == nullptr || !function->defined || !needs_copy(*function)) return;
    std::string handed;
    for (const std::string_view index : kIndices)
      handed += fmt::format("{}%gangway_{}", handed.empty() ? "" : ", ", index);
    const Range name = *called(module_, call);
    copy.replace(name, std::string(function->name) + suffix(rule_));
    const std::uint32_t behind = name.last;
    if (module_.tokens[behind].is(",") && module_.tokens[behind + 1].is("("))
      copy.insert_behind(behind + 1, handed + (module_.tokens[behind + 2].is(")") ? "" : ", "));
    else
      copy.insert_behind(name.last - 1, ", (" + handed + ")");
  }

  const Module& module_;
  const Facts& facts_;
  const FormRule& rule_;
};

bool clustered(const Function& kernel, const HeadDirective*& which) {
  for (const HeadDirective& directive : kernel.directives)
    if (directive.name == ".reqnctapercluster" || directive.name == ".explicitcluster" ||
        directive.name == ".maxclusterrank" || directive.name == ".blocksareclusters") {
      which = &directive;
      return true;
    }
  return false;
}

class Rewriting {
 public:
  explicit Rewriting(const Module& module) : module_(module), facts_(module) {}

  Rewritten made() {
    Rewritten made{std::string(module_.text.substr(0, module_.text.find('\0'))), {}, {}};
    for (const Function& function : module_.functions)
      if (function.entry) made.kernels.push_back(decide(function));
    std::string behind;
    for (const FormRule* const rule : forms()) behind += write(*rule);
    if (behind.empty()) return {std::string(module_.text), std::move(made.kernels), {}};
    made.text += "\n" + behind;
    return made;
  }

 private:
  KernelForms decide(const Function& kernel) {
    KernelForms found;
    found.kernel = kernel.name;
    found.line = kernel.line(module_.tokens);
    for (const ParameterDeclaration& parameter : kernel.declared)
      found.parameters.push_back({parameter.offset, parameter.bytes, parameter.alignment});
    for (const FormRule* const rule : forms()) {
      std::optional<Refusal> refusal = of_module(kernel);
      if (!refusal) refusal = objection(kernel, *rule);
      if (refusal) {
        refusal->form = rule->name();
        found.refused.push_back(std::move(*refusal));
      } else {
        found.forms.push_back({rule->name(),
                               found.kernel + suffix(*rule),
                               {hidden_offset(kernel)},
                               rule->shared_bytes(),
                               facts_.has(kernel, {Trait::waits_for_lower})});
        chosen_[rule].push_back(&kernel);
      }
    }
    return found;
  }

  static std::uint32_t hidden_offset(const Function& kernel) {
    if (kernel.declared.empty()) return 0;
    const std::uint32_t end = kernel.declared.back().offset + kernel.declared.back().bytes;
    return (end + HiddenParameters::kAlignment - 1) / HiddenParameters::kAlignment *
           HiddenParameters::kAlignment;
  }

  // What keeps a kernel from all forms, whatever it does.
  std::optional<Refusal> of_module(const Function& kernel) const {
    const HeadDirective* directive = nullptr;
    if (!kernel.defined) return Refusal{"", "it is only declared here", "", kernel.line(module_.tokens)};
    if (module_.address_size != 64) return Refusal{"", "the module has addresses of 32 bits", "", 0};
    if (module_.debug) return Refusal{"", "the module was compiled for a debugger", "", 0};
    if (clustered(kernel, directive))
      return Refusal{"", "its blocks form clusters", std::string(module_.source(directive->tokens)),
                     module_.tokens[directive->tokens.first].line};
    const bool later = std::pair(module_.version_major, module_.version_minor) >= std::pair(8u, 1u);
    if (hidden_offset(kernel) + HiddenParameters::kBytes >
        (later ? kMostParameterBytesOfLater : kMostParameterBytes))
      return Refusal{"", "it has no room for further parameters", "", kernel.line(module_.tokens)};
    return std::nullopt;
  }

  std::optional<Refusal> objection(const Function& kernel, const FormRule& rule) const {
    std::vector<Objection> objections = objections_of_all();
    for (const Objection& own : rule.objections()) objections.push_back(own);
    for (const Objection& one : objections)
      if (const auto place = facts_.place(kernel, one.trait)) return refusal(one.reason, *place);
    // What is called by address gets no arguments more.
    for (const FunctionFacts* const facts : facts_.reached(kernel)) {
      const auto indirect = facts->traits.find(Trait::indirect_call);
      if (indirect == facts->traits.end()) continue;
      for (const Function& function : module_.functions)
        if (function.defined && !function.entry && Writer(module_, facts_, rule).needs_copy(function))
          return refusal("it calls by address what may read the index of the block", indirect->second);
    }
    return std::nullopt;
  }

  Refusal refusal(std::string reason, const Place& place) const {
    const Statement& statement = place.function->statements[place.statement];
    std::string text(module_.source(statement.tokens));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
    return {"", std::move(reason), std::move(text), module_.tokens[statement.tokens.first].line};
  }

  std::string write(const FormRule& rule) {
    const auto kernels = chosen_.find(&rule);
    if (kernels == chosen_.end()) return {};
    const Writer writer(module_, facts_, rule);
    std::vector<const Function*> functions;
    for (const Function* const kernel : kernels->second)
      for (const FunctionFacts* const reached : facts_.reached(*kernel))
        if (!reached->function->entry && writer.needs_copy(*reached->function) &&
            std::find(functions.begin(), functions.end(), reached->function) == functions.end())
          functions.push_back(reached->function);
    std::string made;
    if (rule.shared_bytes() != 0 && !declared_shared_) {
      made += ".extern .shared .align 4 .b8 gangway_shared[];\n";
      declared_shared_ = true;
    }
    for (const Function* const function : functions) made += writer.function(*function, true);
    for (const Function* const function : functions) made += writer.function(*function, false);
    for (const Function* const kernel : kernels->second) made += writer.entry(*kernel);
    return made;
  }

  const Module& module_;
  Facts facts_;
  std::map<const FormRule*, std::vector<const Function*>> chosen_;
  bool declared_shared_ = false;
};

}  // namespace

Rewritten rewrite(std::string_view ptx) {
  try {
    const Module module = parse(ptx);
    for (const Token& token : module.tokens)
      if (token.kind == TokenKind::word && token.text.find("gangway_") != std::string_view::npos)
        throw PtxError(token.line, token.text, "a module that was not rewritten before");
    return Rewriting(module).made();
  } catch (const PtxError& error) {
    return {std::string(ptx), {}, error.what()};
  }
}

}  // namespace gangway::transform
