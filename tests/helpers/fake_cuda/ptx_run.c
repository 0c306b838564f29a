#include "ptx_code.h"

#include <string.h>
#include <time.h>

typedef struct {
    value registers[MOST_REGISTERS];
    uint32_t special[SPECIAL_COUNT];
    void *const *arguments;
} thread;

static value clock_value(void) {
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (value){.u = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec};
}

static value get(const thread *t, const operand *o, int bytes) {
    value v = {0};
    switch (o->kind) {
    case REGISTER:
        return t->registers[o->index];
    case PARAMETER:
        memcpy(&v, t->arguments[o->index], (size_t)bytes);
        return v;
    case SPECIAL:
        return (value){.u = t->special[o->index]};
    case CLOCK:
        return clock_value();
    default:
        return o->constant;
    }
}

static value calculate(const instruction *i, value a, value b, value c) {
    switch (i->operation) {
    case MAD:
        return (value){.u = (uint32_t)(a.u * b.u + c.u)};
    case ADD:
        return (value){.u = a.u + b.u};
    case SUB:
        return (value){.u = (uint32_t)(a.u - b.u)};
    case MUL:
        return (value){.f = a.f * b.f};
    case MUL_WIDE:
        return (value){.u = a.u * b.u};
    case FMA:
        return (value){.f = a.f * b.f + c.f};
    case MAX:
        return (value){.f = a.f > b.f ? a.f : b.f};
    case SHL:
        return (value){.u = a.u << b.u};
    case LT:
        return (value){.u = a.u < b.u};
    case GT:
        return (value){.u = a.f > b.f};
    case GE:
        return (value){.u = a.u >= b.u};
    case EQ:
        return (value){.u = a.u == b.u};
    default: /* MOV, CVT, LOAD_PARAMETER */
        return a;
    }
}

/* False: an address that is not the program's. */
static bool access(const instruction *i, thread *t, ptx_memory *memory) {
    const operand *o = i->operands;
    const bool load = i->operation == LOAD;
    const uint64_t address = get(t, &o[load ? 1 : 0], 8).u;
    if (!memory(address, sizeof(float))) {
        return false;
    }
    if (load) {
        value loaded = {0};
        memcpy(&loaded.f, (const void *)(uintptr_t)address, sizeof loaded.f);
        t->registers[o[0].index] = loaded;
    } else {
        const value stored = get(t, &o[1], 4);
        memcpy((void *)(uintptr_t)address, &stored.f, sizeof stored.f);
    }
    return true;
}

static bool run_thread(const ptx_kernel *k, thread *t, ptx_memory *memory) {
    for (int at = 0; k->code[at].operation != RETURN; at++) {
        const instruction *i = &k->code[at];
        const operand *o = i->operands;
        if (i->predicate >= 0 && t->registers[i->predicate].u == 0) {
            continue;
        }
        if (i->operation == BRANCH) {
            at = k->label_at[o[0].index] - 1;
        } else if (i->operation == LOAD || i->operation == STORE) {
            if (!access(i, t, memory)) {
                return false;
            }
        } else {
            t->registers[o[0].index] = calculate(i, get(t, &o[1], i->bytes),
                                                 get(t, &o[2], i->bytes), get(t, &o[3], i->bytes));
        }
    }
    return true;
}

bool ptx_run(const ptx_kernel *k, ptx_shape s, void *const *arguments, ptx_memory *memory) {
    const uint32_t columns = s.blocks[0] * s.threads[0];
    const uint64_t count = k->waits ? 1 : (uint64_t)columns * s.blocks[1] * s.threads[1];
    for (uint64_t n = 0; n < count; n++) {
        const uint32_t x = (uint32_t)(n % columns);
        const uint32_t y = (uint32_t)(n / columns);
        thread t = {.arguments = arguments,
                    .special = {[CTAID_X] = x / s.threads[0],
                                [CTAID_Y] = y / s.threads[1],
                                [NTID_X] = s.threads[0],
                                [NTID_Y] = s.threads[1],
                                [TID_X] = x % s.threads[0],
                                [TID_Y] = y % s.threads[1]}};
        if (!run_thread(k, &t, memory)) {
            return false;
        }
    }
    return true;
}
