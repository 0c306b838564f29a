#include "ptx_code.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a name in the text stands for; several types of one operation differ in is_float. */
static const struct {
    const char *name;
    operation operation;
    bool is_float;
    int bytes; /* of the result */
} instruction_names[] = {
    {"mov.u32", MOV, false, 4},
    {"mov.u64", MOV, false, 8},
    {"mov.f32", MOV, true, 4},
    {"mad.lo.u32", MAD, false, 4},
    {"add.u64", ADD, false, 8},
    {"sub.u32", SUB, false, 4},
    {"mul.rn.f32", MUL, true, 4},
    {"mul.wide.u32", MUL_WIDE, false, 8},
    {"fma.rn.f32", FMA, true, 4},
    {"max.f32", MAX, true, 4},
    {"shl.b64", SHL, false, 8},
    {"cvt.u64.u32", CVT, false, 8},
    {"setp.lt.u64", LT, false, 8},
    {"setp.gt.f32", GT, true, 4},
    {"setp.ge.u32", GE, false, 4},
    {"setp.eq.u32", EQ, false, 4},
    {"setp.eq.u64", EQ, false, 8},
    {"ld.param.u32", LOAD_PARAMETER, false, 4},
    {"ld.param.u64", LOAD_PARAMETER, false, 8},
    {"ld.param.f32", LOAD_PARAMETER, true, 4},
    {"ld.global.f32", LOAD, true, 4},
    {"st.global.f32", STORE, true, 4},
    {"bra", BRANCH, false, 0},
    {"ret", RETURN, false, 0},
};

static word special[SPECIAL_COUNT] = {"%ctaid.x", "%ctaid.y", "%ntid.x",
                                      "%ntid.y",  "%tid.x",   "%tid.y"};

typedef struct {
    ptx_kernel *kernel;
    const char *at;
    char *error; /* 256 bytes; empty: none */
} reader;

static void fail(reader *r, const char *what, const char *which) {
    if (r->error[0] == '\0') {
        (void)snprintf(r->error, 256, "ptx: %s '%s'", what, which);
    }
}

static int find(word *words, int count, const char *name) {
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Adds the word unless it is there. */
static int add(reader *r, word *words, int *count, int most, const char *name) {
    int index = find(words, *count, name);
    if (index >= 0) {
        return index;
    }
    if (*count == most) {
        fail(r, "too many names at", name);
        return 0;
    }
    memcpy(words[*count], name, WORD);
    return (*count)++;
}

/* Reads the next word, or one of the other characters that separate words; "" at the end. */
static void next(reader *r, word out) {
    size_t length = 0;
    r->at += strspn(r->at, " \n\t");
    while (isalnum((unsigned char)r->at[length]) ||
           (r->at[length] != '\0' && strchr("._%$", r->at[length]) != NULL)) {
        length++;
    }
    length = length == 0 && *r->at != '\0' ? 1 : length;
    if (length >= WORD) {
        fail(r, "a long word at", "");
        length = WORD - 1;
    }
    memcpy(out, r->at, length);
    out[length] = '\0';
    r->at += length;
}

static operand read_operand(reader *r, const char *text) {
    ptx_kernel *k = r->kernel;
    operand o = {0};
    char *end = NULL;
    if (strcmp(text, "%globaltimer") == 0) {
        k->waits = true;
        return (operand){.kind = CLOCK};
    }
    if ((o.index = find(k->registers, k->register_count, text)) >= 0) {
        o.kind = REGISTER;
    } else if ((o.index = find(k->parameters, k->parameter_count, text)) >= 0) {
        o.kind = PARAMETER;
    } else if ((o.index = find(special, SPECIAL_COUNT, text)) >= 0) {
        o.kind = SPECIAL;
    } else if (strncmp(text, "0f", 2) == 0) {
        o = (operand){.kind = CONSTANT, .constant.u = strtoull(text + 2, &end, 16)};
    } else if (isdigit((unsigned char)text[0])) {
        o = (operand){.kind = CONSTANT, .constant.u = strtoull(text, &end, 10)};
    } else if (isalpha((unsigned char)text[0])) {
        o = (operand){.kind = LABEL,
                      .index = add(r, k->labels, &k->label_count, MOST_LABELS, text)};
    } else {
        fail(r, "not declared:", text);
    }
    return o;
}

/* The name has been read; the rest goes to the semicolon. */
static void read_instruction(reader *r, const char *name, int predicate) {
    ptx_kernel *k = r->kernel;
    if (k->length == MOST_INSTRUCTIONS) {
        fail(r, "too many instructions at", name);
        return;
    }
    instruction *i = &k->code[k->length++];
    size_t n = 0;
    const size_t count = sizeof instruction_names / sizeof instruction_names[0];
    while (n < count && strcmp(instruction_names[n].name, name) != 0) {
        n++;
    }
    if (n == count) {
        fail(r, "no instruction", name);
        return;
    }
    *i = (instruction){.operation = instruction_names[n].operation,
                       .is_float = instruction_names[n].is_float,
                       .bytes = instruction_names[n].bytes,
                       .predicate = predicate};
    word text;
    for (next(r, text); strcmp(text, ";") != 0 && r->error[0] == '\0'; next(r, text)) {
        if (text[0] == '\0' || i->operand_count == MOST_OPERANDS) {
            fail(r, "operands of", name);
        } else if (strchr(",[]", text[0]) == NULL) {
            i->operands[i->operand_count++] = read_operand(r, text);
        }
    }
}

/* A directive: what it declares is kept, the rest is skipped. */
static void read_directive(reader *r, const char *name) {
    ptx_kernel *k = r->kernel;
    word text;
    if (strcmp(name, ".version") == 0 || strcmp(name, ".target") == 0 ||
        strcmp(name, ".address_size") == 0) {
        next(r, text);
    } else if (strcmp(name, ".entry") == 0) {
        next(r, k->name);
    } else if (strcmp(name, ".param") == 0) {
        next(r, text); /* the type */
        next(r, text);
        (void)add(r, k->parameters, &k->parameter_count, MOST_PARAMETERS, text);
    } else if (strcmp(name, ".reg") == 0) {
        next(r, text); /* the type */
        for (next(r, text); strcmp(text, ";") != 0 && text[0] != '\0'; next(r, text)) {
            if (text[0] == '%') {
                (void)add(r, k->registers, &k->register_count, MOST_REGISTERS, text);
            }
        }
    } else if (strcmp(name, ".visible") != 0) {
        fail(r, "no directive", name);
    }
}

static void read_statement(reader *r, const char *first) {
    ptx_kernel *k = r->kernel;
    word text;
    int predicate = -1;
    if (first[0] == '.') {
        read_directive(r, first);
        return;
    }
    if (strchr("(){},", first[0]) != NULL) {
        return;
    }
    if (first[0] == '@') {
        next(r, text);
        predicate = find(k->registers, k->register_count, text);
        next(r, text);
        read_instruction(r, text, predicate);
        return;
    }
    if (r->at[0] == ':') {
        r->at++;
        k->label_at[add(r, k->labels, &k->label_count, MOST_LABELS, first)] = k->length;
        return;
    }
    read_instruction(r, first, -1);
}

ptx_kernel *ptx_compile(const char *text, char error[static 256]) {
    ptx_kernel *k = calloc(1, sizeof *k);
    reader r = {.kernel = k, .at = text, .error = error};
    error[0] = '\0';
    if (k == NULL) {
        fail(&r, "no memory", "");
        return NULL;
    }
    for (int i = 0; i < MOST_LABELS; i++) {
        k->label_at[i] = -1;
    }
    word first;
    for (next(&r, first); first[0] != '\0' && error[0] == '\0'; next(&r, first)) {
        read_statement(&r, first);
    }
    for (int i = 0; i < k->label_count; i++) {
        if (k->label_at[i] < 0) {
            fail(&r, "no label", k->labels[i]);
        }
    }
    if (k->length == 0 || k->code[k->length - 1].operation != RETURN) {
        fail(&r, "no ret at the end of", k->name);
    }
    if (error[0] != '\0') {
        free(k);
        return NULL;
    }
    return k;
}

void ptx_free(ptx_kernel *kernel) {
    free(kernel);
}

const char *ptx_name(const ptx_kernel *kernel) {
    return kernel->name;
}
