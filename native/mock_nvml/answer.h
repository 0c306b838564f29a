/* How calls begin and end that all go one way: a place to fill, a text, a number. */
#ifndef MOCK_ANSWER_H
#define MOCK_ANSWER_H

#include "call.h"

/* What WSL drivers of branch 555 gave as text: bytes that are no UTF-8. */
#define MOCK_GARBAGE "\xf8\xe2\x80\xff\xfe GPU"

/* As mock_call_begin_handle and mock_call_begin_any_handle, for a call that fills *out: without one
 * it is INVALID_ARGUMENT. */
mock_call mock_begin_filling(const char *function, nvml_device handle, const void *out);

mock_call mock_begin_filling_any(const char *function, nvml_device handle, const void *out);

/* Ends a call that returns text in a buffer of length bytes. */
nvml_return mock_give_text(mock_call *call, const char *text, char *out, unsigned int length);

/* Ends a call whose text fills the buffer and has no end. */
nvml_return mock_give_endless(mock_call *call, char fill, char *out, unsigned int length);

/* Ends a call that returns one number. */
nvml_return mock_give_number(mock_call *call, unsigned int number, unsigned int *out);

#endif
