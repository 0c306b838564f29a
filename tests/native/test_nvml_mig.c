/* Which instances of divided devices are measured, against a driver made of tables. */
#include "check.h"
#include "nvml_mig.h"

#include <stdio.h>
#include <string.h>

/* Handles are addresses of these. Device 1 is divided, with a gap and an instance of somebody
 * else's; device 2 is divided into nothing. */
static struct thing {
    const char *uuid;
    unsigned int gi, ci;
} whole[] = {{"GPU-aaaa", 0, 0}, {"GPU-bbbb", 0, 0}, {"GPU-cccc", 0, 0}},
  instance[] = {{"MIG-1111", 1, 0}, {"", 0, 0}, {"MIG-2222", 5, 0}, {"", 0, 0}, {"MIG-2333", 5, 1}};

static nvml_return fake_mode(nvml_device device, unsigned int *current, unsigned int *pending) {
    *current = device != &whole[0];
    *pending = 0;
    return NVML_OK;
}

static nvml_return fake_max(nvml_device device, unsigned int *count) {
    (void)device;
    *count = 7;
    return NVML_OK;
}

static nvml_return fake_handle(nvml_device device, unsigned int index, nvml_device *found) {
    if (device != &whole[1] || index > 4 || index == 1) {
        return NVML_E_NOT_FOUND;
    }
    if (index == 3) {
        return NVML_E_NO_PERMISSION;
    }
    *found = &instance[index];
    return NVML_OK;
}

static nvml_return fake_uuid(nvml_device device, char *text, unsigned int size) {
    (void)snprintf(text, size, "%s", ((const struct thing *)device)->uuid);
    return NVML_OK;
}

static nvml_return fake_gi(nvml_device device, unsigned int *id) {
    *id = ((const struct thing *)device)->gi;
    return NVML_OK;
}

static nvml_return fake_ci(nvml_device device, unsigned int *id) {
    *id = ((const struct thing *)device)->ci;
    return NVML_OK;
}

static nvml_return fake_attributes(nvml_device device, nvml_device_attributes *attributes) {
    (void)device;
    *attributes = (nvml_device_attributes){
        .gpu_instance_slices = 2, .compute_instance_slices = 1, .memory_mib = 9984};
    return NVML_OK;
}

static const nvml_api api = {
    .uuid = fake_uuid,
    .mig_mode = fake_mode,
    .mig_max = fake_max,
    .mig_handle = fake_handle,
    .mig_gi = fake_gi,
    .mig_ci = fake_ci,
    .attributes = fake_attributes,
};

static nvml_mig_list list;
static const nvml_device handles[] = {&whole[0], &whole[1], &whole[2]};
static const char uuids[][NVML_UUID_SIZE] = {"GPU-aaaa", "GPU-bbbb", "GPU-cccc"};

static probe_scope choose(const char *visible) {
    probe_scope_device devices[PROBE_SCOPE_MAX];
    list = (nvml_mig_list){0};
    nvml_mig_find(&list, &api, handles, uuids, 3);
    for (int i = 0; i < 3; i++) {
        devices[i] = (probe_scope_device){.name = "A", .uuid = uuids[i]};
    }
    int count = nvml_mig_append(&list, devices);
    CHECK_INT(count, 6);
    probe_scope scope = probe_scope_select(visible, true, devices, count);
    CHECK_INT(nvml_mig_expand(&list, &scope), 0);
    return scope;
}

/* The choice as text: uuids joined by blanks. */
static const char *chosen(const char *visible) {
    static char text[128];
    size_t used = 0;
    probe_scope scope = choose(visible);
    text[0] = '\0';
    for (int i = 0; i < scope.count; i++) {
        const nvml_mig_instance *at = nvml_mig_at(&list, scope.chosen[i]);
        used += (size_t)snprintf(text + used, sizeof text - used, i == 0 ? "%s" : " %s",
                                 at != NULL ? at->uuid
                                            : ((struct thing *)handles[scope.chosen[i]])->uuid);
    }
    return text;
}

static void instances_stand_in_the_place_of_a_divided_device(void) {
    CHECK_STR(chosen(NULL), "GPU-aaaa MIG-1111 MIG-2222 MIG-2333");
    CHECK(choose(NULL).ambiguous); /* CUDA uses one of them */
    CHECK_INT(choose(NULL).gpus, PROBE_GPUS_ALL_VISIBLE);
    CHECK_INT(list.instance[1].parent, 1);
}

static void an_ordinal_or_uuid_of_a_divided_device_is_its_first_instance(void) {
    CHECK_STR(chosen("1"), "MIG-1111");
    CHECK_STR(chosen("1,0"), "MIG-1111 GPU-aaaa");
    CHECK_STR(chosen("GPU-bb"), "MIG-1111");
    CHECK_STR(chosen("2"), "");
    CHECK(!choose("1").ambiguous);
    CHECK_STR(chosen("0,3"), "GPU-aaaa"); /* instances have no ordinals */
}

static void all_instances_that_are_listed_are_measured(void) {
    CHECK_STR(chosen("MIG-2222"), "MIG-2222");
    CHECK_STR(chosen("MIG-2333,MIG-1111"), "MIG-2333 MIG-1111");
    CHECK_STR(chosen("MIG-1"), "MIG-1111");
    CHECK_STR(chosen("MIG-1,MIG-2,MIG-2222"), "MIG-1111"); /* MIG-2 fits two */
    CHECK_STR(chosen("MIG-1111,MIG-1111"), "");
    CHECK_STR(chosen("MIG-1111,0"), "MIG-1111");
    CHECK(choose("MIG-2333,MIG-1111").ambiguous); /* CUDA may use the first alone */
    CHECK(!choose("MIG-2333").ambiguous);
}

static void the_older_form_names_device_and_ids(void) {
    CHECK_STR(chosen("MIG-GPU-bbbb/5/1"), "MIG-2333");
    CHECK_STR(chosen("MIG-GPU-bbbb/1/0,MIG-GPU-bbbb/5/0"), "MIG-1111 MIG-2222");
    CHECK_STR(chosen("MIG-GPU-bbbb/5/1,MIG-2333"), ""); /* one instance, named twice */
}

static void a_driver_without_mig_has_whole_devices(void) {
    const nvml_api old = {.uuid = fake_uuid};
    list = (nvml_mig_list){0};
    nvml_mig_find(&list, &old, handles, uuids, 3);
    CHECK_INT(list.count, 0);
    CHECK(!list.divided[1]);
}

static void what_does_not_change_is_described(void) {
    probe_gpu_device out = {0};
    (void)choose(NULL);
    nvml_mig_describe(&list.instance[2], &api, "GPU-bbbb", &out);
    CHECK(out.mig.is_instance);
    CHECK_INT(out.mig.gi, 5);
    CHECK_INT(out.mig.ci, 1);
    CHECK_INT(out.mig.slices, 2);
    CHECK_INT(out.mig.compute_slices, 1);
    CHECK_STR(out.mig.parent_uuid, "GPU-bbbb");
    CHECK_INT(out.mem_total_bytes >> 20, 9984);
}

static void what_exceeds_the_room_is_counted(void) {
    probe_scope scope = {.gpus = PROBE_GPUS_ALL_VISIBLE, .count = PROBE_GPU_MAX};
    list = (nvml_mig_list){.whole = PROBE_GPU_MAX, .count = 3};
    for (int i = 0; i < PROBE_GPU_MAX; i++) {
        scope.chosen[i] = i;
    }
    list.divided[0] = true; /* its three instances make 18 of 16 */
    CHECK_INT(nvml_mig_expand(&list, &scope), 2);
    CHECK_INT(scope.count, PROBE_GPU_MAX);
    CHECK_INT(scope.chosen[0], PROBE_GPU_MAX);
    CHECK_INT(scope.chosen[3], 1);
}

int main(void) {
    instances_stand_in_the_place_of_a_divided_device();
    an_ordinal_or_uuid_of_a_divided_device_is_its_first_instance();
    all_instances_that_are_listed_are_measured();
    the_older_form_names_device_and_ids();
    a_driver_without_mig_has_whole_devices();
    what_does_not_change_is_described();
    what_exceeds_the_room_is_counted();
    return check_failures();
}
