// The driver's functions about modules, as the program calls them: overloads by their types. `real`: the
// driver's.
#pragma once

#include "hw/intercept/forms/forms.hpp"

namespace gangway::intercept {

using Options = CUjit_option;

// Loading
CUresult load(CUresult (*real)(CUmodule*, const void*), CUmodule* module, const void* image);
CUresult load(CUresult (*real)(CUmodule*, const char*), CUmodule* module, const char* file);
CUresult load(CUresult (*real)(CUmodule*, const void*, unsigned, Options*, void**), CUmodule* module,
              const void* image, unsigned count, Options* options, void** values);
CUresult load(CUresult (*real)(CUlibrary*, const void*, Options*, void**, unsigned, CUlibraryOption*, void**,
                               unsigned),
              CUlibrary* library, const void* image, Options* options, void** values, unsigned count,
              CUlibraryOption* library_options, void** library_values, unsigned library_count);
CUresult load(CUresult (*real)(CUlibrary*, const char*, Options*, void**, unsigned, CUlibraryOption*, void**,
                               unsigned),
              CUlibrary* library, const char* file, Options* options, void** values, unsigned count,
              CUlibraryOption* library_options, void** library_values, unsigned library_count);

// Finding kernels, and the module of a library
CUresult find(CUresult (*real)(CUfunction*, CUmodule, const char*), CUfunction* function, CUmodule module,
              const char* name);
CUresult find(CUresult (*real)(CUkernel*, CUlibrary, const char*), CUkernel* kernel, CUlibrary library,
              const char* name);
CUresult find(CUresult (*real)(CUfunction*, CUkernel), CUfunction* function, CUkernel kernel);
CUresult find(CUresult (*real)(CUmodule*, CUlibrary), CUmodule* module, CUlibrary library);

// Counting and listing kernels
CUresult list(CUresult (*real)(unsigned*, CUmodule), unsigned* count, CUmodule module);
CUresult list(CUresult (*real)(unsigned*, CUlibrary), unsigned* count, CUlibrary library);
CUresult list(CUresult (*real)(CUfunction*, unsigned, CUmodule), CUfunction* functions, unsigned count,
              CUmodule module);
CUresult list(CUresult (*real)(CUkernel*, unsigned, CUlibrary), CUkernel* kernels, unsigned count,
              CUlibrary library);

// Linking
CUresult link(CUresult (*real)(unsigned, Options*, void**, CUlinkState*), unsigned count, Options* options,
              void** values, CUlinkState* state);
CUresult link(CUresult (*real)(CUlinkState, CUjitInputType, void*, std::size_t, const char*, unsigned,
                               Options*, void**),
              CUlinkState state, CUjitInputType type, void* data, std::size_t bytes, const char* name,
              unsigned count, Options* options, void** values);
CUresult link(CUresult (*real)(CUlinkState, CUjitInputType, const char*, unsigned, Options*, void**),
              CUlinkState state, CUjitInputType type, const char* file, unsigned count, Options* options,
              void** values);
CUresult link(CUresult (*real)(CUlinkState, void**, std::size_t*), CUlinkState state, void** image,
              std::size_t* bytes);
CUresult link(CUresult (*real)(CUlinkState), CUlinkState state);

// Attributes
CUresult set(CUresult (*real)(CUfunction, CUfunction_attribute, int), CUfunction function,
             CUfunction_attribute attribute, int value);
CUresult set(CUresult (*real)(CUfunction_attribute, int, CUkernel, CUdevice), CUfunction_attribute attribute,
             int value, CUkernel kernel, CUdevice device);
CUresult set(CUresult (*real)(CUfunction, CUfunc_cache), CUfunction function, CUfunc_cache config);
CUresult set(CUresult (*real)(CUkernel, CUfunc_cache, CUdevice), CUkernel kernel, CUfunc_cache config,
             CUdevice device);

}  // namespace gangway::intercept
