/* train: a real training loop without a framework. A perceptron with one hidden layer learns, by
 * gradient descent over the whole batch, what another of the same shape does. The last line is
 * JSON: steps, loss, and the time that a step took. */
#include "gemm.h"
#include "workload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: train [options]\n"
    "\n"
    "Trains a small network and prints its loss ten times, then one line of JSON about the steps.\n"
    "\n"
    "  --steps N       steps of gradient descent (default: 200)\n"
    "  --samples N     samples, all in each step (default: 512)\n"
    "  --features N    inputs (default: 32)\n"
    "  --hidden N      hidden units (default: 64)\n"
    "  --outputs N     outputs (default: 8)\n"
    "  --device NAME   gpu, cpu, or auto: gpu where there is one, else cpu (default: auto)\n"
    "  --help          print this\n"
    "\n"
    "Exit status: 0 done, 1 something failed, or the loss did not fall, 2 called wrongly, 69 "
    "there\n"
    "is no CUDA device.";

static const float learning_rate = 0.1F;

typedef struct {
    int64_t steps;
    int64_t samples;
    int64_t features;
    int64_t hidden;
    int64_t outputs;
    workload_device device;
} train_options;

typedef struct {
    matrix inputs, targets;
    matrix first, second; /* weights */
    matrix activity;      /* of the hidden layer */
    matrix error;         /* of the outputs */
    matrix blame;         /* the error, at the hidden layer */
} network;

typedef struct {
    cuda_driver driver;
    bool gpu;
    gemm gemm;
    network net;
    float *host;       /* room for the largest matrix */
    int64_t *step_ns;  /* of each step */
    double first_loss; /* mean square of the error */
    double last_loss;
} training;

static const workload_number numbers[] = {
    {"steps", offsetof(train_options, steps), 10, 10000000},
    {"samples", offsetof(train_options, samples), 1, 1 << 19},
    {"features", offsetof(train_options, features), 1, 1 << 12},
    {"hidden", offsetof(train_options, hidden), 1, 1 << 12},
    {"outputs", offsetof(train_options, outputs), 1, 1 << 12},
};

static const workload_command command = {
    .program = "train",
    .help = help,
    .numbers = numbers,
    .number_count = sizeof numbers / sizeof numbers[0],
    .device_slot = offsetof(train_options, device),
};

/* Evenly spread over -scale to scale, the same in every run. */
static bool randomize(training *t, const matrix *m, float scale, uint64_t seed) {
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (size_t i = 0; i < (size_t)m->rows * m->cols; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        t->host[i] = scale * ((float)(state >> 40) / (float)(1 << 23) - 1);
    }
    return gemm_write(&t->gemm, m, t->host);
}

static bool forward(training *t, const matrix *result, const matrix *base) {
    network *n = &t->net;
    const product hidden = {
        .a = &n->inputs, .b = &n->first, .c = &n->activity, .alpha = 1, .relu = true};
    const product output = {
        .a = &n->activity, .b = &n->second, .c = result, .alpha = 1, .base = base, .beta = -1};
    return gemm_multiply(&t->gemm, &hidden) && gemm_multiply(&t->gemm, &output);
}

static bool descend(training *t) {
    network *n = &t->net;
    const float rate = -learning_rate / (float)n->inputs.rows;
    const product blame = {.a = &n->error,
                           .b = &n->second,
                           .b_transposed = true,
                           .c = &n->blame,
                           .alpha = 1,
                           .mask = &n->activity};
    const product second = {.a = &n->activity,
                            .a_transposed = true,
                            .b = &n->error,
                            .c = &n->second,
                            .alpha = rate,
                            .base = &n->second,
                            .beta = 1};
    const product first = {.a = &n->inputs,
                           .a_transposed = true,
                           .b = &n->blame,
                           .c = &n->first,
                           .alpha = rate,
                           .base = &n->first,
                           .beta = 1};
    return gemm_multiply(&t->gemm, &blame) && gemm_multiply(&t->gemm, &second) &&
           gemm_multiply(&t->gemm, &first);
}

/* The targets are what a network with other weights makes of the inputs. */
static bool prepare(training *t) {
    network *n = &t->net;
    const float first = sqrtf(6.0F / (float)n->first.rows);
    const float second = sqrtf(3.0F / (float)n->second.rows);
    return randomize(t, &n->inputs, 1, 1) && randomize(t, &n->first, first, 2) &&
           randomize(t, &n->second, second, 3) && forward(t, &n->targets, NULL) &&
           randomize(t, &n->first, first, 4) && randomize(t, &n->second, second, 5);
}

/* Everything that is allocated stays until the end of the process. */
static bool allocate(training *t, const train_options *o) {
    const uint32_t samples = (uint32_t)o->samples;
    const uint32_t features = (uint32_t)o->features;
    const uint32_t hidden = (uint32_t)o->hidden;
    const uint32_t outputs = (uint32_t)o->outputs;
    network *n = &t->net;
    const struct {
        matrix *m;
        uint32_t rows, cols;
    } shapes[] = {
        {&n->inputs, samples, features}, {&n->targets, samples, outputs},
        {&n->first, features, hidden},   {&n->second, hidden, outputs},
        {&n->activity, samples, hidden}, {&n->error, samples, outputs},
        {&n->blame, samples, hidden},
    };
    size_t largest = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const size_t count = (size_t)shapes[i].rows * shapes[i].cols;
        largest = count > largest ? count : largest;
        if (!gemm_matrix(&t->gemm, shapes[i].rows, shapes[i].cols, shapes[i].m)) {
            return false;
        }
    }
    t->host = calloc(largest, sizeof(float));
    t->step_ns = calloc((size_t)o->steps, sizeof(int64_t));
    if (t->host == NULL || t->step_ns == NULL) {
        (void)snprintf(t->gemm.error, sizeof t->gemm.error, "no host memory");
        return false;
    }
    return true;
}

static cuda_outcome open_training(training *t, const train_options *o) {
    cuda_outcome outcome = o->device.may_use_gpu ? cuda_driver_open(&t->driver) : CUDA_ABSENT;
    if (outcome == CUDA_FAILED || (outcome == CUDA_ABSENT && !o->device.may_use_cpu)) {
        return outcome;
    }
    t->gpu = outcome == CUDA_READY;
    bool ready = gemm_open(&t->gemm, t->gpu ? &t->driver : NULL) && allocate(t, o) && prepare(t) &&
                 gemm_finish(&t->gemm);
    return ready ? CUDA_READY : CUDA_FAILED;
}

static bool measure_loss(training *t, double *loss) {
    const matrix *error = &t->net.error;
    if (!gemm_read(&t->gemm, error, t->host)) {
        return false;
    }
    const size_t count = (size_t)error->rows * error->cols;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)t->host[i] * (double)t->host[i];
    }
    *loss = sum / (double)count;
    return true;
}

static bool run_steps(training *t, const train_options *o) {
    for (int64_t i = 0; i < o->steps; i++) {
        const int64_t before = workload_now_ns();
        if (!forward(t, &t->net.error, &t->net.targets) || !descend(t) || !gemm_finish(&t->gemm)) {
            return false;
        }
        t->step_ns[i] = workload_now_ns() - before;
        if (i % (o->steps / 10) == 0 || i == o->steps - 1) {
            if (!measure_loss(t, &t->last_loss)) {
                return false;
            }
            t->first_loss = i == 0 ? t->last_loss : t->first_loss;
            (void)printf("step %" PRId64 " loss %.6f\n", i + 1, t->last_loss);
        }
    }
    return true;
}

static int by_value(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static bool print_truth(training *t, const train_options *o, double wall_s) {
    const double ms = NS_PER_MS;
    qsort(t->step_ns, (size_t)o->steps, sizeof t->step_ns[0], by_value);
    (void)putchar('{');
    workload_print_string("device", t->gpu ? "gpu" : "cpu");
    if (t->gpu || o->device.may_use_gpu) {
        (void)fputs(", ", stdout);
        workload_print_string(t->gpu ? "name" : "why_cpu",
                              t->gpu ? t->driver.name : t->driver.error);
    }
    (void)printf(", \"framework\": \"none\", \"steps\": %" PRId64 ", \"first_loss\": %.6g, "
                 "\"last_loss\": %.6g, \"step_ms_median\": %.4f, \"step_ms_p95\": %.4f, "
                 "\"wall_s\": %.4f}",
                 o->steps, t->first_loss, t->last_loss, (double)t->step_ns[o->steps / 2] / ms,
                 (double)t->step_ns[o->steps * 95 / 100] / ms, wall_s);
    return workload_end_line(command.program);
}

int main(int argc, char **argv) {
    static training t;
    train_options o = {.steps = 200,
                       .samples = 512,
                       .features = 32,
                       .hidden = 64,
                       .outputs = 8,
                       .device = {true, true}};
    workload_parse(&command, argc, argv, &o);
    const cuda_outcome outcome = open_training(&t, &o);
    const int64_t before = workload_now_ns();
    bool done = outcome == CUDA_READY && run_steps(&t, &o);
    const double wall_s = (double)(workload_now_ns() - before) / NS_PER_S;
    done = cuda_driver_close(&t.driver) && done;
    if (!done) {
        const char *error = t.gemm.error[0] != '\0' ? t.gemm.error : t.driver.error;
        (void)fprintf(stderr, "train: %s\n", error);
        return outcome == CUDA_ABSENT ? EXIT_NO_DEVICE : EXIT_FAILURE;
    }
    if (!print_truth(&t, &o, wall_s)) {
        return EXIT_FAILURE;
    }
    if (!(t.last_loss < t.first_loss)) {
        (void)fputs("train: the loss did not fall\n", stderr);
        return EXIT_FAILURE;
    }
    return 0;
}
