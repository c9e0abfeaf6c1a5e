// Files that hold kernels: what modules there are, in which forms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/architecture.hpp"
#include "hw/transform/images/cubin.hpp"
#include "hw/transform/images/ptx_text.hpp"
#include "hw/transform/rewrite.hpp"

namespace gangway::transform {

struct PtxImage {
  std::string text;  // without the NULs behind it
  PtxFacts facts;
  std::string options;  // that the program's compiler was called with, as the fatbin has them
  bool debug = false;
  bool relocatable = false;  // a piece of a program that is linked: names in it may be another piece's
};

struct CubinImage {
  Architecture architecture;  // with the suffix, where a fatbin says it
  bool relocatable = false;
  std::vector<CubinKernel> kernels;  // forms included
  std::vector<KernelForms> forms;    // that it carries (forms_note.hpp)
};

// One module, as CUDA loads them: the same kernels, for several GPUs.
struct ImageModule {
  std::string place;  // within the file: "module 2 (scale.cu)"; of an archive with its member before it
  std::vector<PtxImage> texts;
  std::vector<CubinImage> cubins;
  unsigned intermediate = 0;  // entries of code that is compiled when the program is linked
};

struct Image {
  std::string file;
  std::string kind;  // "program", "shared library", "object", "static library", "fatbin", "cubin", "PTX"
  std::vector<ImageModule> modules;   // those with anything in them
  std::vector<std::string> problems;  // what could not be read, each in a line
};

// Programs, shared libraries, objects, static libraries, fatbins, cubins and PTX. InputError where the file
// cannot be read or is none of these, with the reason; a readable one without kernels has no modules.
Image read_image(const std::string& file);
// The same of bytes that stand in memory; `file` is for messages.
Image image_of(std::string_view bytes, const std::string& file);

// Whether it is a program or shared library: its relocatable modules are in it once more, linked.
bool is_linked(const Image& image);

// The PTX that a GPU would be given: that of the latest target which it can run; none: null.
const PtxImage* ptx_for(const ImageModule& module, Architecture gpu);

}  // namespace gangway::transform
