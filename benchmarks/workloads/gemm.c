#include "gemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 16 }; /* a block has TILE x TILE threads, one for each element of c */

/* The same as multiply_on_cpu, element (i, j) by one thread. */
static const char gemm_ptx[] =
    ".version 6.0\n"
    ".target sm_52\n"
    ".address_size 64\n"
    ".visible .entry gemm(\n"
    "    .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 base, .param .u64 mask,\n"
    "    .param .u32 rows, .param .u32 cols, .param .u32 depth,\n"
    "    .param .u32 a_row, .param .u32 a_depth, .param .u32 b_depth, .param .u32 b_col,\n"
    "    .param .f32 alpha, .param .f32 beta, .param .u32 relu)\n"
    "{\n"
    "    .reg .u64 %pa, %pb, %p, %off, %sa, %sb;\n"
    "    .reg .u32 %i, %j, %n, %cols, %k, %t;\n"
    "    .reg .f32 %sum, %x, %y;\n"
    "    .reg .pred %q;\n"
    "    mov.u32 %t, %ctaid.y;\n"
    "    mov.u32 %n, %ntid.y;\n"
    "    mov.u32 %i, %tid.y;\n"
    "    mad.lo.u32 %i, %t, %n, %i;\n"
    "    mov.u32 %t, %ctaid.x;\n"
    "    mov.u32 %n, %ntid.x;\n"
    "    mov.u32 %j, %tid.x;\n"
    "    mad.lo.u32 %j, %t, %n, %j;\n"
    "    ld.param.u32 %t, [rows];\n"
    "    setp.ge.u32 %q, %i, %t;\n"
    "    @%q bra done;\n"
    "    ld.param.u32 %cols, [cols];\n"
    "    setp.ge.u32 %q, %j, %cols;\n"
    "    @%q bra done;\n"
    "    ld.param.u64 %pa, [a];\n"
    "    ld.param.u32 %t, [a_row];\n"
    "    mul.wide.u32 %off, %i, %t;\n"
    "    shl.b64 %off, %off, 2;\n"
    "    add.u64 %pa, %pa, %off;\n"
    "    ld.param.u64 %pb, [b];\n"
    "    ld.param.u32 %t, [b_col];\n"
    "    mul.wide.u32 %off, %j, %t;\n"
    "    shl.b64 %off, %off, 2;\n"
    "    add.u64 %pb, %pb, %off;\n"
    "    ld.param.u32 %t, [a_depth];\n"
    "    mul.wide.u32 %sa, %t, 4;\n"
    "    ld.param.u32 %t, [b_depth];\n"
    "    mul.wide.u32 %sb, %t, 4;\n"
    "    ld.param.u32 %k, [depth];\n"
    "    mov.f32 %sum, 0f00000000;\n"
    "next:\n"
    "    setp.eq.u32 %q, %k, 0;\n"
    "    @%q bra summed;\n"
    "    ld.global.f32 %x, [%pa];\n"
    "    ld.global.f32 %y, [%pb];\n"
    "    fma.rn.f32 %sum, %x, %y, %sum;\n"
    "    add.u64 %pa, %pa, %sa;\n"
    "    add.u64 %pb, %pb, %sb;\n"
    "    sub.u32 %k, %k, 1;\n"
    "    bra next;\n"
    "summed:\n"
    "    ld.param.f32 %x, [alpha];\n"
    "    mul.rn.f32 %sum, %sum, %x;\n"
    "    mul.wide.u32 %off, %i, %cols;\n"
    "    cvt.u64.u32 %sa, %j;\n"
    "    add.u64 %off, %off, %sa;\n"
    "    shl.b64 %off, %off, 2;\n"
    "    ld.param.u64 %p, [base];\n"
    "    setp.eq.u64 %q, %p, 0;\n"
    "    @%q bra activate;\n"
    "    add.u64 %p, %p, %off;\n"
    "    ld.global.f32 %x, [%p];\n"
    "    ld.param.f32 %y, [beta];\n"
    "    fma.rn.f32 %sum, %x, %y, %sum;\n"
    "activate:\n"
    "    ld.param.u32 %t, [relu];\n"
    "    setp.eq.u32 %q, %t, 0;\n"
    "    @%q bra masked;\n"
    "    max.f32 %sum, %sum, 0f00000000;\n"
    "masked:\n"
    "    ld.param.u64 %p, [mask];\n"
    "    setp.eq.u64 %q, %p, 0;\n"
    "    @%q bra store;\n"
    "    add.u64 %p, %p, %off;\n"
    "    ld.global.f32 %x, [%p];\n"
    "    setp.gt.f32 %q, %x, 0f00000000;\n"
    "    @%q bra store;\n"
    "    mov.f32 %sum, 0f00000000;\n"
    "store:\n"
    "    ld.param.u64 %p, [c];\n"
    "    add.u64 %p, %p, %off;\n"
    "    st.global.f32 [%p], %sum;\n"
    "done:\n"
    "    ret;\n"
    "}\n";

/* Elements between neighbours, as the kernel takes them. */
typedef struct {
    uint32_t depth;
    uint32_t a_row, a_depth;
    uint32_t b_depth, b_col;
} strides;

static size_t size(const matrix *m) {
    return (size_t)m->rows * m->cols * sizeof(float);
}

static strides find_strides(const product *p) {
    return (strides){
        .depth = p->a_transposed ? p->a->rows : p->a->cols,
        .a_row = p->a_transposed ? 1 : p->a->cols,
        .a_depth = p->a_transposed ? p->a->cols : 1,
        .b_depth = p->b_transposed ? 1 : p->b->cols,
        .b_col = p->b_transposed ? p->b->cols : 1,
    };
}

static float *values_of(const matrix *m) {
    return (float *)(uintptr_t)m->at;
}

static void multiply_on_cpu(const product *p) {
    const strides s = find_strides(p);
    const float *a = values_of(p->a);
    const float *b = values_of(p->b);
    const float *base = p->base == NULL ? NULL : values_of(p->base);
    const float *mask = p->mask == NULL ? NULL : values_of(p->mask);
    float *c = values_of(p->c);
    for (size_t i = 0; i < p->c->rows; i++) {
        for (size_t j = 0; j < p->c->cols; j++) {
            float sum = 0;
            for (size_t k = 0; k < s.depth; k++) {
                sum += a[i * s.a_row + k * s.a_depth] * b[k * s.b_depth + j * s.b_col];
            }
            const size_t at = i * p->c->cols + j;
            sum = p->alpha * sum + (base == NULL ? 0 : p->beta * base[at]);
            sum = p->relu && sum < 0 ? 0 : sum;
            c[at] = mask != NULL && mask[at] <= 0 ? 0 : sum;
        }
    }
}

static bool multiply_on_gpu(gemm *g, const product *p) {
    strides s = find_strides(p);
    uint64_t a = p->a->at;
    uint64_t b = p->b->at;
    uint64_t c = p->c->at;
    uint64_t base = p->base == NULL ? 0 : p->base->at;
    uint64_t mask = p->mask == NULL ? 0 : p->mask->at;
    uint32_t rows = p->c->rows;
    uint32_t cols = p->c->cols;
    uint32_t relu = p->relu;
    float alpha = p->alpha;
    float beta = p->beta;
    void *arguments[] = {&a,       &b,         &c,         &base,    &mask,  &rows, &cols, &s.depth,
                         &s.a_row, &s.a_depth, &s.b_depth, &s.b_col, &alpha, &beta, &relu};
    return cuda_check(g->driver, "cuLaunchKernel",
                      g->driver->api.launch(g->kernel, (cols + TILE - 1) / TILE,
                                            (rows + TILE - 1) / TILE, 1, TILE, TILE, 1, 0, NULL,
                                            arguments, NULL));
}

bool gemm_open(gemm *g, cuda_driver *driver) {
    *g = (gemm){.driver = driver};
    return driver == NULL || cuda_driver_kernel(driver, gemm_ptx, "gemm", &g->kernel);
}

bool gemm_matrix(gemm *g, uint32_t rows, uint32_t cols, matrix *m) {
    *m = (matrix){.rows = rows, .cols = cols};
    if (g->driver != NULL) {
        return cuda_check(g->driver, "cuMemAlloc_v2",
                          g->driver->api.memory_allocate(&m->at, size(m)));
    }
    m->at = (uint64_t)(uintptr_t)malloc(size(m));
    if (m->at == 0) {
        (void)snprintf(g->error, sizeof g->error, "no %zu bytes of host memory", size(m));
    }
    return m->at != 0;
}

bool gemm_write(gemm *g, const matrix *m, const float *values) {
    if (g->driver == NULL) {
        memcpy(values_of(m), values, size(m));
        return true;
    }
    return cuda_check(g->driver, "cuMemcpyHtoD_v2",
                      g->driver->api.memory_to_device(m->at, values, size(m)));
}

bool gemm_read(gemm *g, const matrix *m, float *values) {
    if (g->driver == NULL) {
        memcpy(values, values_of(m), size(m));
        return true;
    }
    return cuda_check(g->driver, "cuMemcpyDtoH_v2",
                      g->driver->api.memory_to_host(values, m->at, size(m)));
}

bool gemm_multiply(gemm *g, const product *p) {
    if (g->driver != NULL) {
        return multiply_on_gpu(g, p);
    }
    multiply_on_cpu(p);
    return true;
}

bool gemm_finish(gemm *g) {
    return g->driver == NULL ||
           cuda_check(g->driver, "cuCtxSynchronize", g->driver->api.context_synchronize());
}
