#include "check.h"
#include "gpu_scope.h"

#include <stdio.h>

static const probe_scope_device same[] = {
    {"A", "GPU-11aa", 0}, {"A", "GPU-12bb", 1}, {"A", "GPU-33cc", 2}};
static const probe_scope_device mixed[] = {{"A", "GPU-11aa", 0}, {"B", "GPU-12bb", 1}};

/* The choice as text: positions joined by commas. */
static const char *chosen(const char *visible) {
    static char text[64];
    probe_scope scope = probe_scope_select(visible, false, same, 3);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < scope.count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, i == 0 ? "%d" : ",%d",
                                 scope.chosen[i]);
    }
    return text;
}

static void unset_means_all_and_empty_means_none(void) {
    CHECK_STR(chosen(NULL), "0,1,2");
    CHECK_STR(chosen(""), "");
    CHECK_STR(chosen("-1"), "");
    CHECK_STR(chosen("-0"), "0");
    CHECK_STR(chosen("NoDevFiles"), "");
    CHECK_INT(probe_scope_select(NULL, false, same, 3).gpus, PROBE_GPUS_ALL_VISIBLE);
    CHECK_INT(probe_scope_select("", false, same, 3).gpus, PROBE_GPUS_CUDA_VISIBLE_DEVICES);
    CHECK_INT(probe_scope_select(NULL, false, same, 0).gpus, PROBE_GPUS_NONE);
}

static void ordinals_keep_their_order_and_the_first_bad_one_ends_the_list(void) {
    CHECK_STR(chosen("1,0"), "1,0");
    CHECK_STR(chosen(" 2 , 1"), "2,1");
    CHECK_STR(chosen("0,-1,1"), "0");
    CHECK_STR(chosen("0,9,1"), "0");
    CHECK_STR(chosen("0,x,1"), "0");
    CHECK_STR(chosen("1gpu2,2ampere"), "1,2");
    CHECK_STR(chosen("+2,-0"), "2,0");
    CHECK_STR(chosen("0-2"), "0");
}

static void a_device_named_twice_empties_the_list(void) {
    CHECK_STR(chosen("0,0"), "");
    CHECK_STR(chosen("GPU-33,GPU-33cc"), "");
}

static void uuids_may_be_unique_prefixes_and_do_not_mix_with_ordinals(void) {
    CHECK_STR(chosen("GPU-33"), "2");
    CHECK_STR(chosen("GPU-12bb,GPU-11aa"), "1,0");
    CHECK_STR(chosen("GPU-33,GPU-1,GPU-12"), "2"); /* GPU-1 fits two */
    CHECK_STR(chosen("GPU-12, 2"), "1");
    CHECK_STR(chosen("0,GPU-12"), "0");
}

static void doubtful_choices_are_marked(void) {
    CHECK(!probe_scope_select("0", false, same, 3).ambiguous);
    CHECK(probe_scope_select("0", false, mixed, 2).ambiguous);
    CHECK(!probe_scope_select("0", true, mixed, 2).ambiguous);
    CHECK(!probe_scope_select("GPU-12", false, mixed, 2).ambiguous);
    probe_scope renumbered = probe_scope_select("7", false, same, 1);
    CHECK(renumbered.ambiguous);
    CHECK_INT(renumbered.count, 1);
    CHECK_INT(renumbered.gpus, PROBE_GPUS_ALL_VISIBLE);
}

int main(void) {
    unset_means_all_and_empty_means_none();
    ordinals_keep_their_order_and_the_first_bad_one_ends_the_list();
    a_device_named_twice_empties_the_list();
    uuids_may_be_unique_prefixes_and_do_not_mix_with_ordinals();
    doubtful_choices_are_marked();
    return check_failures();
}
