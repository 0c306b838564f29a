#include "check.h"

#include "check_cgroup.h"
#include "check_gpu.h"
#include "check_proc.h"
#include "check_trace.h"
#include "json.h"
#include <stdio.h>
#include <string.h>

static probe_check_item *append(probe_check_list *list, const char *block, const char *key,
                                const char *detail) {
    if (list->count == PROBE_CHECK_ITEMS) {
        return NULL;
    }
    probe_check_item *item = &list->item[list->count++];
    *item = (probe_check_item){.block = block, .key = key, .device = -1};
    (void)snprintf(item->detail, sizeof item->detail, "%s", detail == NULL ? "" : detail);
    return item;
}

void probe_check_pass(probe_check_list *list, const char *block, const char *key,
                      const char *source, const char *detail) {
    probe_check_item *item = append(list, block, key, detail);
    if (item != NULL) {
        item->source = source;
    }
}

void probe_check_miss(probe_check_list *list, const char *block, const char *key,
                      const char *reason, const char *next_step) {
    probe_check_item *item = append(list, block, key, reason);
    if (item != NULL) {
        item->next_step = next_step;
    }
}

static void write_string(probe_json *json, const char *key, const char *value) {
    if (value == NULL || value[0] == '\0') {
        probe_json_null(json, key);
    } else {
        probe_json_string(json, key, value);
    }
}

static void write_json(const probe_check_list *list, char *out, size_t size) {
    probe_json json;
    size_t length;
    probe_json_begin(&json, out, size);
    probe_json_open(&json, NULL, '{');
    probe_json_int(&json, "schema", 1);
    probe_json_string(&json, "version", PROBE_VERSION);
    probe_json_open(&json, "checks", '[');
    for (int i = 0; i < list->count; i++) {
        const probe_check_item *item = &list->item[i];
        bool ok = item->source != NULL;
        probe_json_open_inline(&json, NULL, '{');
        probe_json_string(&json, "block", item->block);
        probe_json_string(&json, "key", item->key);
        if (item->device >= 0) {
            probe_json_int(&json, "device", item->device);
        }
        probe_json_bool(&json, "ok", ok);
        write_string(&json, "source", item->source);
        write_string(&json, "detail", ok ? item->detail : NULL);
        write_string(&json, "reason", ok ? NULL : item->detail);
        write_string(&json, "next_step", item->next_step);
        probe_json_close(&json, '}');
    }
    probe_json_close(&json, ']');
    probe_json_close(&json, '}');
    if (probe_json_end(&json, &length) != PROBE_OK) {
        out[0] = '\0'; /* cannot be: the buffer holds the longest of all lists */
    }
}

/* A driver's words come from outside: no byte of them may steer a terminal. */
static void put_line(char *out, size_t size, size_t *used, const char *line) {
    for (; *line != '\0' && *used + 2 < size; line++) {
        bool control = (unsigned char)*line < 0x20 || *line == 0x7f;
        out[(*used)++] = control ? '?' : *line;
    }
    out[(*used)++] = '\n';
    out[*used] = '\0';
}

static bool same_text(const char *a, const char *b) {
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* Whether the text may say it in one line: neighbours of a block that are missing for one reason.
 */
static bool same_miss(const probe_check_item *a, const probe_check_item *b) {
    return a->source == NULL && b->source == NULL && strcmp(a->block, b->block) == 0 &&
           a->device == b->device && strcmp(a->detail, b->detail) == 0 &&
           same_text(a->next_step, b->next_step);
}

static void write_text(const probe_check_list *list, char *out, size_t size) {
    size_t used = 0;
    for (int i = 0, next; i < list->count; i = next) {
        const probe_check_item *item = &list->item[i];
        const char *mark = item->source != NULL ? "ok" : item->next_step != NULL ? "!!" : "--";
        char name[64], more[32] = "", line[768];
        for (next = i + 1; next < list->count && same_miss(item, &list->item[next]);) {
            next++;
        }
        if (next > i + 1) {
            (void)snprintf(more, sizeof more, "to %s: ", list->item[next - 1].key);
        }
        if (item->device >= 0) {
            (void)snprintf(name, sizeof name, "%s.devices[%d].%s", item->block, item->device,
                           item->key);
        } else {
            (void)snprintf(name, sizeof name, "%s.%s", item->block, item->key);
        }
        (void)snprintf(line, sizeof line, "%s %-28s %s%s%s%s%s%s", mark, name, more,
                       item->source != NULL ? item->source : "",
                       item->source != NULL && item->detail[0] != '\0' ? ", " : "", item->detail,
                       item->next_step != NULL ? "; " : "",
                       item->next_step != NULL ? item->next_step : "");
        put_line(out, size, &used, line);
    }
}

void probe_check_run(const probe_check_config *config, bool json, char *out, size_t size) {
    probe_check_list list = {
        0}; /* on the stack, as all of --check: a task is to start without it */
    probe_check_cgroup_state cgroup = {0};
    probe_check_trace(&list, config);
    probe_check_cgroup_open(&cgroup, config); /* before the helper is in the group */
    probe_check_proc(&list, config);
    probe_check_gpu(&list, config);
    probe_check_cgroup(&list, &cgroup, config);
    if (json) {
        write_json(&list, out, size);
    } else {
        write_text(&list, out, size);
    }
}
