/* Writers that never pause, and one reader: what is read is whole. */
#include "check.h"
#include "gpu_page.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = sizeof(probe_gpu_snapshot) / sizeof(uint64_t), READS = 20000 };

static probe_gpu_page page;
static atomic_bool stop;

/* A snapshot of which every word is the same. */
static void fill(probe_gpu_snapshot *snapshot, uint64_t value) {
    uint64_t words[WORDS];
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = value;
    }
    memcpy(snapshot, words, sizeof words);
}

/* The word that all of it consists of; UINT64_MAX: it is torn. */
static uint64_t whole(const probe_gpu_snapshot *snapshot) {
    uint64_t words[WORDS];
    memcpy(words, snapshot, sizeof words);
    for (size_t i = 1; i < WORDS; i++) {
        if (words[i] != words[0]) {
            return UINT64_MAX;
        }
    }
    return words[0];
}

static void *write_without_pause(void *unused) {
    static probe_gpu_snapshot snapshot;
    (void)unused;
    for (uint64_t value = 1; !atomic_load(&stop); value++) {
        fill(&snapshot, value);
        for (int i = 0; i < 15; i++) { /* odd: each value begins in the other slot */
            probe_gpu_publish(&page, &snapshot);
        }
    }
    return NULL;
}

static void nothing_torn_is_read_or_left_behind(void) {
    static probe_gpu_snapshot last;
    pthread_t writer;
    uint64_t newest = 0;
    int torn = 0, older = 0, changed = 0;
    CHECK(!probe_gpu_latest(&page, &last));
    CHECK_INT(pthread_create(&writer, NULL, write_without_pause, NULL), 0);
    while (atomic_load(&page.published) == 0) {
        (void)sched_yield();
    }
    for (int i = 0; i < READS; i++) {
        bool read = probe_gpu_latest(&page, &last);
        uint64_t value = whole(&last);
        torn += value == UINT64_MAX;
        older += value < newest;
        changed += !read && value != newest;
        newest = value;
    }
    atomic_store(&stop, true);
    CHECK_INT(pthread_join(writer, NULL), 0);
    CHECK_INT(torn, 0);
    CHECK_INT(older, 0);
    CHECK_INT(changed, 0);
    CHECK(probe_gpu_latest(&page, &last));
    CHECK(whole(&last) >= newest);
}

/* The same page mapped twice: each copy of the reader's stops half way at a guarded piece of the
 * slot, and before it goes on, the slot is rewritten. */
static probe_gpu_page *readers_view, *writers_view;
static int interruptions;

static void guard(uint64_t slot, int protection) {
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t middle = (uintptr_t)&readers_view->slot[slot] + sizeof readers_view->slot[0] / 2;
    (void)mprotect((char *)readers_view + (middle - (uintptr_t)readers_view) / size * size, size,
                   protection);
}

static void publish_value(uint64_t value) {
    static probe_gpu_snapshot snapshot;
    fill(&snapshot, value);
    probe_gpu_publish(writers_view, &snapshot);
}

static void interrupt_reader(int signal_number) {
    (void)signal_number;
    uint64_t slot = atomic_load(&writers_view->published) % 2;
    interruptions++;
    for (int i = 0; i < 3; i++) { /* the newest one is in the other slot then */
        publish_value(100 + 3 * (uint64_t)interruptions + (uint64_t)i);
    }
    guard(slot, PROT_READ | PROT_WRITE);
    guard(1 - slot, PROT_NONE);
}

static void a_reader_that_gives_up_keeps_what_it_had(void) {
    static probe_gpu_snapshot last;
    int fd = (int)syscall(SYS_memfd_create, "page", 0U);
    CHECK_INT(ftruncate(fd, sizeof(probe_gpu_page)), 0);
    readers_view = mmap(NULL, sizeof *readers_view, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    writers_view = mmap(NULL, sizeof *writers_view, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(readers_view != MAP_FAILED && writers_view != MAP_FAILED);
    struct sigaction action = {.sa_handler = interrupt_reader};
    CHECK_INT(sigaction(SIGSEGV, &action, NULL), 0);
    publish_value(7);
    CHECK(probe_gpu_latest(readers_view, &last));
    guard(atomic_load(&writers_view->published) % 2, PROT_NONE);
    CHECK(!probe_gpu_latest(readers_view, &last));
    CHECK(interruptions > 1);
    CHECK_INT(whole(&last), 7);
    (void)signal(SIGSEGV, SIG_DFL);
    guard(0, PROT_READ);
    guard(1, PROT_READ);
    CHECK(probe_gpu_latest(readers_view, &last));
    CHECK(whole(&last) > 100 && whole(&last) != UINT64_MAX);
    (void)close(fd);
}

int main(void) {
    a_reader_that_gives_up_keeps_what_it_had();
    nothing_torn_is_read_or_left_behind();
    return check_failures();
}
