// Files that contain kernels: their modules, in each stored version.
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
  std::string text;  // without trailing NULs
  PtxFacts facts;
  std::string options;  // of the compiler that made the program, from the fatbin
  bool debug = false;
  bool relocatable = false;  // to be linked: may refer to names in other objects
};

struct CubinImage {
  Architecture architecture;  // with suffix if a fatbin gives it
  bool relocatable = false;
  std::vector<CubinKernel> kernels;  // including forms
  std::vector<KernelForms> forms;    // described in the cubin (forms_note.hpp)
};

// A module as CUDA loads it: one set of kernels, for several GPUs.
struct ImageModule {
  std::string place;  // within the file: "module 2 (scale.cu)"; in archives preceded by the member
  std::vector<PtxImage> texts;
  std::vector<CubinImage> cubins;
  unsigned intermediate = 0;  // entries of link-time intermediate code
};

struct Image {
  std::string file;
  std::string kind;  // "program", "shared library", "object", "static library", "fatbin", "cubin", "PTX"
  std::vector<ImageModule> modules;   // non-empty ones
  std::vector<std::string> problems;  // unreadable parts, one line each
};

// Reads programs, shared libraries, objects, static libraries, fatbins, cubins and PTX. InputError, with the
// reason, if the file is unreadable or none of these. A file without kernels has no modules.
Image read_image(const std::string& file);
// The same from memory; `file` is used in messages.
Image image_of(std::string_view bytes, const std::string& file);

// Whether it is a program or shared library, which contains its relocatable modules once more, linked.
bool is_linked(const Image& image);

// The PTX that the driver would choose for the GPU: the one with the latest target that it can run. Null if
// there is none.
const PtxImage* ptx_for(const ImageModule& module, Architecture gpu);
// Machine code that the GPU runs instead, and that may be of another text: it is for a later GPU than the
// module's PTX `ptx`, so that the compiler may have seen other code (`__CUDA_ARCH__`). Null if there is none.
const CubinImage* other_code(const ImageModule& module, const PtxImage& ptx, Architecture gpu);

}  // namespace gangway::transform
