/* Runs PTX on the CPU: the instructions that the workloads' kernels are made of, thread by thread.
 * A kernel that says anything else is refused, as a driver refuses PTX that it cannot compile. */
#ifndef FAKE_CUDA_PTX_H
#define FAKE_CUDA_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ptx_kernel ptx_kernel;

/* The grid and its blocks, in x and y. */
typedef struct {
    uint32_t blocks[2];
    uint32_t threads[2];
} ptx_shape;

/* Compiles the only kernel of the text. NULL: error says why. The caller gives it to ptx_free. */
ptx_kernel *ptx_compile(const char *text, char error[static 256]);
void ptx_free(ptx_kernel *kernel);

const char *ptx_name(const ptx_kernel *kernel);

/* Tells whether a kernel may touch these bytes. */
typedef bool ptx_memory(uint64_t address, size_t bytes);

/* Runs every thread, arguments as cuLaunchKernel takes them. Of a kernel that waits for
 * %globaltimer, only the first thread: the others would do the same at the same time. False: it
 * touched what it may not. */
bool ptx_run(const ptx_kernel *kernel, ptx_shape shape, void *const *arguments, ptx_memory *memory);

#endif
