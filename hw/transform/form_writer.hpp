// Writes one kernel in one form as PTX text.
#pragma once

#include <string>
#include <string_view>

#include "hw/transform/analysis/facts.hpp"
#include "hw/transform/forms/form.hpp"

namespace gangway::transform {

class TextCopy;

// The output is appended to the module's own text. The constructor's arguments must outlive this object.
class FormWriter {
 public:
  FormWriter(const Module& module, const Facts& facts, const FormRule& rule)
      : module_(module), facts_(facts), rule_(rule) {}

  // Whether rewritten text, or what describes it, has this name.
  static bool gives(std::string_view name);
  // The name of a kernel or function in this form.
  std::string name(const Function& function) const;
  std::string kernel(const Function& kernel) const;
  // Whether a function needs a copy that takes the block index as an argument.
  bool needs_copy(const Function& function) const;
  // That copy; only its head if `declaration`.
  std::string function(const Function& function, bool declaration) const;

 private:
  void append_parameters(TextCopy& copy, const Function& kernel) const;
  std::string shared_base(const Function& kernel) const;
  std::string dynamic_size(const Function& function) const;
  std::string indices(const Function& kernel) const;
  void instead_of_leaving(TextCopy& copy, const Function& kernel) const;
  void rewrite_body(TextCopy& copy, const Function& function) const;
  void replace_index(TextCopy& copy, std::uint32_t token) const;
  void hand_on(TextCopy& copy, const Instruction& call) const;

  const Module& module_;
  const Facts& facts_;
  const FormRule& rule_;
};

}  // namespace gangway::transform
