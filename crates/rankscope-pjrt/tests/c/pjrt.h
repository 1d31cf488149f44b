/* What a profiler of PJRT is called with, written down a second time and apart from the library. */
#ifndef RANKSCOPE_TEST_PJRT_H
#define RANKSCOPE_TEST_PJRT_H

#include <stddef.h>
#include <stdint.h>

/* Lengths end with the last field, as the host counts them. */
#define LENGTH(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef struct { size_t length; void *state; void *error; } destroy_error_args;
typedef struct { size_t length; void *state; void *error; const char *message; size_t message_length; } message_args;
typedef struct { size_t length; void *state; void *error; int code; } code_args;
typedef struct { size_t length; const char *options; size_t options_length; void *profiler; } create_args;
typedef struct { size_t length; void *profiler; } profiler_args;
typedef struct { size_t length; void *profiler; uint8_t *buffer; size_t buffer_length; } collect_args;

typedef struct {
  size_t length;
  void *state;
  void (*error_destroy)(destroy_error_args *);
  void (*error_message)(message_args *);
  void *(*error_code)(code_args *);
  void *(*create)(create_args *);
  void *(*destroy)(profiler_args *);
  void *(*start)(profiler_args *);
  void *(*stop)(profiler_args *);
  void *(*collect)(collect_args *);
} profiler_api;

typedef struct extension { size_t length; int sort; struct extension *next; profiler_api *profiler; int64_t context; } extension;
typedef struct { size_t length; extension *extensions; size_t version_length; void *version_extensions; int major, minor; } pjrt_api;
/* What follows in it: functions of a back end, of which the first three are about errors. */
typedef void *(*function)(void *);

enum { PROFILER = 1, INVALID_ARGUMENT = 3, FAILED_PRECONDITION = 9, UNIMPLEMENTED = 12 };

#endif
