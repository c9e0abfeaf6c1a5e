// A description of a module's forms, stored in the module as a device constant that no code reads. It travels
// with the code through nvlink, fatbinary and compression, and to other machines, which lack this machine's
// cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/rewrite.hpp"

namespace gangway::transform {

// Lines to append to a rewritten PTX text. Their name is unique to the set of kernels.
std::string forms_note(const std::vector<KernelForms>& kernels, Compilation compilation);

// All descriptions in a cubin, in symbol order. None if there are none, or it is no cubin.
std::vector<KernelForms> forms_in(std::string_view cubin);

}  // namespace gangway::transform
