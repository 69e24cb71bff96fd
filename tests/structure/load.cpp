// usage: load <shared library> ...
// Opens the libraries in this order, all symbols global (the unfriendliest way), then runs heddle_plugin_run
// of each that has it, twice. Exits 77 if a library that is not ours is not installed.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

int main(int count, char** names) {
  int ran = 0;
  for (int round = 0; round < 2; ++round)
    for (int i = 1; i < count; ++i) {
      void* library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
      if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        return std::strchr(names[i], '/') ? 1 : 77;
      }
      if (auto run = reinterpret_cast<int (*)()>(dlsym(library, "heddle_plugin_run"));
          run && std::strchr(names[i], '/')) {
        if (const int status = run(); status != 0) {
          std::fprintf(stderr, "%s: run returned %d\n", names[i], status);
          return 1;
        }
        ++ran;
      }
    }
  std::printf("%d runs\n", ran);
  return ran == 0;
}
