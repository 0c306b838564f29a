/* What a kernel is compiled to. */
#ifndef FAKE_CUDA_PTX_CODE_H
#define FAKE_CUDA_PTX_CODE_H

#include "ptx.h"

enum { WORD = 24, MOST_INSTRUCTIONS = 128, MOST_REGISTERS = 32, MOST_PARAMETERS = 16 };
enum { MOST_LABELS = 16, MOST_OPERANDS = 4 };

typedef enum {
    MOV,
    MAD,
    ADD,
    SUB,
    MUL,
    MUL_WIDE,
    FMA,
    MAX,
    SHL,
    CVT,
    LT,
    GT,
    GE,
    EQ,
    LOAD_PARAMETER,
    LOAD,
    STORE,
    BRANCH,
    RETURN,
    OPERATION_COUNT,
} operation;

/* Special registers, by their index in an operand. */
enum { CTAID_X, CTAID_Y, NTID_X, NTID_Y, TID_X, TID_Y, SPECIAL_COUNT };

typedef union {
    uint64_t u;
    float f;
} value;

typedef enum { REGISTER, CONSTANT, PARAMETER, LABEL, CLOCK, SPECIAL } operand_kind;

typedef struct {
    operand_kind kind;
    int index; /* of the register, parameter or label; of the special register, below */
    value constant;
} operand;

typedef struct {
    operation operation;
    bool is_float;
    int bytes;
    int predicate; /* register; -1: always */
    int operand_count;
    operand operands[MOST_OPERANDS];
} instruction;

typedef char word[WORD];

struct ptx_kernel {
    word name;
    instruction code[MOST_INSTRUCTIONS];
    int length;
    word registers[MOST_REGISTERS];
    int register_count;
    word parameters[MOST_PARAMETERS];
    int parameter_count;
    word labels[MOST_LABELS];
    int label_at[MOST_LABELS];
    int label_count;
    bool waits;
};

#endif
