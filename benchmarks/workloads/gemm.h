/* Matrix products with what a step of training needs around them, on a CUDA device or on the CPU.
 */
#ifndef WORKLOAD_GEMM_H
#define WORKLOAD_GEMM_H

#include "cuda_driver.h"

/* A row-major matrix of floats: in device memory where there is a driver, else in host memory. */
typedef struct {
    uint64_t at; /* address */
    uint32_t rows;
    uint32_t cols;
} matrix;

/* c = mask(relu(alpha * a' * b' + beta * base)), where a' is a or, if transposed, its transpose.
 * base (the size of c) and mask (likewise) may be NULL; c becomes 0 where mask is not above 0.
 * c may be base. */
typedef struct {
    const matrix *a;
    bool a_transposed;
    const matrix *b;
    bool b_transposed;
    const matrix *c;
    float alpha;
    const matrix *base;
    float beta;
    bool relu;
    const matrix *mask;
} product;

typedef struct {
    cuda_driver *driver; /* NULL: on the CPU */
    void *kernel;
    char error[128]; /* on the CPU: what failed; with a driver, its own error says it */
} gemm;

/* The driver, if any, stays the caller's and must outlive it. */
bool gemm_open(gemm *g, cuda_driver *driver);

/* The matrix stays until the driver's context, or the process, ends. */
bool gemm_matrix(gemm *g, uint32_t rows, uint32_t cols, matrix *m);
bool gemm_write(gemm *g, const matrix *m, const float *values);
bool gemm_read(gemm *g, const matrix *m, float *values);

/* Starts the product; the next one, and gemm_finish, come after it. */
bool gemm_multiply(gemm *g, const product *p);

/* Waits for what was started. */
bool gemm_finish(gemm *g);

#endif
