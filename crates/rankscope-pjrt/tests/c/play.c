/* Plays jaxlib: play LIBRARY SCENE FOLDER. What it collects goes to FOLDER/0.pb, 1.pb and so on; a check that fails ends it. */
#include "pjrt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) ((what) ? (void)0 : (fprintf(stderr, "line %d: %s\n", __LINE__, #what), exit(1)))

static pjrt_api *pjrt;
static profiler_api *api;
static const char *folder;
static int files;

static profiler_api *find(const char *library) {
  void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!loaded) fprintf(stderr, "%s\n", dlerror());
  CHECK(loaded);
  pjrt_api *(*get)(void) = (pjrt_api * (*)(void)) dlsym(loaded, "GetPjrtApi");
  CHECK(get);
  pjrt = get();
  CHECK(pjrt->length >= sizeof *pjrt && pjrt->version_length == 24 && pjrt->major == 0);
  extension *at = pjrt->extensions;
  while (at && at->sort != PROFILER) at = at->next;
  CHECK(at && at->length == 40 && at->profiler && at->profiler->length == sizeof(profiler_api));
  return at->profiler;
}

/* Looks at an error as jaxlib does, and frees it: its code, and a text in it. */
static void refused(void *error, int code, const char *says) {
  CHECK(error);
  message_args message = {LENGTH(message_args, message_length), api->state, error, NULL, 0};
  api->error_message(&message);
  char text[200] = "";
  CHECK(message.message && message.message_length < sizeof text);
  memcpy(text, message.message, message.message_length);
  if (!strstr(text, says)) fprintf(stderr, "it says: %s\n", text);
  CHECK(strstr(text, says));
  code_args asked = {LENGTH(code_args, code), api->state, error, -1};
  CHECK(!api->error_code(&asked) && asked.code == code);
  destroy_error_args destroyed = {LENGTH(destroy_error_args, error), api->state, error};
  api->error_destroy(&destroyed);
}

/* Lengths that jaxlib 0.10.2 really passes: whatever lay in memory. */
enum { UNSET = 1 };

static void *create(void) {
  create_args args = {UNSET, "\x08\x01\x10\x02", 4, NULL};
  CHECK(!api->create(&args) && args.profiler);
  return args.profiler;
}

static void *call(void *(*function)(profiler_args *), void *profiler) {
  profiler_args args = {UNSET, profiler};
  return function(&args);
}

static collect_args collect(void *profiler) {
  collect_args args = {UNSET, profiler, NULL, 0};
  CHECK(!api->collect(&args) && args.buffer && args.buffer_length > 0);
  return args;
}

static void keep(collect_args found) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.pb", folder, files++);
  FILE *file = fopen(path, "w");
  CHECK(file && fwrite(found.buffer, 1, found.buffer_length, file) == found.buffer_length && !fclose(file));
}

static void wait_ms(long ms) {
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left)) {}
}

static void session(long ms) {
  void *profiler = create();
  CHECK(!call(api->start, profiler));
  wait_ms(ms);
  CHECK(!call(api->stop, profiler));
  keep(collect(profiler));
  CHECK(!call(api->destroy, profiler));
}

/* What was handed out stays as it is while the profiler runs again, and two may run at once. */
static void buffers(void) {
  void *first = create(), *second = create();
  CHECK(!call(api->start, first) && !call(api->start, second) && !call(api->stop, first));
  collect_args found = collect(first);
  uint8_t *copy = malloc(found.buffer_length + 64);
  memcpy(copy, found.buffer, found.buffer_length);
  for (int i = 0; i < 100; i++) {
    CHECK(!call(api->start, first) && !call(api->stop, first));
    collect(first);
  }
  CHECK(!memcmp(copy, found.buffer, found.buffer_length));
  CHECK(!call(api->stop, second));
  /* A host of another kind brings its own. */
  collect_args own = {UNSET, second, copy, 3};
  refused(api->collect(&own), INVALID_ARGUMENT, "3 bytes");
  CHECK(own.buffer_length == 0);
  /* Numbers in it may be longer by some bytes. */
  own.buffer_length = found.buffer_length + 64;
  CHECK(!api->collect(&own) && own.buffer == copy && own.buffer_length < found.buffer_length + 64);
  keep(own);
  CHECK(!call(api->destroy, first) && !call(api->destroy, second));
}

static void order(void) {
  void *profiler = create();
  collect_args early = {UNSET, profiler, NULL, 99};
  refused(call(api->stop, profiler), FAILED_PRECONDITION, "does not run");
  refused(api->collect(&early), FAILED_PRECONDITION, "before");
  CHECK(!early.buffer && !early.buffer_length);
  CHECK(!call(api->start, profiler));
  refused(call(api->start, profiler), FAILED_PRECONDITION, "runs already");
  refused(api->collect(&early), FAILED_PRECONDITION, "before");
  /* Destroyed while it runs. */
  CHECK(!call(api->destroy, profiler));
  refused(call(api->stop, profiler), INVALID_ARGUMENT, "no such profiler");
  refused(call(api->destroy, profiler), INVALID_ARGUMENT, "no such profiler");
}

static void nonsense(void) {
  refused(api->create(NULL), INVALID_ARGUMENT, "no arguments");
  refused(api->start(NULL), INVALID_ARGUMENT, "no arguments");
  refused(api->stop(NULL), INVALID_ARGUMENT, "no arguments");
  refused(api->collect(NULL), INVALID_ARGUMENT, "no arguments");
  refused(api->destroy(NULL), INVALID_ARGUMENT, "no arguments");
  refused(api->error_code(NULL), INVALID_ARGUMENT, "no arguments");
  api->error_message(NULL);
  api->error_destroy(NULL);
  size_t lengths[] = {0, 8, 15};
  for (int i = 0; i < 3; i++) {
    /* Nothing behind the length may be looked at. */
    refused(api->error_code((code_args *)&lengths[i]), INVALID_ARGUMENT, "must be 28");
    api->error_message((message_args *)&lengths[i]);
    api->error_destroy((destroy_error_args *)&lengths[i]);
  }
  void *wrong[] = {NULL, (void *)7777, (void *)-1, (void *)"text"};
  for (int i = 0; i < 4; i++) {
    refused(call(api->start, wrong[i]), INVALID_ARGUMENT, "no such profiler");
    refused(call(api->stop, wrong[i]), INVALID_ARGUMENT, "no such profiler");
    collect_args args = {UNSET, wrong[i], NULL, 5};
    refused(api->collect(&args), INVALID_ARGUMENT, "no such profiler");
    code_args code = {LENGTH(code_args, code), NULL, wrong[i], -1};
    refused(api->error_code(&code), INVALID_ARGUMENT, "no such error");
    message_args message = {LENGTH(message_args, message_length), NULL, wrong[i], NULL, 9};
    api->error_message(&message);
    CHECK(message.message && message.message_length == 0);
    destroy_error_args destroyed = {LENGTH(destroy_error_args, error), NULL, wrong[i]};
    api->error_destroy(&destroyed);
  }
  CHECK(!call(api->destroy, NULL));
  session(0);
}

/* The child knows nothing of its parent's sessions, and may have its own. */
static void forked(void) {
  void *profiler = create();
  CHECK(!call(api->start, profiler));
  pid_t child = fork();
  if (!child) {
    refused(call(api->stop, profiler), INVALID_ARGUMENT, "no such profiler");
    session(0);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
  files++;
  CHECK(!call(api->stop, profiler));
  keep(collect(profiler));
}

/* What a vendor's plugin becomes: its own table, as long as it was, with our profiler first. */
static void wrapped(void) {
  function *functions = (function *)(pjrt + 1);
  CHECK(pjrt->length == sizeof *pjrt + 20 * sizeof *functions && pjrt->minor == 54);
  int sorts[4] = {0}, count = 0;
  for (extension *at = pjrt->extensions; at; at = at->next) {
    CHECK(count < 4);
    sorts[count++] = at->sort;
  }
  CHECK(count == 4 && sorts[0] == PROFILER && sorts[1] == 20 && sorts[2] == PROFILER && sorts[3] == 7);
  profiler_api *vendors = pjrt->extensions->next->next->profiler;
  CHECK(vendors != api && vendors->length == sizeof *vendors);
  CHECK(functions[3](vendors) == (void *)0x7e57 && !functions[19]);
  session(0), session(0);
}

/* A host that takes the library for a back end. */
static void back_end(void) {
  size_t count = (pjrt->length - sizeof *pjrt) / sizeof(function);
  function *functions = (function *)(pjrt + 1);
  /* The next one looks into errors, and jaxlib would call it for each, also for its own. */
  CHECK(count == 132);
  for (size_t i = 3; i < count; i++) {
    size_t args[20] = {sizeof args};
    void *error = functions[i](args);
    CHECK(error);
    message_args message = {LENGTH(message_args, message_length), NULL, error, NULL, 0};
    functions[1](&message);
    CHECK(message.message_length > 40);
    code_args asked = {LENGTH(code_args, code), NULL, error, -1};
    CHECK(!functions[2](&asked) && asked.code == UNIMPLEMENTED);
    if (i == 3) fprintf(stderr, "it says: %.*s\n", (int)message.message_length, message.message);
    destroy_error_args destroyed = {LENGTH(destroy_error_args, error), NULL, error};
    functions[0](&destroyed);
  }
}

int main(int count, char **words) {
  CHECK(count == 4);
  api = find(words[1]);
  folder = words[3];
  const char *scene = words[2];
  if (!strcmp(scene, "sessions")) session(0), session(20), session(0);
  else if (!strcmp(scene, "seconds")) session(2100);
  else if (!strcmp(scene, "buffers")) buffers();
  else if (!strcmp(scene, "order")) order();
  else if (!strcmp(scene, "nonsense")) nonsense();
  else if (!strcmp(scene, "forked")) forked();
  else if (!strcmp(scene, "wrapped")) wrapped();
  else if (!strcmp(scene, "back_end")) back_end();
  else CHECK(!"a scene");
  return 0;
}
