typedef struct probe_session probe_session;

typedef struct {
    const char *workdir;
    const char *trace_file;
    const char *helper_path;
    const char *nvml_library;
    const char *gpus;
    int64_t interval_ns;
} probe_session_config;

probe_session *probe_session_start(const probe_session_config *config, char *error,
                                   size_t error_size);
int64_t probe_session_snapshot(probe_session *session, char *json, size_t size);
int64_t probe_session_stop(probe_session *session, char *json, size_t size);
const char *probe_session_file_error(const probe_session *session);
void probe_session_free(probe_session *session);
size_t probe_session_trace_size(void);
const char *probe_version(void);
