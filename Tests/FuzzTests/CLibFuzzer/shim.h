#include <stddef.h>
#include <stdint.h>

// Of libFuzzer, whose headers have it in C++ alone (FuzzerInterface.h). Takes libFuzzer's options, and calls back with inputs.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*take)(const uint8_t *bytes, size_t count));
