#include "hw/transform/images/image_set.hpp"

#include <filesystem>
#include <set>

#include "hw/program.hpp"
#include "hw/transform/images/linked_libraries.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

std::string file_of(const std::string& name) {
  if (name.find('/') != std::string::npos || std::filesystem::exists(name)) return name;
  const std::string found = path_of_program(name);
  return found.empty() ? name : found;
}

void note_problems(const Image& image, ImageSet& out) {
  for (const std::string& problem : image.problems) out.notes.push_back(image.file + ": " + problem);
}

}  // namespace

ImageSet read_images(const std::vector<std::string>& files, bool libraries) {
  ImageSet out;
  std::set<std::string> known;
  std::vector<std::string> linked;
  for (const std::string& name : files) {
    const std::string file = file_of(name);
    if (!known.insert(std::filesystem::weakly_canonical(file).string()).second) continue;
    out.images.push_back(read_image(file));
    note_problems(out.images.back(), out);
    if (!libraries) continue;
    const LinkedLibraries found = linked_libraries(file);
    linked.insert(linked.end(), found.files.begin(), found.files.end());
    for (const std::string& each : found.missing)
      out.notes.push_back(file + ": " + each + ", with which it is linked, was not found");
  }
  for (const std::string& file : linked) {
    if (!known.insert(std::filesystem::weakly_canonical(file).string()).second) continue;
    try {
      Image image = read_image(file);
      note_problems(image, out);
      if (!image.modules.empty()) out.images.push_back(std::move(image));
    } catch (const InputError& error) {  // a linker's script, say
      out.notes.emplace_back(error.what());
    }
  }
  return out;
}

}  // namespace gangway::transform
