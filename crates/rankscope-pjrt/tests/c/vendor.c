/* A plugin of a vendor with a back end of twenty functions and a profiler. VENDOR says what is wrong with it: "fine", "no table", "old"
 * (a table without a version), "major", "no profiler", "endless" (extensions), "short" and "long" (table of a profiler), "lacks" (a call), "mute" (errors
 * that say nothing), "refuses CALL" for each call, "nothing" (makes no profiler), "sizes" (says how much there is and wants a buffer), "zero"
 * (a byte too many, as XLA's own), "cut" (half of a plane), "huge" (more than there can be), "empty". It ends the program where it is called
 * as no host would, and writes how often it was called into the file that VENDOR_SAYS names. */
#include "pjrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(what) ((what) ? (void)0 : (fprintf(stderr, "vendor, line %d: %s\n", __LINE__, #what), abort()))

/* One plane, /vendor:0, with one event, and a second one that has a name and nothing else. */
static const char SPACE[] = "\x0a\x2c"
                            "\x12\x09/vendor:0"
                            "\x1a\x0f\x08\x01\x12\x03ops\x22\x06\x08\x01\x10\x05\x18\x07"
                            "\x22\x0e\x08\x01\x12\x0a\x08\x01\x12\x06kernel"
                            "\x0a\x0b\x12\x09/vendor:1";
enum { SPACE_LENGTH = sizeof SPACE - 1, FIRST_LENGTH = 46 };

typedef struct { int magic, runs, has_run; uint8_t bytes[SPACE_LENGTH + 1]; } profiler;
typedef struct { int magic; char text[64]; } error;

static int creates, starts, stops, collects, destroys, errors_made, errors_freed, initialised;

static int is(const char *what) {
  const char *who = getenv("VENDOR");
  return who && strcmp(who, what) == 0;
}

static void *refuse(const char *call) {
  error *made = malloc(sizeof *made);
  made->magic = 0xe55;
  snprintf(made->text, sizeof made->text, "%s is not possible", call);
  errors_made++;
  return made;
}

static int refuses(const char *call) {
  char who[64];
  snprintf(who, sizeof who, "refuses %s", call);
  return is(who) || is("mute");
}

static void error_destroy(destroy_error_args *args) {
  error *known = args->error;
  MUST(args->length == 24 && known->magic == 0xe55);
  known->magic = 0;
  free(known);
  errors_freed++;
}

static void error_message(message_args *args) {
  error *known = args->error;
  MUST(args->length == 40 && known->magic == 0xe55);
  if (is("mute")) return;
  args->message = known->text;
  args->message_length = strlen(known->text);
}

static void *error_code(code_args *args) {
  args->code = 13;
  return NULL;
}

static profiler *known(void *place) {
  profiler *found = place;
  MUST(found && found->magic == 0xf11e);
  return found;
}

static void *create(create_args *args) {
  MUST(args->length == 32);
#ifdef ANY_OPTIONS
  MUST(args->options && args->options_length);
#else
  MUST(args->options_length == 4 && memcmp(args->options, "\x08\x01\x10\x02", 4) == 0);
#endif
  creates++;
  if (refuses("create")) return refuse("create");
  if (is("nothing")) return NULL;
  profiler *made = calloc(1, sizeof *made);
  made->magic = 0xf11e;
  args->profiler = made;
  return NULL;
}

static void *destroy(profiler_args *args) {
  profiler *it = known(args->profiler);
  MUST(args->length == 16 && !it->runs);
  destroys++;
  it->magic = 0;
  free(it);
  return refuses("destroy") ? refuse("destroy") : NULL;
}

static void *start(profiler_args *args) {
  profiler *it = known(args->profiler);
  MUST(args->length == 16 && !it->runs);
  starts++;
  if (refuses("start")) return refuse("start");
  it->runs = 1;
  return NULL;
}

static void *stop(profiler_args *args) {
  profiler *it = known(args->profiler);
  MUST(args->length == 16 && it->runs);
  stops++;
  it->runs = 0;
  if (refuses("stop")) return refuse("stop");
  it->has_run = 1;
  return NULL;
}

static void *collect(collect_args *args) {
  profiler *it = known(args->profiler);
  MUST(args->length == 32 && !it->runs && it->has_run);
  collects++;
  if (refuses("collect")) return refuse("collect");
  if (is("empty")) {
    args->buffer_length = 0;
    return NULL;
  }
  if (is("huge")) {
    args->buffer = it->bytes;
    args->buffer_length = (size_t)-1;
    return NULL;
  }
  if (is("sizes")) {
    if (args->buffer) {
      MUST(args->buffer_length == SPACE_LENGTH);
      memcpy(args->buffer, SPACE, SPACE_LENGTH);
    }
    args->buffer_length = SPACE_LENGTH;
    return NULL;
  }
  MUST(!args->buffer && !args->buffer_length);
  memcpy(it->bytes, SPACE, SPACE_LENGTH);
  args->buffer = it->bytes;
  args->buffer_length = is("zero") ? SPACE_LENGTH + 1 : is("cut") ? FIRST_LENGTH + 5 : SPACE_LENGTH;
  return NULL;
}

static struct {
  profiler_api known;
  void *later[3];
} tables = {{sizeof(profiler_api), &tables, error_destroy, error_message, error_code, create, destroy, start, stop, collect}, {0}};

static void *initialise(void *args) {
  MUST(args == &tables);
  initialised++;
  return (void *)0x7e57;
}

static struct {
  pjrt_api head;
  void *(*functions[20])(void *);
} api = {{sizeof api, NULL, 24, NULL, 0, 54}, {NULL, NULL, NULL, initialise}};

pjrt_api *GetPjrtApi(void) {
  static extension last = {24, 7, NULL, NULL, 0}, own = {40, PROFILER, &last, &tables.known, 0}, first = {24, 20, &own, NULL, 0};
  api.head.extensions = &first;
  if (is("no table")) return NULL;
  if (is("old")) api.head.length = 16;
  if (is("major")) api.head.major = 1;
  if (is("no profiler")) first.next = &last;
  if (is("endless")) first.next = &first;
  if (is("short")) tables.known.length = 72;
  if (is("long")) tables.known.length = sizeof tables;
  if (is("lacks")) tables.known.stop = NULL;
  return &api.head;
}

__attribute__((destructor)) static void says(void) {
  const char *path = getenv("VENDOR_SAYS");
  FILE *to = path ? fopen(path, "w") : NULL;
  if (!to) return;
  fprintf(to, "%d creates, %d starts, %d stops, %d collects, %d destroys, %d of %d errors freed", creates, starts, stops, collects, destroys,
          errors_freed, errors_made);
  fclose(to);
}
