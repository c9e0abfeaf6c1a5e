#include "hw/transform/rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hw/transform/analysis/calls.hpp"
#include "hw/transform/analysis/facts.hpp"
#include "hw/transform/form_writer.hpp"
#include "hw/transform/ptx/isa.hpp"

namespace gangway::transform {
namespace {

constexpr std::uint32_t kMostParameterBytes = 4096;          // of a kernel, until PTX 8.1
constexpr std::uint32_t kMostParameterBytesOfLater = 32764;  // from sm_70 on

// nvlink drops the entries that no program launches, unless their names begin with that of one that is
// launched: so of relocatable modules each kernel has a report of its own. Of a template, other modules have
// it, too.
constexpr const char* kReport = R"(
{1} .entry {0}(.param .u64 {0}_word, .param .u64 {0}_to)
{{
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [{0}_word];
	ld.param.u64 %rd2, [{0}_to];
	ld.volatile.global.u64 %rd3, [%rd1];
	st.volatile.global.u64 [%rd2], %rd3;
	ret;
}}
)";

// What makes clusters of a kernel's blocks; null: nothing does.
const HeadDirective* clusters(const Function& kernel) {
  static constexpr std::string_view kNames[] = {".reqnctapercluster", ".explicitcluster", ".maxclusterrank",
                                                ".blocksareclusters"};
  for (const HeadDirective& directive : kernel.directives)
    if (std::find(std::begin(kNames), std::end(kNames), directive.name) != std::end(kNames))
      return &directive;
  return nullptr;
}

class Rewriting {
 public:
  Rewriting(const Module& module, const std::vector<ExcludedForm>& without)
      : module_(module), without_(without), facts_(module) {}

  Rewritten made() {
    Rewritten made{std::string(module_.text.substr(0, module_.text.find('\0'))), {}, {}};
    for (const Function& function : module_.functions)
      if (function.entry) made.kernels.push_back(decide(function));
    std::string behind;
    for (const FormRule* const rule : forms()) behind += write(*rule);
    if (behind.empty()) return {std::string(module_.text), std::move(made.kernels), {}};
    made.text += "\n" + behind;
    std::string report;
    for (KernelForms& kernel : made.kernels) {
      if (kernel.forms.empty()) continue;
      if (report.empty() || module_.relocatable) {
        report = kernel.kernel + "$gangway_report";
        made.text += fmt::format(kReport, report, module_.relocatable ? ".weak" : ".visible");
      }
      kernel.report = report;
    }
    return made;
  }

 private:
  KernelForms decide(const Function& kernel) {
    KernelForms found;
    found.kernel = kernel.name;
    found.line = kernel.line(module_.tokens);
    for (const ParameterDeclaration& parameter : kernel.declared)
      found.parameters.push_back({parameter.offset, parameter.bytes, parameter.alignment});
    const std::optional<Refusal> whatever = of_module(kernel);
    for (const FormRule* const rule : forms()) {
      std::optional<Refusal> refusal = whatever ? whatever : objection(kernel, *rule);
      if (refusal) {
        refusal->form = rule->name();
        found.refused.push_back(std::move(*refusal));
      } else {
        found.forms.push_back({rule->name(),
                               FormWriter(module_, facts_, *rule).name(kernel),
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
    if (!kernel.defined) return Refusal{"", "it is only declared here", "", kernel.line(module_.tokens)};
    const std::pair version(module_.version_major, module_.version_minor);
    if (version > kLatestVersion)
      return Refusal{"", "the module is of a later version than PTX 9.0", std::string(module_.source({0, 2})),
                     module_.tokens[0].line};
    if (module_.address_size != 64) return Refusal{"", "the module uses 32-bit addresses", "", 0};
    if (module_.debug) return Refusal{"", "the module was compiled for debugging", "", 0};
    if (const HeadDirective* const directive = clusters(kernel))
      return Refusal{"", "its blocks form clusters", std::string(module_.source(directive->tokens)),
                     module_.tokens[directive->tokens.first].line};
    const bool later = version >= std::pair(8u, 1u);
    if (hidden_offset(kernel) + HiddenParameters::kBytes >
        (later ? kMostParameterBytesOfLater : kMostParameterBytes))
      return Refusal{"", "it has no room for further parameters", "", kernel.line(module_.tokens)};
    return std::nullopt;
  }

  std::optional<Refusal> objection(const Function& kernel, const FormRule& rule) const {
    for (const ExcludedForm& each : without_)
      if (each.form == rule.name() && (each.kernel.empty() || each.kernel == kernel.name))
        return Refusal{"", each.reason, "", 0};
    // A later version would change what the text's own instructions mean.
    const auto [major, minor] = rule.least_version();
    if (std::pair(module_.version_major, module_.version_minor) < std::pair(major, minor))
      return Refusal{"",
                     fmt::format("the module's PTX is of version {}.{}, and this form needs {}.{}",
                                 module_.version_major, module_.version_minor, major, minor),
                     "", 0};
    std::vector<Objection> objections = objections_of_all();
    for (const Objection& own : rule.objections()) objections.push_back(own);
    for (const Objection& one : objections)
      if (const auto place = facts_.place(kernel, one.trait)) return refusal(one.reason, *place);
    // What is called by address gets no arguments more.
    for (const FunctionFacts* const facts : facts_.reached(kernel)) {
      const auto indirect = facts->traits.find(Trait::indirect_call);
      if (indirect == facts->traits.end()) continue;
      for (const Function* const function : called_by_address(module_))
        if (FormWriter(module_, facts_, rule).needs_copy(*function))
          return refusal("it calls through an address a function that may read the block index",
                         indirect->second);
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
    const FormWriter writer(module_, facts_, rule);
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
    for (const Function* const kernel : kernels->second) made += writer.kernel(*kernel);
    return made;
  }

  const Module& module_;
  const std::vector<ExcludedForm>& without_;
  Facts facts_;
  std::map<const FormRule*, std::vector<const Function*>> chosen_;
  bool declared_shared_ = false;
};

}  // namespace

Rewritten rewrite(std::string_view ptx, Compilation compilation, const std::vector<ExcludedForm>& without) {
  try {
    Module module = parse(ptx);
    module.relocatable = compilation == Compilation::relocatable;
    for (const Token& token : module.tokens)
      if (token.kind == TokenKind::word && FormWriter::gives(token.text))
        throw PtxError(token.line, token.text, "a module that was not rewritten before");
    return Rewriting(module, without).made();
  } catch (const PtxError& error) {
    return {std::string(ptx), {}, error.what()};
  }
}

}  // namespace gangway::transform
